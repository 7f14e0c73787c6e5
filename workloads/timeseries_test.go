package workloads

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// TestSeries has a client that takes a lock each 15 ms: every interval is known.
func TestSeries(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration = 10*ms, 5*ms, 1500*ms, 3200*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		want := []results.Interval{
			{At: 0, Length: time.Second, Warmup: true, Acquired: 67},
			{At: time.Second, Length: 500 * ms, Warmup: true, Acquired: 33},
			{At: 1500 * ms, Length: time.Second, Acquired: 67},
			{At: 2500 * ms, Length: time.Second, Acquired: 67},
			{At: 3500 * ms, Length: 1200 * ms, Acquired: 80}, // the rest is too short to stand for itself
		}
		for i := range want {
			want[i].P50, want[i].Max = 1, 1 // a free lock takes no time, which counts as 1 ns; a p99 takes 368 grants
		}
		if !slices.Equal(r.Series, want) {
			t.Errorf("series %+v\nwant %+v", r.Series, want)
		}
		if r.Counts.Acquired != 67+67+80 {
			t.Errorf("%d locks", r.Counts.Acquired)
		}
	})
}

// TestSeriesOfLongHolds counts a lock when it is granted, not seconds later when it is given back.
func TestSeriesOfLongHolds(t *testing.T) {
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Duration = 2500*ms, 200*ms, 6*time.Second // granted at 0, 2.7 and 5.4 s
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		var got []int64
		for _, i := range r.Series {
			got = append(got, i.Acquired)
		}
		if want := []int64{1, 0, 1, 0, 0, 1}; !slices.Equal(got, want) {
			t.Errorf("locks by the second %v, want %v", got, want)
		}
	})
}

// TestSeriesSeesTrouble counts violations and errors where they happen.
func TestSeriesSeesTrouble(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Hold, p.Think, p.Duration = 2, 300*ms, 720*ms, 4*time.Second
	bubble(t, p, func(s drivers.Service) drivers.Service {
		return &faulty{Service: s, try: every(1000, nil), release: func(n int64) error {
			if n == 5 { // one of the two in the third second
				return errors.New("lost")
			}
			return nil
		}}
	}, func(t *testing.T, r *results.Record) {
		var violations, failed []int64
		for _, i := range r.Series {
			violations, failed = append(violations, i.Violations), append(failed, i.Errors)
		}
		if want := []int64{0, 0, 1, 0}; !slices.Equal(failed, want) {
			t.Errorf("errors by the second %v, want %v", failed, want)
		}
		if want := []int64{1, 1, 1, 1}; !slices.Equal(violations, want) {
			t.Errorf("violations by the second %v, want %v", violations, want)
		}
	})
}

// TestLongSeries halves the series when it gets too long, and without -short again.
func TestLongSeries(t *testing.T) {
	length := 4 * time.Second
	if testing.Short() {
		length = 2 * time.Second
	}
	p := plan("memory", "mutex")
	p.Hold, p.Think, p.Warmup, p.Duration = time.Second, 500*ms, 9*time.Second, 375*length
	locks := int64(p.Duration / (p.Hold + p.Think))
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := len(r.Series); n > maxIntervals || n < maxIntervals/2 {
			t.Errorf("%d intervals", n)
		}
		sum, end := int64(0), time.Duration(0)
		for k, i := range r.Series {
			if i.At != end {
				t.Fatalf("interval %d begins at %v, and the one before has ended at %v", k, i.At, end)
			}
			if end = i.At + i.Length; !i.Warmup {
				sum += i.Acquired
			}
			if edge := i.Warmup && end == p.Warmup || end == p.Warmup+p.Duration; i.Length != length && !edge {
				t.Errorf("interval %d is %v long, want %v", k, i.Length, length)
			}
		}
		if sum != r.Counts.Acquired || sum != locks {
			t.Errorf("%d locks in the series, %d in the record, want %d", sum, r.Counts.Acquired, locks)
		}
	})
}

