package oracle

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

const ms = time.Millisecond

// step is one Enter (in > 0) or Exit of a client at a time, on key 0.
type step struct {
	client int
	enter  bool
	at     time.Duration
	want   bool // of Exit: exclusive
}

func in(client int, at time.Duration) step { return step{client: client, enter: true, at: at} }
func out(client int, at time.Duration, exclusive bool) step {
	return step{client: client, at: at, want: exclusive}
}

func play(t *testing.T, o *Oracle, steps []step) {
	t.Helper()
	grants := map[int]Grant{}
	for i, s := range steps {
		if s.enter {
			grants[s.client] = o.Enter(0, s.client, 0, 0, s.at)
		} else if got := o.Exit(0, s.client, grants[s.client], s.at); got != s.want {
			t.Errorf("step %d: Exit of client %d: exclusive %v, want %v", i, s.client, got, s.want)
		}
	}
}

func TestHistories(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps []step
		want  results.Safety
		lost  int64
	}{
		{"one after the other", []step{in(1, 1*ms), out(1, 2*ms, true), in(2, 2*ms), out(2, 3*ms, true), in(1, 4*ms), out(1, 5*ms, true)},
			results.Safety{}, 0},
		{"overstay: the first leaves first", []step{in(1, 1*ms), in(2, 3*ms), out(1, 5*ms, false), out(2, 9*ms, true)},
			results.Safety{Violations: 1, Longest: 2 * ms, Overlap: 2 * ms,
				Events: []results.Violation{{At: 3 * ms, Holder: 1, Intruder: 2, Overlap: 2 * ms}}}, 1},
		{"the intruder leaves first", []step{in(1, 1*ms), in(2, 3*ms), out(2, 4*ms, true), out(1, 9*ms, false)},
			results.Safety{Violations: 1, Longest: 1 * ms, Overlap: 1 * ms,
				Events: []results.Violation{{At: 3 * ms, Holder: 1, Intruder: 2, Overlap: 1 * ms}}}, 1},
		{"two intrusions on one overstayer", []step{in(1, 0), in(2, 1*ms), out(2, 3*ms, true), in(3, 4*ms), out(1, 9*ms, false), out(3, 10*ms, true)},
			results.Safety{Violations: 2, Longest: 5 * ms, Overlap: 7 * ms,
				Events: []results.Violation{{At: 1 * ms, Holder: 1, Intruder: 2, Overlap: 2 * ms}, {At: 4 * ms, Holder: 1, Intruder: 3, Overlap: 5 * ms}}}, 1},
		{"three at once", []step{in(1, 0), in(2, 1*ms), in(3, 2*ms), out(2, 4*ms, false), out(3, 5*ms, true), out(1, 8*ms, false)},
			results.Safety{Violations: 2, Longest: 3 * ms, Overlap: 4 * ms,
				Events: []results.Violation{{At: 1 * ms, Holder: 1, Intruder: 2, Overlap: 3 * ms}, {At: 2 * ms, Holder: 1, Intruder: 3, Overlap: 3 * ms}}}, 2},
		{"chain of wrong releases", []step{in(1, 0), in(2, 1*ms), out(1, 2*ms, false), in(3, 3*ms), out(2, 5*ms, false), in(4, 6*ms), out(3, 7*ms, false), out(4, 8*ms, true)},
			results.Safety{Violations: 3, Longest: 2 * ms, Overlap: 4 * ms,
				Events: []results.Violation{{At: 1 * ms, Holder: 1, Intruder: 2, Overlap: 1 * ms}, {At: 3 * ms, Holder: 2, Intruder: 3, Overlap: 2 * ms}, {At: 6 * ms, Holder: 3, Intruder: 4, Overlap: 1 * ms}}}, 2},
		{"stamps that cannot tell the order", []step{in(1, 5*ms), in(2, 6*ms), out(1, 5*ms, false), out(2, 6*ms, true)},
			results.Safety{Violations: 1, Longest: 1, Overlap: 1,
				Events: []results.Violation{{At: 6 * ms, Holder: 1, Intruder: 2, Overlap: 1}}}, 1},
		{"clean again after a collision", []step{in(1, 0), in(2, 1*ms), out(2, 2*ms, true), out(1, 3*ms, false), in(3, 4*ms), out(3, 5*ms, true), in(1, 6*ms), in(2, 7*ms), out(1, 8*ms, false), out(2, 9*ms, true)},
			results.Safety{Violations: 2, Longest: 1 * ms, Overlap: 2 * ms,
				Events: []results.Violation{{At: 1 * ms, Holder: 1, Intruder: 2, Overlap: 1 * ms}, {At: 7 * ms, Holder: 1, Intruder: 2, Overlap: 1 * ms}}}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := New(1)
			play(t, o, tc.steps)
			got := o.Report()
			tc.want.Checked = true
			if got.Violations != tc.want.Violations || got.Longest != tc.want.Longest || got.Overlap != tc.want.Overlap {
				t.Errorf("got %d violations, longest %v, overlap %v; want %d, %v, %v",
					got.Violations, got.Longest, got.Overlap, tc.want.Violations, tc.want.Longest, tc.want.Overlap)
			}
			for i := range max(len(got.Events), len(tc.want.Events)) {
				if i >= len(got.Events) || i >= len(tc.want.Events) || got.Events[i] != tc.want.Events[i] {
					t.Fatalf("events %v, want %v", got.Events, tc.want.Events)
				}
			}
			enters := int64(0)
			for _, s := range tc.steps {
				if s.enter {
					enters++
				}
			}
			if lost := enters - o.Updates(); lost != tc.lost {
				t.Errorf("%d lost updates, want %d", lost, tc.lost)
			}
			if len(o.shared) != 0 || count(o.cells[0].word.Load()) != 0 {
				t.Errorf("books not closed: %d contests, %d holders", len(o.shared), count(o.cells[0].word.Load()))
			}
		})
	}
}

