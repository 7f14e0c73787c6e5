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

	"github.com/lockbench/lockbench/cmd/cli"
	"github.com/lockbench/lockbench/cmd/cli/breakable"
	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/safety"
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

// defects are all that a hazard notices.
var defects = slices.Concat(inSessions, inStories, inCommands, inStatements, inMajorities, inZooKeeper, inEtcd)

// inSessions are what is done wrong above the client library, whatever the service is.
var inSessions = []defect{
	{"unlock-after-refusal", "releases by the key and not by the owner", in(releasesAnyOwner), []string{
		"memory mutex", "rueidis set-nx", "go-redis fenced", "rueidis redisson", "rueidislock library", "redislock library", "redsync library",
		"etcd lease", "zookeeper sequential", "mysql unique-row", "mysql get-lock", "postgres advisory", "postgres row-lock",
	}, "at once"},
	{"unlock-after-refusal", "sends no release", in(releasesNothing), []string{
		"memory mutex", "rueidis set-nx", "go-redis fair", "rueidislock library", "redislock library", "redsync library",
		"etcd lease", "zookeeper sequential", "mysql unique-row", "mysql get-lock", "postgres advisory", "postgres row-lock",
	}, "not free"},

	{"wrong-release-chain", "releases by the key and not by the owner", in(releasesAnyOwner), []string{
		"memory mutex", "rueidis set-nx", "go-redis redisson", "redislock library", "redsync library", "mysql unique-row",
	}, "at once"},
	{"wrong-release-chain", "hears a refusal as a grant", in(grantsRefused), []string{
		"memory mutex", "rueidis set-nx", "redislock library", "redsync library", "mysql unique-row",
	}, "at once"},
	{"wrong-release-chain", "repeats its fencing token", in(fences(repeats)), []string{"memory mutex", "rueidis fenced", "mysql unique-row"}, "fencing token"},
	{"wrong-release-chain", "has fencing tokens that fall", in(fences(falls)), []string{"memory mutex", "go-redis fenced", "mysql unique-row"}, "fencing token"},
	{"wrong-release-chain", "has no fencing token", in(fences(isMissing)), []string{"memory mutex", "rueidis fenced", "mysql unique-row"}, "fencing token"},

	{"overrun", "hears a refusal as a grant", in(grantsRefused), []string{
		"rueidislock library", "etcd lease", "zookeeper sequential", "mysql get-lock", "postgres advisory",
	}, "at once"},

	{"every-gap", "hears a refusal as a grant", in(grantsRefused), []string{
		"rueidis set-nx", "go-redis set-nx", "etcd lease", "mysql unique-row", "postgres row-lock",
	}, "at once"},
	{"every-gap", "takes an error for a grant", in(grantsErrors), []string{
		"rueidis set-nx", "go-redis set-nx", "etcd lease", "mysql unique-row", "postgres advisory",
	}, "at once"},
	{"every-gap", "holds the key until a release is confirmed, with or without a connection or a session", in(holdsUntilReleased), []string{
		"rueidis set-nx", "etcd lease", "zookeeper sequential", "mysql get-lock", "postgres advisory",
	}, "was granted it"},
	{"every-gap", "confirms the release of what it has lost", in(confirmsEveryRelease), []string{
		"rueidis set-nx", "go-redis fenced", "redislock library", "redsync library", "mysql unique-row",
	}, "had held the key until then"},

	{"holder-dies", "has a lease of an hour", in(leasesForAnHour), []string{"rueidis set-nx", "go-redis fenced", "redislock library", "mysql unique-row"}, "dead holder"},
	{"holder-dies", "repeats its fencing token", in(fences(repeats)), []string{"go-redis fenced", "etcd lease", "zookeeper sequential"}, "fencing token"},
	{"holder-dies", "has fencing tokens that fall", in(fences(falls)), []string{"rueidis fenced", "etcd lease", "zookeeper herd"}, "fencing token"},

	{"reentry-no-extend", "lets its holder in again without asking", in(reentersByItself), []string{
		"memory reentrant", "rueidis redisson", "go-redis redisson",
	}, "at once"},

	{"renewal-reacquires", "says that it has renewed, and sends nothing", in(renewsByItsClock), []string{
		"memory mutex", "rueidis set-nx", "go-redis redisson", "redislock library", "redsync library", "mysql unique-row",
	}, "at once"},
	{"renewal-reacquires", "goes on when its renewal was refused", in(renewsRefused), []string{
		"memory mutex", "go-redis set-nx", "rueidis fenced", "redislock library", "redsync library", "mysql unique-row",
	}, "has had meanwhile"},
	{"renewal-reacquires", "goes on when its connection was cut", in(renewsErrors), []string{
		"rueidis set-nx", "go-redis set-nx", "redislock library", "redsync library", "mysql unique-row",
	}, "no answer"},

	{"acquire-reply-lost", "takes an error for a refusal", in(refusesErrors), []string{
		"rueidis set-nx", "go-redis set-nx", "redislock library", "redsync library", "mysql unique-row", "postgres advisory",
	}, "no answer"},
	{"acquire-reply-lost", "takes an error for a grant", in(grantsErrors), []string{
		"rueidis set-nx", "go-redis fenced", "redislock library", "mysql get-lock", "postgres row-lock",
	}, "no answer"},

	{"missed-wakeup", "does not try again after its subscription", inService(subscribesLast), []string{"rueidis set-nx", "go-redis redisson"}, "slept on a free key"},
}

