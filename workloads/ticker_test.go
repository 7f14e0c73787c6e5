// Pauses of lockbench itself and times without a grant: planted, found, and said.

package workloads

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/results"
)

// ticking returns a ticker whose clock and CPU time the test makes, in a window from 1 s to 5 s.
func ticking(t *testing.T, cpu *time.Duration) *ticker {
	t.Helper()
	p := plan("memory", "mutex")
	e, err := newEngine(&Run{Plan: p, Service: open(t, p), Prefix: "test:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stopWaiting)
	e.from = time.Second
	e.end.Store(int64(5 * time.Second))
	e.ticker.cpu = func() time.Duration { return *cpu }
	e.ticker.due = tickEvery
	return e.ticker
}

// runs lets it tick on time until then, with a core in use.
func (t *ticker) runs(until time.Duration, cpu *time.Duration) {
	for t.due <= until {
		*cpu += t.due - t.last
		t.tick(t.due)
	}
}

// TestTickerSettles: the kernel counts a wait for a core when it is over, so that threads which still wait after a pause look as if they
// had been stopped. One that was stopped waits now and then, too.
func TestTickerSettles(t *testing.T) {
	for waited, starved := range map[string]bool{"0": false, "90000000": false, "1500000000": true} {
		var cpu time.Duration
		tk := ticking(t, &cpu)
		tk.e.root = waiting("0")
		tk.runs(2*time.Second, &cpu)
		tk.tick(4 * time.Second)
		tk.e.root = waiting(waited)
		tk.runs(4200*ms, &cpu)
		tk.e.root = waiting("9000000000") // which belongs to no pause
		tk.runs(4500*ms, &cpu)
		paused := 1995 * ms
		if starved {
			paused = 0
		}
		if want := []results.Pause{{At: 2005 * ms, Length: 1995 * ms, Starved: starved}}; !slices.Equal(tk.pauses, want) || tk.paused != paused {
			t.Errorf("waited %s ns: pauses %v, %v of the window", waited, tk.pauses, tk.paused)
		}
	}
}

// sluggish is a file system that takes its time to open files, in which the process uses two cores.
type sluggish struct {
	fs.FS
	cpu *time.Duration
}

func (s sluggish) Open(name string) (fs.File, error) {
	time.Sleep(350 * ms)
	*s.cpu += 700 * ms
	return s.FS.Open(name)
}

// TestTickerReadsSlowly: the CPU time that goes by while the run delay is read belongs to the pause that this makes.
func TestTickerReadsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cpu time.Duration
		tk := ticking(t, &cpu)
		tk.e.root = waiting("0")
		tk.runs(2*time.Second, &cpu)
		tk.e.root = sluggish{waiting("0"), &cpu}
		began, at := time.Now(), tk.due+delayEvery
		cpu += 2 * delayEvery
		tk.tick(at)
		took := time.Since(began)
		tk.e.root = waiting("0")
		cpu += 10 * ms
		tk.tick(at + took + 5*ms)
		if tk.pauses != nil || tk.paused > 0 {
			t.Errorf("two cores were busy all the time: pauses %+v, %v of the window", tk.pauses, tk.paused)
		}
	})
}

// waiting makes a file system in which a thread has waited for a core for so many nanoseconds.
func waiting(ns string) fstest.MapFS {
	return fstest.MapFS{"proc/self/task/7/schedstat": {Data: []byte("1000000 " + ns + " 3\n")}}
}

func TestTickerFindsPauses(t *testing.T) {
	var cpu time.Duration
	tk := ticking(t, &cpu)
	waited := func(ns string) { tk.e.root = waiting(ns) }
	waited("0")
	tk.runs(2*time.Second, &cpu)
	tk.tick(3500 * ms) // it was stopped: no CPU time went by
	tk.runs(4*time.Second, &cpu)
	cpu += 300 * ms // it was busy, with no processor left for the ticker
	tk.tick(4300 * ms)
	tk.tick(4380 * ms) // too short to be a pause
	tk.runs(4500*ms, &cpu)
	waited("120000000")
	tk.tick(4700 * ms) // it was starved: one of its threads waited for a core
	tk.runs(4900*ms, &cpu)
	tk.tick(6 * time.Second) // it was stopped, beyond the end of the window

	want := []results.Pause{{At: 2005 * ms, Length: 1495 * ms}, {At: 4505 * ms, Length: 195 * ms, Starved: true}, {At: 4905 * ms, Length: 1095 * ms}}
	if !slices.Equal(tk.pauses, want) {
		t.Errorf("pauses %v, want %v", tk.pauses, want)
	}
	if want := 1495*ms + 95*ms; tk.paused != want {
		t.Errorf("paused for %v of the window, want %v", tk.paused, want)
	}
	l := tk.e.recorder.Latency(results.HiccupIndex)
	if want := int64(4 * time.Second / tickEvery); l.Count != want {
		t.Errorf("%d ticks in the window, want %d, those in the pauses too", l.Count, want)
	}
	if l.Max < 1490*ms || l.Max > 1500*ms || l.Min > ms {
		t.Errorf("ticks were late by %v at least and %v at most, want 0 and 1.495 s", l.Min, l.Max)
	}

	r := &results.Record{Plan: tk.e.run.Plan, Elapsed: 4 * time.Second}
	tk.e.after.at = 4 * time.Second
	tk.e.fillGenerator(r)
	tk.e.warn(r, rest{})
	if g := r.Generator; !slices.Equal(g.Pauses, want) || g.Paused != tk.paused {
		t.Errorf("recorded %v, %v", g.Pauses, g.Paused)
	}
	if want := "lockbench itself did not run for 1.59 s of 4.00 s"; r.Partial != want {
		t.Errorf("partial %q, want %q", r.Partial, want)
	}
}

