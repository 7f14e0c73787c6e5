package breakable_test

// Drivers that are broken on purpose: the hazard that names a defect notices it, and not the same lock without it.

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/breakable"
	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// defects are what is planted. Each lock, "driver design", survives the hazard without it.
var defects = []struct {
	hazard drivers.Hazard
	broken string
	plant  func(drivers.Session) drivers.Session
	locks  []string
}{
	{"unlock-after-refusal", "releases by the key and not by the owner", releasesAnyOwner, []string{
		"memory mutex", "rueidis set-nx", "go-redis fenced", "rueidis redisson", "rueidislock library", "redislock library", "redsync library",
		"etcd lease", "zookeeper sequential", "mysql unique-row", "mysql get-lock", "postgres advisory", "postgres row-lock",
	}},
	{"wrong-release-chain", "releases by the key and not by the owner", releasesAnyOwner, []string{
		"memory mutex", "rueidis set-nx", "go-redis redisson", "redislock library", "redsync library", "mysql unique-row",
	}},
	{"wrong-release-chain", "hears a refusal as a grant", grantsRefused, []string{
		"memory mutex", "rueidis set-nx", "redislock library", "redsync library", "mysql unique-row",
	}},
	{"overrun", "hears a refusal as a grant", grantsRefused, []string{
		"rueidislock library", "etcd lease", "zookeeper sequential", "mysql get-lock", "postgres advisory",
	}},
	{"every-gap", "hears a refusal as a grant", grantsRefused, []string{
		"rueidis set-nx", "go-redis set-nx", "etcd lease", "mysql unique-row", "postgres row-lock",
	}},
	{"every-gap", "takes an error for a grant", grantsErrors, []string{"rueidis set-nx", "go-redis set-nx", "etcd lease", "mysql unique-row", "postgres advisory"}},
	{"holder-dies", "has a lease of an hour", leasesForAnHour, []string{"rueidis set-nx", "go-redis fenced", "redislock library", "mysql unique-row"}},
	{"reentry-no-extend", "lets its holder in again without asking", reentersByItself, []string{"memory reentrant", "rueidis redisson", "go-redis redisson"}},
}

// calls is a session that does some things in another way.
type calls struct {
	drivers.Session
	try, release func(context.Context, *drivers.Lease) (bool, error)
}

func (c calls) Unwrap() drivers.Session { return c.Session }

func (c calls) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if c.try == nil {
		return c.Session.Try(ctx, l)
	}
	return c.try(ctx, l)
}

func (c calls) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if c.release == nil {
		return c.Session.Release(ctx, l)
	}
	return c.release(ctx, l)
}

// holder is who was granted a key last, and with what.
type holder struct {
	session drivers.Session
	lease   drivers.Lease
}

var holders sync.Map // of keys

func releasesAnyOwner(s drivers.Session) drivers.Session {
	return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		if held {
			holders.Store(l.Key, &holder{s, *l})
		}
		return held, err
	}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		if h, ok := holders.LoadAndDelete(l.Key); ok {
			h := h.(*holder)
			return h.session.Release(ctx, &h.lease)
		}
		return s.Release(ctx, l)
	}}
}

func grantsRefused(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		_, err := s.Try(ctx, l)
		return err == nil, err
	}}
}

func grantsErrors(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		return held || err != nil, nil
	}}
}

func leasesForAnHour(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		ttl := l.TTL
		l.TTL = time.Hour
		defer func() { l.TTL = ttl }()
		return s.Try(ctx, l)
	}}
}

func reentersByItself(s drivers.Session) drivers.Session {
	depth := map[string]int{}
	return calls{s, func(ctx context.Context, l *drivers.Lease) (held bool, err error) {
		if held = depth[l.Key] > 0; !held {
			held, err = s.Try(ctx, l)
		}
		if held {
			depth[l.Key]++
		}
		return held, err
	}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		if depth[l.Key]--; depth[l.Key] > 0 {
			return true, nil
		}
		return s.Release(ctx, l)
	}}
}

