package breakable_test

// Drivers that are broken on purpose: the hazard that names a defect notices it, and not the same lock without it.

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/breakable"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// defect is something wrong that is planted in locks, "driver design", each of which survives the hazard without it.
type defect struct {
	hazard drivers.Hazard
	broken string
	driver func(sound drivers.Driver) drivers.Driver
	locks  []string
	shows  string // in what the hazard says of it
}

// defects has at least one for each finding of a hazard that no design of lockbench has by itself.
var defects = []defect{
	{"unlock-after-refusal", "releases by the key and not by the owner", in(releasesAnyOwner), []string{
		"memory mutex", "rueidis set-nx", "redislock library", "etcd lease", "zookeeper sequential", "mysql get-lock", "postgres row-lock",
	}, "at once"},
	{"unlock-after-refusal", "sends no release", in(releasesNothing), []string{
		"go-redis fair", "redsync library", "rueidislock library", "mysql unique-row", "postgres advisory",
	}, "not free"},

	{"wrong-release-chain", "releases by the key and not by the owner", in(releasesAnyOwner), []string{
		"memory mutex", "go-redis redisson", "redsync library",
	}, "at once"},
	{"wrong-release-chain", "repeats its fencing token", in(fences(repeats)), []string{"memory mutex"}, "fencing token"},
	{"wrong-release-chain", "has fencing tokens that fall", in(fences(falls)), []string{"mysql unique-row"}, "fencing token"},
	{"wrong-release-chain", "has no fencing token", in(fences(isMissing)), []string{"rueidis fenced"}, "fencing token"},

	{"overrun", "hears a refusal as a grant", in(grantsRefused), []string{
		"rueidislock library", "etcd lease", "zookeeper sequential", "mysql get-lock", "postgres advisory",
	}, "at once"},

	{"every-gap", "hears a refusal as a grant", in(grantsRefused), []string{"rueidis set-nx", "postgres row-lock"}, "at once"},
	{"every-gap", "takes an error for a grant", in(grantsErrors), []string{"go-redis set-nx", "mysql unique-row"}, "at once"},
	{"every-gap", "holds the key until a release is confirmed, with or without a connection or a session", in(holdsUntilReleased), []string{
		"rueidis set-nx", "etcd lease",
	}, "was granted it"},
	{"every-gap", "confirms the release of what it has lost", in(confirmsEveryRelease), []string{"redislock library"}, "had held the key until then"},
	{"every-gap", "sets the lease by a second command", sends(setsLeaseAfterwards), []string{"rueidis set-nx"}, "not free"},
	{"every-gap", "looks whether the key is there, and then takes it", sends(looksAndTakes), []string{"rueidis set-nx"}, "at once"},

	{"holder-dies", "has a lease of an hour", in(leasesForAnHour), []string{"rueidis set-nx", "redislock library", "mysql unique-row"}, "dead holder"},
	{"holder-dies", "has no lease", command("SET", func(args []string) []string { return args[:len(args)-2] }), []string{"rueidis set-nx"}, "no end"},
	{"holder-dies", "has a session of a minute", livesForAMinute, []string{"etcd lease", "zookeeper sequential"}, "not free"},
	{"holder-dies", "repeats its fencing token", in(fences(repeats)), []string{"go-redis fenced", "zookeeper herd"}, "fencing token"},

	{"reentry-no-extend", "lets its holder in again without asking", in(reentersByItself), []string{"memory reentrant", "go-redis redisson"}, "at once"},
	{"reentry-miscounted", "frees the key with the inner section", in(leavesAtOnce), []string{
		"memory reentrant", "rueidis redisson", "mysql get-lock",
	}, "B was granted it"},
	{"reentry-miscounted", "counts every entry but one twice", in(entersTwice), []string{"go-redis reentrant-count", "postgres advisory"}, "not free"},

	{"renewal-reacquires", "says that it has renewed, and sends nothing", in(renewsByItsClock), []string{"rueidis set-nx", "redislock library"}, "at once"},
	{"renewal-reacquires", "goes on when its renewal was refused", in(renewsRefused), []string{"redsync library", "mysql unique-row"}, "has had meanwhile"},
	{"renewal-reacquires", "goes on when its connection was cut", in(renewsErrors), []string{"go-redis set-nx"}, "no answer"},
	{"renewal-reacquires", "renews by the key and not by the owner", in(renewsAnyOwner(true)), []string{"memory mutex", "rueidis fair"}, "which B holds"},
	{"renewal-reacquires", "renews by the key, and says no", in(renewsAnyOwner(false)), []string{"go-redis fenced"}, "has extended the lease of B"},

	{"long-hold", "renews once", in(renewsOnce), []string{"memory mutex", "rueidis set-nx", "redislock library"}, "at once"},
	{"long-hold", "lets its session end after a lease", in(keepsAliveOnce), []string{"rueidislock library", "etcd lease", "mysql get-lock"}, "at once"},
	{"long-hold", "has a watchdog that outlives the release", after(renewsOn), []string{"rueidis set-nx", "mysql unique-row"}, "has extended the lease of B"},
	{"long-hold", "has a watchdog that takes the key again", after(takesAgain), []string{"rueidislock library", "postgres advisory"}, "not free"},

	{"acquire-reply-lost", "takes an error for a refusal", in(refusesErrors), []string{"rueidis set-nx", "redislock library", "postgres advisory"}, "no answer"},
	{"acquire-reply-lost", "takes an error for a grant", in(grantsErrors), []string{"go-redis fenced", "mysql get-lock"}, "no answer"},

	{"shared-connections", "takes the clients of a service for one", inService(isOneClient), []string{
		"rueidis set-nx", "redislock library", "zookeeper sequential", "mysql row-lock",
	}, "at once"},

	{"missed-wakeup", "does not try again after its subscription", inService(subscribesLast), []string{"go-redis redisson"}, "slept on a free key"},
	{"missed-wakeup", "lets waiters sleep though messages may be lost", inService(sleepsOverLoss), []string{"go-redis redisson"}, "slept on a free key"},
	{"missed-wakeup", "releases without a message", script("redis.call('PUBLISH', KEYS[2], ARGV[1])", ""), []string{"go-redis redisson"}, "slept on a free key"},

	{"waiter-gone", "enters when the waiter before it gives up", in(entersWhenOneLeaves), []string{
		"rueidis fair", "etcd lease", "zookeeper herd", "mysql get-lock",
	}, "at once"},
	{"waiter-gone", "listens to the waiter before it, and to nobody else once that has given up", in(followsOne), []string{
		"zookeeper sequential", "postgres advisory",
	}, "slept on a free key"},
	{"waiter-session-lost", "takes its turn when the holder lets go, whatever its session", in(entersAtRelease), []string{"rueidis fair", "zookeeper sequential"}, "at once"},
	{"waiter-session-lost", "takes the end of its connection for its turn", in(entersAtErrors), []string{"mysql get-lock"}, "at once"},

	{"cleanup-lost", "asks behind a gate, which it leaves once", in(leavesGateOnce), []string{"rueidis setnx"}, "not free"},
	{"cleanup-lost", "gives up its place in line once", inService(leavesLineOnce), []string{"zookeeper sequential"}, "not free"},

	{"quorum-nodes-gone", "counts nodes that do not answer", in(grantsErrors), []string{"rueidis@redlock set-nx"}, "minority"},
	{"quorum-nodes-gone", "keeps its votes when too few nodes answer", in(releasesNothing), []string{"rueidis@redlock set-nx"}, "was not"},
}