func TestHandoffAndRuns(t *testing.T) {
	o := New(1)
	if g := o.Enter(0, 7, 0, 0, 1*ms); g.Handoff != 0 {
		t.Errorf("first grant follows a release at %v", g.Handoff)
	} else {
		o.Exit(0, 7, g, 2*ms)
	}
	for i := range int64(3) { // a run of four for client 7, the first included
		g := o.Enter(0, 7, 0, 0, 3*ms)
		if g.Run != i+2 {
			t.Errorf("grant %d in a row is said to be number %d", i+2, g.Run)
		}
		o.Exit(0, 7, g, 4*ms)
	}
	g := o.Enter(0, 0, 0, 0, 5*ms) // client 0 is a client like any other
	if g.Handoff != 4*ms {
		t.Errorf("hand-off from %v, want 4ms", g.Handoff)
	}
	if g.Run != 1 {
		t.Errorf("the first grant to another client is said to be number %d in a row", g.Run)
	}
	o.Exit(0, 0, g, 6*ms)
}

// TestRunOutlivesTheSequence goes on with a run while the sequence number wraps.
func TestRunOutlivesTheSequence(t *testing.T) {
	o := New(1)
	o.cells[0].word.Store((1<<seqBits - 3) << seqShift) // client 0 has had the key for long
	for i, want := range []int64{1, 2, 3, 4, 5} {
		g := o.Enter(0, 1, 0, 0, 0)
		if g.Run != want || g.Moved != (i == 0) {
			t.Errorf("grant %d: number %d in a row, moved %v; want %d, %v", i, g.Run, g.Moved, want, i == 0)
		}
		o.Exit(0, 1, g, 0)
	}
}

// TestRunAmongSeveral lets the second of two holders write the start of its run down before the first has read it.
func TestRunAmongSeveral(t *testing.T) {
	var c cell
	old := next(0, 1) - 1 // client 1 has had the key once
	c.run(0, old)
	again, other := next(old, 1), next(next(old, 1), 2)
	c.run(again, other)
	if run, _ := c.run(old, again); run != 2 {
		t.Errorf("the second grant in a row is number %d", run)
	}
}

// TestFirstGrantMovesNothing tells the first grant of a key from a change of owners.
func TestFirstGrantMovesNothing(t *testing.T) {
	o := New(1)
	var moved []bool
	for _, client := range []int{5, 5, 0, 5} {
		g := o.Enter(0, client, 0, 0, 0)
		moved = append(moved, g.Moved)
		o.Exit(0, client, g, 0)
	}
	if want := []bool{false, false, true, true}; !slices.Equal(moved, want) {
		t.Errorf("moved %v, want %v", moved, want)
	}
}