// mutant is a driver whose sessions have a defect.
type mutant struct {
	drivers.Driver
	plant func(drivers.Session) drivers.Session
}

func (m mutant) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := m.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return service{s, m.plant}, nil
}

// addressed is a mutant that needs a server.
type addressed struct {
	mutant
	drivers.Addressed
}

type service struct {
	drivers.Service
	plant func(drivers.Session) drivers.Session
}

func (s service) Unwrap() drivers.Service { return s.Service }

func (s service) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.plant(inner), nil
}

// nameOf returns the name of the driver of a lock with the n-th defect.
func nameOf(n int, lock string) string {
	driver, _, _ := strings.Cut(lock, " ")
	return fmt.Sprintf("mutant-%d-%s", n, driver)
}

// TestMain lets the test binary be a worker, which has the mutants as well.
func TestMain(m *testing.M) {
	known := map[string]bool{}
	for i, d := range defects {
		for _, lock := range d.locks {
			name := nameOf(i, lock)
			if known[name] {
				continue
			}
			known[name] = true
			driver, _, _ := strings.Cut(lock, " ")
			sound, err := drivers.Lookup(driver)
			if err != nil {
				panic(err)
			}
			if a, ok := sound.(drivers.Addressed); ok {
				drivers.Register(name, addressed{mutant{sound, d.plant}, a})
			} else {
				drivers.Register(name, mutant{sound, d.plant})
			}
		}
	}
	if len(os.Args) == 2 && os.Args[1] == exec.Argument {
		os.Exit(exec.Main())
	}
	servertest.Main(m)
}

// lockOf returns a design of a driver.
func lockOf(t *testing.T, driver, design string) hazards.Lock {
	t.Helper()
	locks, err := hazards.Locks(driver)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range locks {
		if l.Design.Name == design {
			return l
		}
	}
	t.Fatalf("%s has no %s", driver, design)
	return hazards.Lock{}
}

// inShort reports whether make test has the server of a lock.
func inShort(lock string) bool {
	driver, _, _ := strings.Cut(lock, " ")
	return driver == "memory" || driver == "rueidis" || driver == "go-redis"
}

func TestDefectsAreCaught(t *testing.T) {
	var started breakable.Servers
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, d := range defects {
		t.Run(string(d.hazard)+" "+d.broken, func(t *testing.T) {
			var locks []hazards.Lock // a sound one, and the same with the defect
			for _, lock := range d.locks {
				driver, design, _ := strings.Cut(lock, " ")
				if !testing.Short() || inShort(lock) {
					locks = append(locks, lockOf(t, driver, design), lockOf(t, nameOf(i, lock), design))
				}
			}
			// Of an attempt for which the machine was too slow nothing is known; a lease of a second is long for most.
			o := hazards.Options{Attempts: 1, TTL: time.Second, Each: time.Minute, Prefix: fmt.Sprintf("mutants-%d:", i)}
			if d.hazard == "every-gap" {
				o.Attempts = 15 // the gaps of the lock that has the most
			}
			for j, c := range hazards.Run(t.Context(), hazardOf(t, d.hazard), locks, &started, o) {
				want := safety.Survives
				if j%2 == 1 {
					want = safety.Fails
				}
				switch {
				case c.Verdict == safety.NoServer && os.Getenv("CI") != "true", c.Verdict == safety.Stalled:
					t.Logf("%s %s: %s", c.Driver, c.Lock, c.Why)
				case c.Verdict != want:
					var story strings.Builder
					_ = safety.WriteStory(&story, &c) // never fails
					t.Errorf("%s %s: %s, want %s\n%s", c.Driver, c.Lock, c.Verdict, want, story.String())
				}
			}
		})
	}
}

func hazardOf(t *testing.T, name drivers.Hazard) *hazards.Hazard {
	t.Helper()
	for _, h := range hazards.All() {
		if h.Name == name {
			return &h
		}
	}
	t.Fatalf("there is no hazard %q", name)
	return nil
}