// attempts are how many a hazard makes of each lock, if it is not one: one for each of its acts, or each gap of the lock that has
// the most. A library may refuse a free key for a moment, so that an intruder has a second chance.
var attempts = map[drivers.Hazard]int{
	"every-gap": 15, "missed-wakeup": 9, "renewal-reacquires": 4, "quorum-nodes-gone": 2, "unlock-after-refusal": 2,
	"waiter-gone": 2, "waiter-session-lost": 3, "cleanup-lost": 6,
}

// in returns a driver with a defect in its sessions.
func in(p plant) func(drivers.Driver) drivers.Driver {
	return inService(func(s drivers.Service) drivers.Service { return service{s, p} })
}

// inService returns a driver with a defect in its services.
func inService(plant func(drivers.Service) drivers.Service) func(drivers.Driver) drivers.Driver {
	return func(sound drivers.Driver) drivers.Driver {
		if a, ok := sound.(drivers.Addressed); ok {
			return addressed{mutant{sound, plant}, a}
		}
		return mutant{sound, plant}
	}
}

// driverOf returns the driver of a lock.
func driverOf(lock string) string {
	where, _, _ := strings.Cut(lock, " ")
	driver, _, _ := strings.Cut(where, "@")
	return driver
}

// broken returns the name of a lock with the n-th defect.
func broken(n int, lock string) string { return fmt.Sprintf("mutant-%d-%s", n, lock) }

