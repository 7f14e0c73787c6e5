package results

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// TestLimits tells what holds a load up, record by record: 64 clients, 5,000 locks a second of 1 ms each.
func TestLimits(t *testing.T) {
	of := func(n int64, mean time.Duration) Latency { return Latency{Count: n, Mean: mean} }
	for _, c := range []struct {
		name   string
		change func(r *Record)
		want   Limit
	}{
		{"nothing", func(*Record) {}, NoLimit},
		{"clients", func(r *Record) { r.Latency[Backlog] = of(1000, time.Millisecond) }, ClientLimited},
		{"clients of a saturated machine", func(r *Record) { r.Latency[Backlog], r.Generator.Saturated = of(1000, time.Millisecond), true }, NoLimit},
		{"a handful", func(r *Record) { r.Latency[Backlog] = of(400, time.Millisecond) }, NoLimit}, // below 1 %
		{"lock", func(r *Record) {
			r.Cost.Wakeups = 1
			r.Latency[Backlog], r.Latency[Acquire] = of(1000, time.Millisecond), of(50_000, 3*time.Millisecond)
		}, LockLimited},
		{"lock refused", func(r *Record) {
			r.Cost.Wakeups = 1
			r.Latency[Backlog], r.Latency[Refusal] = of(1000, time.Millisecond), of(50_000, 10*time.Millisecond)
		}, LockLimited},
		{"a server that was gone", func(r *Record) {
			r.Latency[Backlog], r.Latency[Acquire] = of(1000, time.Millisecond), of(50_000, 3*time.Millisecond)
			r.Counts.Errors, r.Bound.Little = map[string]int64{"connect": 4606}, 0.17
		}, NoLimit},
		{"lock, and a handful of errors", func(r *Record) {
			r.Cost.Wakeups = 1
			r.Latency[Backlog], r.Latency[Acquire] = of(1000, time.Millisecond), of(50_000, 3*time.Millisecond)
			r.Counts.Errors, r.Bound.Little = map[string]int64{"closed": 2}, 0.99
		}, LockLimited},
		{"keys", func(r *Record) {
			r.Cost.Wakeups = 0.1
			r.Latency[Backlog], r.Bound = of(1000, time.Millisecond), Bound{By: "keys", Efficiency: 0.9}
		}, LockLimited},
		{"keys that nobody waits for", func(r *Record) {
			r.Latency[Backlog], r.Bound = of(1000, time.Millisecond), Bound{By: "keys", Efficiency: 0.9}
		}, ClientLimited},
		{"lock, by the measured waits", func(r *Record) { // of 50,000 × 1.45 ms
			r.Latency[Backlog], r.Bound.Waited = of(1000, time.Millisecond), 37*time.Second
		}, LockLimited},
		{"a few waits, each first try slow", func(r *Record) {
			r.Latency[Backlog], r.Latency[Acquire] = of(1000, time.Millisecond), of(50_000, 5*time.Millisecond)
			r.Cost.Wakeups, r.Bound.Waited = 0.01, 9*time.Second
		}, ClientLimited},
		{"slow to acquire, fast to release, nobody refused", func(r *Record) {
			r.Latency[Backlog], r.Latency[Acquire] = of(1000, time.Millisecond), of(50_000, 5*time.Millisecond)
		}, ClientLimited},
		{"slow server", func(r *Record) { // no waiting for the lock: each request takes that long
			r.Latency[Backlog], r.Latency[Acquire], r.Latency[Release] = of(1000, 1), of(50_000, 5*time.Millisecond), of(50_000, 5*time.Millisecond)
		}, ClientLimited},
		{"connections", func(r *Record) { r.Bound.Pool = 2 }, ConnectionLimited}, // 5,000 × 2 × 0.2 ms
		{"connections enough", func(r *Record) { r.Bound.Pool = 3 }, NoLimit},
		{"round trips counted", func(r *Record) { r.Bound.Pool, r.Cost.RoundTrips = 3, 3 }, ConnectionLimited},
		{"no more clients than connections", func(r *Record) { r.Bound.Pool, r.Plan.Clients = 2, 2 }, NoLimit},
	} {
		r := &Record{
			Plan: spec.Plan{Load: spec.Load{Clients: 64}}, Elapsed: 10 * time.Second, Counts: Counts{Acquired: 50_000},
			Latency: map[Metric]Latency{
				Lag: of(50_000, 10*time.Microsecond), Acquire: of(50_000, 250*time.Microsecond),
				Hold: of(50_000, time.Millisecond), Release: of(50_000, 200*time.Microsecond),
			},
			Cost: Cost{Tries: 1, RoundTrips: -1}, // no wake-ups: no client has waited
		}
		c.change(r)
		if got := r.Limit(); got != c.want {
			t.Errorf("%s: %q, want %q (backlog %v, requests %v, waiting %v)", c.name, got, c.want, r.Backlogged(), r.Requests(), r.Waiting())
		}
	}
}