// attempts are how many a hazard makes of each lock, if it is not one: one for each of its acts, or each gap of the lock that has
// the most. A library may refuse a free key for a moment, so that an intruder has a second chance.
var attempts = map[drivers.Hazard]int{
	"every-gap": 15, "missed-wakeup": 18, "renewal-reacquires": 4, "steal-by-del": 3, "quorum-nodes-gone": 2, "unlock-after-refusal": 2,
	"waiter-gone": 2, "waiter-session-lost": 3, "cleanup-lost": 10,
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

// broken returns the name of a lock with the n-th defect of all.
func broken(n int, lock string) string { return fmt.Sprintf("mutant-%d-%s", n, lock) }

// TestMain lets the test binary be a worker, which has the mutants as well.
func TestMain(m *testing.M) {
	node := lookup("rueidis")
	drivers.Register("redlock", redlock{Driver: node, Addressed: node.(drivers.Addressed)})
	drivers.Register("nodes", nodes{Addressed: lookup("zookeeper").(drivers.Addressed)})
	drivers.Register("keys", keys{Addressed: lookup("etcd").(drivers.Addressed)})
	known := map[string]bool{}
	for i, d := range allDefects() {
		for _, lock := range d.locks {
			if name := driverOf(broken(i, lock)); !known[name] {
				known[name] = true
				drivers.Register(name, d.driver(lookup(driverOf(lock))))
			}
		}
	}
	if len(os.Args) == 2 && os.Args[1] == exec.Argument {
		os.Exit(exec.Main())
	}
	if os.Getenv(asLockbench) != "" {
		cli.Main() // does not return
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
		for i, d := range allDefects() {
			for _, lock := range d.locks {
				if d.hazard != h.Name {
					continue
				}
				sound := expected{lockOf(t, lock), safety.Survives, ""}
				if !slices.ContainsFunc(all, func(e expected) bool { return e.lock.Name() == lock }) {
					all = append(all, sound)
				}
				verdict := safety.Fails
				if i >= len(defects) {
					verdict = safety.Survives
				}
				all = append(all, expected{lockOf(t, broken(i, lock)), verdict, d.shows})
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

// TestManyDefects counts drivers by their defects, however many locks or hazards each is tried with.
func TestManyDefects(t *testing.T) {
	const enough = 45
	caught := map[string]bool{}
	for _, d := range defects {
		caught[d.broken] = true
	}
	if len(caught) < enough {
		t.Errorf("%d different defects are caught, want %d", len(caught), enough)
	}
	for _, u := range allUnnoticed {
		if caught[u.broken] || u.why == "" {
			t.Errorf("%q is not noticed, and why?", u.broken)
		}
	}
	t.Logf("%d different defects are caught, %d are not noticed", len(caught), len(allUnnoticed))
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
	for i, d := range allDefects() {
		if strings.HasPrefix(l.Name(), broken(i, "")) {
			return fmt.Sprintf(" (%s)", d.broken)
		}
	}
	return ""
}