// TestManyHolders has a key that all clients hold at once, as a plan with no lock and long holds makes it. What a
// departure costs must not grow with the holders times their violations: that took minutes.
func TestManyHolders(t *testing.T) {
	const clients = 10_000
	o := New(1)
	grants := make([]Grant, clients)
	for i := range grants {
		grants[i] = o.Enter(0, i, 0, 0, time.Duration(i))
	}
	for i, g := range grants {
		o.Exit(0, i, g, clients+2*time.Duration(i))
	}
	// Client i overlaps the one before it from i until that leaves at clients+2*(i-1).
	got := o.Report()
	if got.Violations != clients-1 || got.Longest != 2*clients-3 || got.Overlap != 3*clients-5 || len(o.shared) != 0 {
		t.Errorf("%d violations, longest %v, overlap %v, %d contests left; want %d, %v, %v, none",
			got.Violations, got.Longest, got.Overlap, len(o.shared), clients-1, time.Duration(2*clients-3), time.Duration(3*clients-5))
	}
	if len(got.Events) != MaxEvents {
		t.Fatalf("%d events are kept, want %d", len(got.Events), MaxEvents)
	}
	for i, e := range got.Events {
		if want := time.Duration(clients + i - 1); e.Intruder != i+1 || e.Overlap != want {
			t.Errorf("event %d: %+v, want an overlap of %v by client %d", i, e, want, i+1)
		}
	}
}

// TestExitMeetsTheOthers has the other holder leave while this one waits for its turn: it leaves like one that is alone.
func TestExitMeetsTheOthers(t *testing.T) {
	o := New(1)
	first := o.Enter(0, 1, 0, 0, 1*ms)
	second := o.Enter(0, 2, 0, 0, 2*ms)
	o.Exit(0, 1, first, 3*ms)
	if !o.exitShared(0, 2, second, 4*ms) { // Exit comes to this if the key was shared when it began
		t.Error("disturbed by nobody")
	}
	if n := count(o.cells[0].word.Load()); n != 0 || len(o.shared) != 0 {
		t.Errorf("%d holders and %d contests are left", n, len(o.shared))
	}
}

func TestFence(t *testing.T) {
	o := New(2)
	for i, f := range []uint64{5, 6, 6, 4, 7} {
		g := o.Enter(0, i, f, 0, 0)
		o.Exit(0, i, g, 0)
	}
	g := o.Enter(1, 0, 1, 0, 0) // keys have fences of their own
	o.Exit(1, 0, g, 0)
	if got := o.Report().FenceRegress; got != 2 {
		t.Errorf("%d fence regressions, want 2 (6 after 6, 4 after 6)", got)
	}
}

// TestFenceOfAnIntruder: the fence of a wrong grant counts like any other.
func TestFenceOfAnIntruder(t *testing.T) {
	for i, tc := range []struct {
		first, second, third uint64
		want                 int64
	}{
		{5, 6, 6, 1}, // the second's is the highest
		{5, 5, 6, 1},
		{5, 4, 6, 1},
		{5, 0, 6, 0}, // it has none
	} {
		o := New(1)
		a := o.Enter(0, 1, tc.first, 0, 0)
		b := o.Enter(0, 2, tc.second, 0, 0)
		o.Exit(0, 1, a, 0)
		o.Exit(0, 2, b, 0)
		o.Enter(0, 3, tc.third, 0, 0)
		if got := o.Report().FenceRegress; got != tc.want {
			t.Errorf("case %d: %d fence regressions, want %d", i, got, tc.want)
		}
	}
}

// TestSound runs a correct lock from many goroutines: the oracle must not cry wolf.
func TestSound(t *testing.T) {
	const clients, keys, rounds = 16, 3, 5_000
	o := New(keys)
	var locks [keys]sync.Mutex
	var wg sync.WaitGroup
	for me := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(me)))
			for range rounds {
				k := rng.IntN(keys)
				locks[k].Lock()
				g := o.Enter(k, me, 0, 0, 1)
				if !o.Exit(k, me, g, 2) {
					t.Error("disturbed")
				}
				locks[k].Unlock()
			}
		})
	}
	wg.Wait()
	if r := o.Report(); r.Violations != 0 || o.Updates() != clients*rounds {
		t.Errorf("%d violations, %d updates of %d", r.Violations, o.Updates(), clients*rounds)
	}
}