func TestKeptUp(t *testing.T) {
	for _, c := range []struct {
		little, inSystem float64
		p99              time.Duration
		want             bool
	}{
		{0, 0, 0, true}, {1, 5, time.Second, true}, {0.94, 5, time.Millisecond, false}, {1.06, 5, time.Millisecond, false},
		{1.11, 1.2, 200 * time.Millisecond, true}, // two slow ones across an edge
		{0.5, 25, 490 * time.Millisecond, false},
	} {
		r := &Record{Elapsed: 2 * time.Second, Bound: Bound{LittleOpen: c.little, InSystem: c.inSystem}}
		r.Latency = map[Metric]Latency{Response: {P99: c.p99}}
		if got := r.KeptUp(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestGroupClasses adds classes up over trials: counts, histograms, and the median of rates.
func TestGroupClasses(t *testing.T) {
	var recs []*Record
	for i, acquired := range []int64{40, 400, 80} {
		r := trial(i+1, 1000)
		recorder := NewRecorder(1)
		for range acquired {
			recorder.Borrow().Record(AcquireIndex, time.Duration(i+1)*time.Millisecond)
		}
		r.Classes = []ClassResult{{
			Name: "readers", Counts: Counts{Acquired: acquired}, Starved: i, Jain: float64(i) / 4,
			Latency: map[Metric]Latency{Acquire: recorder.Latency(AcquireIndex)},
		}}
		r.Steady = Steady{FirstRate: float64(i), Drifts: i == 1}
		r.Generator.GCLongest = time.Duration(3-i) * time.Millisecond
		recs = append(recs, r)
	}
	cells, err := Group(recs)
	if err != nil || len(cells) != 1 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	c := cells[0].Classes[0]
	if c.Name != "readers" || c.Counts.Acquired != 520 || c.Rate != (Spread{Median: 20, Min: 10, Max: 100}) || c.Starved != 2 || c.Jain != 0.25 {
		t.Errorf("%+v", c)
	}
	if l := c.Latency[Acquire]; l.Count != 520 || l.P50.Round(time.Millisecond) != 2*time.Millisecond {
		t.Errorf("%d values, median %v", l.Count, l.P50)
	}
	if cells[0].Drifting != 1 || cells[0].Steady.FirstRate != 1 || cells[0].Generator.GCLongest != 3*time.Millisecond {
		t.Errorf("%d drift, %+v, %v", cells[0].Drifting, cells[0].Steady, cells[0].Generator.GCLongest)
	}
	recs[0].Classes[0].Latency[Acquire] = Latency{Count: 1, HDR: "?"}
	if _, err := Group(recs); err == nil {
		t.Error("a damaged histogram of a class is merged")
	}
}

// TestBeaten holds an estimate against what was reached: 100 % as it is printed is no warning yet.
func TestBeaten(t *testing.T) {
	for efficiency, want := range map[float64]bool{0.9: false, 1: false, 1.004: false, 1.006: true, 1.3: true} {
		if got := (Bound{LocksPerS: 1000, Efficiency: efficiency}).Beaten(); got != want {
			t.Errorf("%v of the bound: beaten %t", efficiency, got)
		}
	}
	if (Bound{Efficiency: 2}).Beaten() {
		t.Error("beaten without a bound")
	}
}