// slowly is a file system that takes its time, on a made-up clock.
type slowly struct{ fs.FS }

func (s slowly) Open(name string) (fs.File, error) {
	time.Sleep(slowReading)
	return s.FS.Open(name)
}

// TestStarvedWhileReading: the ticker waits for a core while it reads for how long threads have waited. The pause that it finds
// afterwards is one of a process that was starved, although all of the waiting is in the reading before.
func TestStarvedWhileReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cpu time.Duration
		tk := ticking(t, &cpu)
		tk.e.root = waiting("0")
		tk.runs(2*time.Second, &cpu)
		tk.e.root = slowly{waiting("400000000")}
		tk.runs(2*time.Second+delayEvery, &cpu)
		tk.tick(2500*ms + delayEvery)
		if len(tk.pauses) != 1 || !tk.pauses[0].Starved || tk.paused > 0 {
			t.Errorf("pauses %v, paused %v, want one that was starved", tk.pauses, tk.paused)
		}
	})
}

// TestTickerBesideTheLoad has each tick of the window, punctual in a time that only sleeps make pass.
func TestTickerBesideTheLoad(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration = 10*ms, 5*ms, 100*ms, 1500*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if l := r.Latency[results.Hiccup]; l.Count < 299 || l.Count > 300 || l.Max > 1 {
			t.Errorf("%d ticks, at most %v late, want 300 on time", l.Count, l.Max)
		}
		if len(r.Generator.Pauses) > 0 || r.Generator.Paused > 0 || r.Partial != "" {
			t.Errorf("pauses %v, partial %q", r.Generator.Pauses, r.Partial)
		}
		for _, w := range r.Warnings {
			if strings.Contains(w, "outage") {
				t.Errorf("a warning of what there was not: %q", w)
			}
		}
	})
}

// alwaysWaiting has a thread that waits for a core all the time.
type alwaysWaiting struct{ now func() time.Duration }

func (w alwaysWaiting) Open(name string) (fs.File, error) {
	return waiting(strconv.FormatInt(int64(w.now()), 10)).Open(name)
}

// TestDrought stops the service for 3 s in a run that grants a lock each 15 ms, and has the service tell when. On a busy
// machine the ticker comes late each time, because it waits for a core.
func TestDrought(t *testing.T) {
	for name, late := range map[string]time.Duration{"calm": 0, "busy": 300 * ms} {
		synctest.Test(t, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Hold, p.Think, p.Duration = 10*ms, 5*ms, 10*time.Second
			var v View
			var from, to time.Duration
			svc := &faulty{Service: open(t, p), release: every(1<<40, nil), try: func(n int64) error {
				if n == 200 {
					from = v.e.clock.Now()
					time.Sleep(3 * time.Second)
					to = v.e.clock.Now()
				}
				return nil
			}}
			r, err := (&Run{Plan: p, Service: svc, Prefix: "test:", Watch: func(w View) {
				v, w.e.root = w, alwaysWaiting{w.e.clock.Now}
				w.e.ticker.cpu = func() time.Duration {
					time.Sleep(late)
					return 0
				}
			}}).Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			gap, slack := v.e.ticker.grantGap, 2*late+25*ms // a cycle, and a tick on either side
			if (gap.At-from).Abs() > slack || (gap.At+gap.Length-to).Abs() > slack {
				t.Errorf("%s: no grant from %v for %v, want from %v to %v", name, gap.At, gap.Length, from, to)
			}
			if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "no lock was granted for ") }) {
				t.Errorf("%s: warnings %q, want one of the 3 s without a lock", name, r.Warnings)
			}
		})
	}
}

func TestDroughtWarning(t *testing.T) {
	for _, c := range []struct {
		name   string
		length time.Duration
		change func(r *results.Record)
		warned bool
	}{
		{"an outage", 1500 * ms, func(*results.Record) {}, true},
		{"less than a second", 900 * ms, func(*results.Record) {}, false},
		{"locks that are rare", 1500 * ms, func(r *results.Record) { r.Counts.Acquired = 100 }, false},
		{"long holds", 1500 * ms, func(r *results.Record) { r.Latency[results.Hold] = of(50_000, 800*ms, 900*ms) }, false},
		{"bursts", 1500 * ms, func(r *results.Record) { r.Plan.Burst = time.Second }, false},
		{"keys that requests left locked", 1500 * ms, func(r *results.Record) { r.Counts.StuckKeys = 3 }, false},
		{"holders that die, as planned", 1500 * ms, func(r *results.Record) { r.Plan.Crash = 0.1 }, false},
		{"nothing at all", 1500 * ms, func(r *results.Record) { r.Counts.Acquired = 0 }, false}, // which the throughput says
	} {
		r := healthy()
		c.change(r)
		if got := grantGapWarning(r, results.Pause{At: time.Second, Length: c.length}); (got != "") != c.warned {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