// valuesOf are n values each of some latencies.
func valuesOf(n int, latencies ...time.Duration) results.Values {
	r := results.NewRecorder(1)
	for _, d := range latencies {
		for range n {
			r.Borrow().Record(results.AcquireIndex, d)
		}
	}
	return results.Total(results.Source{Recorder: r, Metric: results.AcquireIndex})
}

// TestJoin has quantiles of two stretches that no average of theirs is: 900 fast values, and 100 slow ones.
func TestJoin(t *testing.T) {
	s := interval{valuesOf(900, ms).Interval(0, time.Second), valuesOf(900, ms)}
	u := interval{valuesOf(100, 100*ms).Interval(time.Second, time.Second), valuesOf(100, 100*ms)}
	s.Errors, u.Errors, u.Violations = 1, 2, 3
	s.join(u)
	near(t, "p50", float64(s.P50), float64(ms), 0.001)
	near(t, "p99", float64(s.P99), float64(100*ms), 0.001)
	if s.At != 0 || s.Length != 2*time.Second || s.Acquired != 1000 || s.Errors != 3 || s.Violations != 3 {
		t.Errorf("joined %+v", s.Interval)
	}
}

// TestView shows totals while the load runs, warm-up included, and after it.
func TestView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Clients, p.Hold, p.Think, p.Timeout, p.Warmup, p.Duration = 3, 2*ms, 200*time.Microsecond, 1500*time.Microsecond, time.Second, 2*time.Second
		var v View
		var seen []Snapshot
		r, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:", Watch: func(w View) { v = w },
			Progress: func(s Snapshot) {
				if v.e != nil && s.Phase == PhaseMeasure {
					seen = append(seen, v.Snapshot())
				}
			}}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.Plan().Clients != 3 || v.Began().IsZero() || len(seen) == 0 || seen[0].Phase != PhaseMeasure || seen[len(seen)-1].Acquired == 0 {
			t.Fatalf("view of %+v: %+v", v.Plan(), seen)
		}
		if s := seen[len(seen)-1]; s.P99 == 0 || s.P99 != r.Series[1].P99 { // of the last second that is over
			t.Errorf("p99 %v, want that of %+v", s.P99, r.Series[1])
		}
		if got, want := v.Values(results.AcquireIndex).Count(), r.Counts.Acquired; got != want {
			t.Errorf("%d acquired, the record has %d", got, want)
		}
		if got, n := v.Ended(results.OutcomeTimedOut), r.Counts.TimedOut; got <= n || n == 0 {
			t.Errorf("%d timed out, of which %d in the window", got, n)
		}
		if got := v.Snapshot().Acquired; got != r.Safety.Grants {
			t.Errorf("%d acquired with the warm-up, want %d", got, r.Safety.Grants)
		}
		for class, n := range v.Errors() {
			if n != 0 {
				t.Errorf("%d errors of class %s", n, class)
			}
		}
	})
}

// TestWaiting sees the clients whose waits have not ended: all but the holder, however they wait.
func TestWaiting(t *testing.T) {
	for _, wait := range []string{"poll", "backoff", "queue", "pubsub"} {
		for _, pipelining := range []string{"", "batch"} {
			synctest.Test(t, func(t *testing.T) {
				p := plan("memory", "mutex")
				p.Wait, p.Pipelining, p.Clients, p.Hold, p.Duration = wait, pipelining, 64, time.Minute, time.Second
				p.Poll = ms
				looks := 0
				_, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:", Progress: func(s Snapshot) {
					if s.Phase != PhaseMeasure {
						return
					}
					if looks++; s.Waiting != 63 {
						t.Errorf("%s, %s: %d clients wait, want 63", wait, pipelining, s.Waiting)
					}
				}}).Do(t.Context())
				if err != nil || looks == 0 {
					t.Errorf("%s, %s: %d looks, %v", wait, pipelining, looks, err)
				}
			})
		}
	}
}
