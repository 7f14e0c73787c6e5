package workloads

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/results"
)

// TestSteps climbs three steps with two clients that hold for 10 ms, which makes 200 locks a second at most: on the third
// one the queue grows by 100 arrivals a second, and responses with it.
func TestSteps(t *testing.T) {
	p := evenly("null", "none", "steps:100:300:3")
	p.Clients, p.Keys, p.Hold, p.Warmup, p.Duration, p.Oracle = 2, 1000, 10*ms, time.Second, 30*time.Second, false
	synctest.Test(t, func(t *testing.T) {
		var last Snapshot
		r, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:", Progress: func(s Snapshot) {
			if s.Phase == PhaseMeasure {
				last = s
			}
		}}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Steps) != 3 {
			t.Fatalf("%d steps: %+v", len(r.Steps), r.Steps)
		}
		for i, s := range r.Steps {
			rate := float64(100 * (i + 1))
			if want := time.Duration(i)*10*time.Second + time.Second; s.Rate != rate || s.At != want || s.Length != 9*time.Second {
				t.Errorf("step %d: %+v, want a rate of %v from %v on for 9 s", i, s, rate, want)
			}
			near(t, "locks of a step", float64(s.Acquired), 9*min(rate, 200), 0.02)
		}
		if s := r.Steps[0]; s.Queue > 1 || s.Max > ms {
			t.Errorf("%+v: want no queue where clients are free", s)
		}
		up := r.Steps[2]
		near(t, "queue", float64(up.Queue), 1000, 0.02)
		near(t, "longest response", float64(up.Max), float64(10*time.Second)/3, 0.02) // of 3,000 arrivals 2,000 were served: it was due at 20 + 20/3 s
		if !last.Open || last.Queue < 900 || last.Offered < 100+1000+2000+2800 || last.Dropped != 0 {
			t.Errorf("the last snapshot is %+v", last)
		}
		sum := int64(0)
		for _, i := range r.Series {
			if !i.Warmup {
				sum += i.Acquired
			}
		}
		if sum != r.Counts.Acquired || sum != r.Latency[results.Response].Count {
			t.Errorf("%d locks in the series, %d in the record, %d responses", sum, r.Counts.Acquired, r.Latency[results.Response].Count)
		}
		final := r.Series[len(r.Series)-1]
		near(t, "p50 of the last second", float64(final.P50), float64(3170*ms), 0.03)
	})
}

// TestQueueAtTheEnd: clients that get hold of what waits when the window has closed do not shorten the last step's queue.
func TestQueueAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := lone(t, evenly("null", "none", "steps:100:300:2"))
		e := c.e
		e.timeseries.begin()
		time.Sleep(800 * ms)
		e.closeAt(900 * ms)
		for range 5 {
			e.arrive(c.class, 700*ms)
		}
		time.Sleep(150 * ms)
		e.finished.Go(c.loop) // it has been busy until now
		synctest.Wait()
		e.timeseries.close()
		e.closeQueues()
		e.finished.Wait()
		e.timeseries.finish()
		if s := e.timeseries.steps.list; len(s) != 2 || s[0].Queue != 0 || s[1].Queue != 5 {
			t.Errorf("%+v: want 5 arrivals in the queue in the end", s)
		}
	})
}

// TestDroppedArrivals counts them for those who watch, warm-up included.
func TestDroppedArrivals(t *testing.T) {
	p := evenly("null", "none", "100")
	p.Clients, p.Hold, p.MaxQueue, p.Warmup, p.Duration, p.Oracle = 1, 100*ms, 3, 5*time.Second, 5*time.Second, false
	synctest.Test(t, func(t *testing.T) {
		var v View
		r, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:", Watch: func(w View) { v = w }}).Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := v.Snapshot()
		near(t, "dropped in the window", float64(r.Counts.Dropped), 450, 0.02)
		near(t, "dropped in all", float64(s.Dropped), 900, 0.02)
		near(t, "offered in all", float64(s.Offered), 1000, 0.01)
	})
}