// TestMain lets the test binary be a worker, which has the mutants as well.
func TestMain(m *testing.M) {
	for i, d := range defects {
		known := map[string]bool{}
		for _, lock := range d.locks {
			if driver := driverOf(lock); !known[driver] {
				known[driver] = true
				drivers.Register(broken(i, driver), d.driver(lookup(driver)))
			}
		}
	}
	if len(os.Args) == 2 && os.Args[1] == exec.Argument {
		os.Exit(exec.Main())
	}
	servertest.Main(m)
}

func lookup(driver string) drivers.Driver {
	d, err := drivers.Lookup(driver)
	if err != nil {
		panic(err)
	}
	return d
}

// lockOf returns a lock by its name.
func lockOf(t *testing.T, name string) hazards.Lock {
	t.Helper()
	l, ok := hazards.Find(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return l
}

// expected is a lock and what has to become of it.
type expected struct {
	lock    hazards.Lock
	verdict safety.Verdict
	shows   string
}

func TestDefectsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("every defect against its hazard: make test-all")
	}
	var started breakable.Servers
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	ran, of := 0, 0
	for _, h := range hazards.All() {
		var all []expected
		for i, d := range defects {
			for _, lock := range d.locks {
				if d.hazard != h.Name {
					continue
				}
				if !slices.ContainsFunc(all, func(e expected) bool { return e.lock.Name() == lock }) {
					all = append(all, expected{lockOf(t, lock), safety.Survives, ""})
				}
				all = append(all, expected{lockOf(t, broken(i, lock)), safety.Fails, d.shows})
			}
		}
		if len(all) > 0 {
			of++
			t.Run(string(h.Name), func(t *testing.T) {
				ran++
				holdAgainst(t, &h, &started, all)
			})
		}
	}
	idle.Range(func(text, _ any) bool {
		if ran == of {
			t.Errorf("no request had %q, which a defect is to change", text)
		}
		return true
	})
}

// rounds are how often locks are held against a hazard for which the machine was too slow. Their leases are shorter than what a
// client waits for an answer that comes when they are over.
const rounds = 4

// inAnyStory is what every story is judged by besides, which may show a defect first.
var inAnyStory = regexp.MustCompile(`was told that it (had|still)|each within its lease|has the fencing token`)

// holdAgainst checks what becomes of locks. Of an attempt for which the machine was too slow nothing is known: they have another
// one, with a longer lease.
func holdAgainst(t *testing.T, h *hazards.Hazard, started *breakable.Servers, all []expected) {
	for round := range rounds {
		o := hazards.Options{
			Attempts: max(1, attempts[h.Name]), TTL: time.Second + time.Duration(round)*time.Second/4, Each: time.Minute, Prefix: fmt.Sprintf("mutants-%d:", round),
		}
		var locks []hazards.Lock
		for _, e := range all {
			locks = append(locks, e.lock)
		}
		var again []expected
		for i, c := range hazards.Run(t.Context(), h, locks, started, o) {
			e := all[i]
			slow := c.Left > 0 && (c.Verdict.Open() || e.verdict == safety.Fails)
			switch {
			case c.Verdict == safety.NoServer && os.Getenv("CI") != "true":
				t.Logf("%s: %s", e.lock.Name(), c.Why)
			case c.Verdict == e.verdict && (strings.Contains(c.Why, e.shows) || inAnyStory.MatchString(c.Why)):
			case slow && round < rounds-1:
				again = append(again, e)
			default:
				var story strings.Builder
				_ = safety.WriteStory(&story, &c) // never fails
				t.Errorf("%s%s: %s, want %s: %s\n%s", e.lock.Name(), brokenBy(e.lock), c.Verdict, e.verdict, e.shows, story.String())
			}
		}
		if all = again; len(all) == 0 {
			return
		}
		t.Logf("%d locks again", len(all))
	}
}

// brokenBy returns what is broken in a lock, in parentheses; empty for a sound one.
func brokenBy(l hazards.Lock) string {
	for i, d := range defects {
		if strings.HasPrefix(l.Name(), broken(i, "")) {
			return fmt.Sprintf(" (%s)", d.broken)
		}
	}
	return ""
}
