package simtest

// Searches: many schedules of one scenario.

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var replay = flag.Int64("seed", -1, "run only the schedule of this `seed`, and print its trace")

// Seeds returns how many schedules to explore, fewer with -short.
func Seeds(short, all int) int {
	if testing.Short() {
		return short
	}
	return all
}

// Search is what the schedules of a scenario have shown.
type Search struct {
	Schedules int
	scenario  Scenario
	replays   bool // -seed: there was only one schedule

	mu     sync.Mutex
	counts map[string]int64
	broken map[uint64][]string // by seed
}

// Explore runs the schedules of the seeds below n, on all processors. With -seed it runs only that one, prints its
// trace, and fails the test if the schedule fails.
func Explore(t *testing.T, n int, s Scenario) *Search {
	t.Helper()
	found := &Search{scenario: s, counts: map[string]int64{}, broken: map[uint64][]string{}}
	if *replay >= 0 {
		found.replays = true
		w := run(t, s, uint64(*replay))
		found.add(w)
		t.Logf("the trace of seed %d:\n%s", w.Seed, w.Trace())
		for _, text := range w.broken {
			t.Errorf("seed %d: %s", w.Seed, text)
		}
		return found
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < int64(n); seed = next.Add(1) - 1 {
				found.add(run(t, s, uint64(seed)))
			}
		})
	}
	workers.Wait()
	return found
}

func run(t *testing.T, s Scenario, seed uint64) (w *World) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("seed %d: %v\n%s", seed, p, command(t, seed)))
		}
	}()
	// Time stands still in the world while a client loops, so such a schedule never ends.
	stuck := time.AfterFunc(time.Minute, func() {
		fmt.Fprintf(os.Stderr, "seed %d runs for a minute now\n%s\n", seed, command(t, seed))
	})
	defer stuck.Stop()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(s, seed)
		s.Run(w)
		w.end()
	})
	return w
}

// command returns how to replay a schedule.
func command(t *testing.T, seed uint64) string {
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		pkg = strings.TrimSuffix(info.Path, ".test")
	}
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + part + "$"
	}
	return fmt.Sprintf("go test %s -run '%s' -v -seed=%d", pkg, strings.Join(parts, "/"), seed)
}

func (s *Search) add(w *World) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Schedules++
	for what, n := range w.counts {
		s.counts[what] += n
	}
	if len(w.broken) > 0 {
		s.broken[w.Seed] = w.broken
	}
}

// first returns the lowest seed whose schedule has failed.
func (s *Search) first() uint64 { return slices.Min(slices.Collect(maps.Keys(s.broken))) }

// Sound fails the test if a schedule has failed, and tells the story of the first one.
func (s *Search) Sound(t *testing.T) {
	t.Helper()
	t.Logf("%d schedules: %v", s.Schedules, s.counts)
	if s.replays || len(s.broken) == 0 {
		return
	}
	seed := s.first()
	w := run(t, s.scenario, seed)
	t.Errorf("%d of %d schedules fail. Seed %d: %s\nTo replay it: %s\n%s",
		len(s.broken), s.Schedules, seed, strings.Join(s.broken[seed], "\n"), command(t, seed), w.Story())
}

// Found fails the test unless a schedule has failed, and does so again in the same way. It is for controls: a search that
// does not find what is known to be wrong has proven nothing elsewhere.
func (s *Search) Found(t *testing.T) {
	t.Helper()
	if s.replays {
		return
	}
	if len(s.broken) == 0 {
		t.Errorf("none of %d schedules shows what is wrong: %v", s.Schedules, s.counts)
		return
	}
	seed := s.first()
	t.Logf("%d of %d schedules fail: %v. Seed %d: %s\nTo replay it: %s", len(s.broken), s.Schedules, s.counts, seed,
		s.broken[seed][0], command(t, seed))
	one, two := run(t, s.scenario, seed), run(t, s.scenario, seed)
	if !slices.Equal(one.broken, s.broken[seed]) || !slices.Equal(two.broken, s.broken[seed]) {
		t.Errorf("seed %d fails in another way when it is replayed: %q, %q and %q", seed, s.broken[seed], one.broken, two.broken)
	}
	if d := differ(one.Trace(), two.Trace()); d != "" {
		t.Errorf("seed %d does not repeat: %s", seed, d)
	}
}

// Saw fails the test unless an event was met that many times.
func (s *Search) Saw(t *testing.T, what string, least int64) {
	t.Helper()
	if n := s.Count(what); n < least && !s.replays {
		t.Errorf("%d schedules have met %q %d times, which must be at least %d: %v", s.Schedules, what, n, least, s.counts)
	}
}

// Count returns how often an event was met.
func (s *Search) Count(what string) int64 { return s.counts[what] }

// Repeats runs the schedules of the seeds below n twice, and fails the test if a trace differs from its first one.
func Repeats(t *testing.T, n int, s Scenario) {
	t.Helper()
	differs := 0
	for seed := range uint64(n) {
		if d := differ(run(t, s, seed).Trace(), run(t, s, seed).Trace()); d != "" {
			differs++
			t.Errorf("seed %d does not repeat: %s\n%s", seed, d, command(t, seed))
		}
	}
	t.Logf("%d of %d repeats differ", differs, n)
}

// differ returns the first lines that two traces differ in.
func differ(a, b string) string {
	if a == b {
		return ""
	}
	one, two := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(one), len(two)) {
		if one[i] != two[i] {
			return fmt.Sprintf("line %d is\n%s\nand then\n%s", i+1, one[i], two[i])
		}
	}
	return fmt.Sprintf("%d lines, and then %d", len(one), len(two))
}

// Bench measures how many schedules one goroutine runs a second.
func Bench(b *testing.B, s Scenario) {
	var once sync.Once
	all := func(string, string) (bool, error) { return true, nil }
	// A bubble needs a test, which a benchmark is not.
	testing.RunTests(all, []testing.InternalTest{{Name: b.Name(), F: func(t *testing.T) {
		once.Do(func() { // and not for each -count and -cpu
			for seed := range uint64(b.N) {
				run(t, s, seed)
			}
		})
	}}})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "schedules/s")
}