// TestNoLock runs no lock at all: every Enter that finds a holder is seen, whatever the interleaving, and the
// books are closed at the end.
func TestNoLock(t *testing.T) {
	const clients, rounds = 16, 2_000
	o := New(1)
	var wg sync.WaitGroup
	clock := time.Now()
	for me := range clients {
		wg.Go(func() {
			for range rounds {
				g := o.Enter(0, me, 0, 0, time.Since(clock))
				o.Exit(0, me, g, time.Since(clock))
			}
		})
	}
	wg.Wait()
	if n := count(o.cells[0].word.Load()); n != 0 || len(o.shared) != 0 {
		t.Errorf("%d holders and %d contests are left", n, len(o.shared))
	}
	if len(o.events) > MaxEvents {
		t.Errorf("%d events kept", len(o.events))
	}
}

// TestPlanted plants overlaps of known number among sound holds, from many goroutines, and finds each of them.
func TestPlanted(t *testing.T) {
	const workers, rounds = 8, 2_000
	o := New(workers) // a key a worker, so that the number planted is exact
	var planted [workers]int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(w)))
			holder, intruder := 2*w, 2*w+1
			for i := range rounds {
				at := time.Duration(i) * ms
				a := o.Enter(w, holder, 0, 0, at)
				if rng.IntN(10) == 0 {
					planted[w]++
					b := o.Enter(w, intruder, 0, 0, at+1)
					if rng.IntN(2) == 0 {
						o.Exit(w, intruder, b, at+2)
						o.Exit(w, holder, a, at+3)
						continue
					}
					o.Exit(w, holder, a, at+2)
					o.Exit(w, intruder, b, at+3)
					continue
				}
				o.Exit(w, holder, a, at+1)
			}
		})
	}
	wg.Wait()
	total := int64(0)
	for _, n := range planted {
		total += n
	}
	if got := o.Report(); got.Violations != total || got.Longest != 1 || got.Overlap != time.Duration(total) {
		t.Errorf("planted %d overlaps of 1 ns, seen %d, longest %v, sum %v", total, got.Violations, got.Longest, got.Overlap)
	}
}

func TestAllocs(t *testing.T) {
	o := New(1)
	if n := testing.AllocsPerRun(100, func() {
		g := o.Enter(0, 1, 0, 0, 1)
		o.Exit(0, 1, g, 2)
	}); n != 0 {
		t.Errorf("%v allocations for an exclusive hold", n)
	}
}

func BenchmarkEnterExit(b *testing.B) {
	o := New(1)
	b.ReportAllocs()
	for b.Loop() {
		g := o.Enter(0, 1, 0, 0, 1)
		o.Exit(0, 1, g, 2)
	}
}

// TestDeaths: the next grant follows a death instead of a release, and the one after that a release again.
func TestDeaths(t *testing.T) {
	o := New(1)
	g := o.Enter(0, 1, 0, 0, 0)
	g.Crashes = true
	if !o.Exit(0, 1, g, 0) {
		t.Error("disturbed by nobody")
	}
	if g = o.Enter(0, 2, 0, 0, 5*ms); g.Handoff != 0 || g.CrashedAt != 1 || g.Crashes {
		t.Errorf("%+v: want one that follows a death at 0, which counts as 1 ns", g)
	}
	g.Crashes = true
	o.Exit(0, 2, g, 6*ms)
	if g = o.Enter(0, 1, 0, 0, 9*ms); g.Handoff != 0 || g.CrashedAt != 6*ms {
		t.Errorf("%+v: want one that follows a death at 6 ms", g)
	}
	o.Exit(0, 1, g, 10*ms)
	if g = o.Enter(0, 2, 0, 0, 12*ms); g.Handoff != 10*ms || g.CrashedAt != 0 {
		t.Errorf("%+v: want one that follows a release at 10 ms", g)
	}
}
