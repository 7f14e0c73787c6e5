// The open loop: runs of which every figure can be told beforehand.

package workloads

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// evenly returns a plan of constant arrivals.
func evenly(driver, lock, rate string) spec.Plan {
	p := plan(driver, lock)
	p.Rate, p.Arrival = spec.Must(spec.ParseRate(rate)), "constant"
	return p
}

// TestConstantArrivals: with clients to spare all is served when it comes, whatever the clients do.
func TestConstantArrivals(t *testing.T) {
	p := evenly("null", "none", "1000")
	p.Clients, p.Keys, p.Hold, p.Warmup, p.Duration = 20, 10, 10*ms, 500*ms, 2*time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Offered != 2000 || n.Acquired != 2000 || n.Dropped+n.Unfinished != 0 || r.Safety.Grants != 2500 {
			t.Errorf("counts %+v of %d grants: want 2000 of 2500", n, r.Safety.Grants)
		}
		if lag := r.Latency[results.Lag]; lag.Count != 2000 || lag.Max > 2 {
			t.Errorf("lag %+v: want none", lag)
		}
		if _, ok := r.Latency[results.Backlog]; ok {
			t.Error("a backlog, though clients were free")
		}
		if l := r.Latency[results.Response]; l.Count != 2000 || l.Max > 2 {
			t.Errorf("response %+v: want none", l)
		}
		if f := r.Fairness; f.MinClient != 100 || f.MaxClient != 100 || f.LongestWait > 2 {
			t.Errorf("fairness %+v: want arrivals spread evenly", f)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
}

// TestIdleClients: who gets no arrival is not starved, nor is the lock unfair to him.
func TestIdleClients(t *testing.T) {
	p := evenly("null", "none", "10")
	p.Clients, p.Duration = 100, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if f := r.Fairness; r.Counts.Acquired != 10 || f.Starved != 0 || f.Jain != 1 || f.MinClient != 1 {
			t.Errorf("%d locks, fairness %+v", r.Counts.Acquired, r.Fairness)
		}
	})
}

// TestBacklog asks for twice what the one client can do. Its n-th lock was due 10 ms after the one before, and begins
// 20 ms after it: the responses grow by 10 ms each, to the half of the window, and none is skipped.
func TestBacklog(t *testing.T) {
	p := evenly("null", "none", "100")
	p.Hold, p.Duration = 20*ms, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Offered != 100 || n.Acquired != 50 || n.Unfinished != 50 || n.Dropped != 0 {
			t.Errorf("counts %+v: want 50 of 100 served", n)
		}
		l := r.Latency[results.Response]
		near(t, "mean response", float64(l.Mean), float64(245*ms), 0.001)
		near(t, "90th percentile", float64(l.P90), float64(440*ms), 0.001)
		near(t, "longest wait", float64(r.Fairness.LongestWait), float64(490*ms), 0.001)
		if a := r.Latency[results.Acquire]; a.Count != 50 || a.Max > 2 {
			t.Errorf("acquire %+v: the lock was free, and answers at once", a)
		}
		if b, lag := r.Latency[results.Backlog], r.Latency[results.Lag]; b.Count != 49 || lag.Count != 1 {
			t.Errorf("%d in the backlog and %d behind time: want all but the first in the backlog", b.Count, lag.Count)
		}
		near(t, "mean backlog", float64(r.Latency[results.Backlog].Mean), float64(250*ms), 0.001)
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
		// Number n came n × 10 ms after the first, and was answered n × 20 ms after it or not at all: those that were have
		// waited 12.25 s in all, the others 12.75 s until the window closed, each less what the first one came after its
		// opening, which is below 10 ms.
		near(t, "arrivals in the system", r.Bound.InSystem, 24.75, 0.0101)
		near(t, "of which are recorded", r.Bound.LittleOpen, 12.25/24.75, 0.0102)
		if r.KeptUp() || len(r.Warnings) == 0 {
			t.Errorf("it kept up with twice what it can do; warnings %q", r.Warnings)
		}
	})
}

// TestBacklogFromWarmup: what was due in the warm-up and is still not served when the window closes is none of its
// arrivals.
func TestBacklogFromWarmup(t *testing.T) {
	p := evenly("null", "none", "100")
	p.Hold, p.Warmup, p.Duration = 20*ms, time.Second, 500*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.Offered != 50 || n.Acquired != 25 || n.Unfinished != 50 {
			t.Errorf("counts %+v: want 25 served, of those before the window, and 50 that wait", n)
		}
	})
}

// TestTakenTooLate: an arrival that a client gets hold of when the window has closed is not served.
func TestTakenTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := lone(t, evenly("null", "none", "100"))
		c.e.finished.Go(c.loop)
		time.Sleep(5 * ms)
		c.e.closeAt(5 * ms)
		c.e.arrive(c.class, 4*ms)
		synctest.Wait()
		c.e.closeQueues()
		c.e.finished.Wait()
		if n := sumOf(c.e.clients).Counts; n.Tries+n.Unfinished != 0 || c.class.arrivals.untaken.Load() != 1 || c.counters.idle != 5*ms {
			t.Errorf("counts %+v, idle for %v", n, c.counters.idle)
		}
	})
}

// TestDrops lets few arrivals wait, be it for the one client or for the one lock.
func TestDrops(t *testing.T) {
	p := evenly("null", "none", "100")
	p.Hold, p.MaxQueue, p.Duration = 20*ms, 5, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		// 50 are served in turn, 5 still wait in the end.
		if n := r.Counts; n.Offered != 100 || n.Acquired != 50 || n.Unfinished != 5 || n.Dropped != 45 {
			t.Errorf("for a client: counts %+v: want 45 dropped", n)
		}
		// The queue is full after 100 ms; from then on who gets in waits for five others.
		near(t, "longest response", float64(r.Latency[results.Response].Max), float64(100*ms), 0.05)
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
	p.Driver, p.Lock, p.Clients = "memory", "mutex", 50
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Offered != 100 || n.Acquired < 45 || n.Acquired > 50 || n.Dropped < 40 || n.Unfinished > 6 {
			t.Errorf("for a lock: counts %+v: want about 45 dropped", n)
		}
		if n.Acquired+n.Unfinished+n.Dropped != n.Offered {
			t.Errorf("for a lock: counts %+v do not add up", n)
		}
	})
}

// TestBursts has eight clients come at once to one lock, every 100 ms: the n-th gets it when n holds are over.
func TestBursts(t *testing.T) {
	p := plan("memory", "mutex")
	p.Burst, p.Clients, p.Hold, p.Wait, p.Handover, p.Warmup, p.Duration = 100*ms, 8, 10*ms, "queue", "release", 250*ms, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.Offered != 80 || n.Acquired != 80 || n.Unfinished != 0 {
			t.Errorf("counts %+v: want ten bursts of eight", n)
		}
		l := r.Latency[results.Response]
		near(t, "mean response", float64(l.Mean), float64(35*ms), 0.01)
		near(t, "longest response", float64(l.Max), float64(70*ms), 0.01)
		if r.Fairness.MinClient != 10 || r.Fairness.MaxClient != 10 {
			t.Errorf("fairness %+v: want every client in every burst", r.Fairness)
		}
		if _, ok := r.Latency[results.Backlog]; ok {
			t.Error("a backlog, with a client for each")
		}
	})
}

// TestPatience counts from the intended start: who has waited for a client as long as he would have waited for the lock
// gets one try.
func TestPatience(t *testing.T) {
	p := evenly("memory", "mutex", "100")
	p.Clients, p.Hold, p.Timeout, p.Duration = 2, 50*ms, 100*ms, time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		n := r.Counts
		if n.Offered != 100 || n.TimedOut < 20 || n.Offered != n.Acquired+n.TimedOut+n.Unfinished {
			t.Errorf("counts %+v: want many that time out, and none skipped", n)
		}
		// One client holds, and all that come meanwhile time out on the other, in their order.
		if l := r.Latency[results.Response]; l.Max > 151*ms {
			t.Errorf("response %+v: patience was 100 ms", l)
		}
		if l, b := r.Latency[results.Refusal], r.Latency[results.Backlog]; l.P99 > 51*ms || b.P50 < 60*ms {
			t.Errorf("refusals %+v, backlog %+v: want the one to be what the other has left of 100 ms", l, b)
		}
		if r.Fairness.LongestWait < 100*ms {
			t.Errorf("fairness %+v: those who got nothing have waited longest", r.Fairness)
		}
	})
	p.Clients, p.Timeout = 1, 20*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.TimedOut != 0 || n.Acquired != 20 {
			t.Errorf("counts %+v: want everybody to try, and to find the lock free", n)
		}
	})
}

// TestMixedLoops runs a closed loop beside an open one.
func TestMixedLoops(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Keys, p.Arrival, p.Duration = 5, 10, "", time.Second
	closed, opened := p.Load, p.Load
	closed.Clients, closed.Hold, closed.Think = 2, 10*ms, 10*ms
	opened.Clients, opened.Hold, opened.Rate, opened.Arrival = 3, 10*ms, spec.Must(spec.ParseRate("50")), "poisson"
	p.Classes = []spec.Class{{Name: "closed", Load: closed}, {Name: "open", Load: opened}}
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		c, o := r.Classes[0], r.Classes[1]
		if c.Counts.Acquired != 100 || c.Counts.Offered != 0 {
			t.Errorf("closed: %+v", c.Counts)
		}
		if o.Counts.Offered < 30 || o.Counts.Offered > 70 || o.Counts.Acquired != o.Counts.Offered || r.Counts.Offered != o.Counts.Offered {
			t.Errorf("open: %+v, together %+v", o.Counts, r.Counts)
		}
		if _, ok := c.Latency[results.Response]; ok || o.Latency[results.Response].Count != o.Counts.Acquired {
			t.Errorf("%d responses of the open class alone", o.Latency[results.Response].Count)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
}

// TestOperations ends the run by operations: exactly so many, however they are divided.
func TestOperations(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*spec.Plan)
		want   time.Duration // the window
	}{
		{"closed", func(p *spec.Plan) { p.Clients, p.Hold, p.Think = 4, 10*ms, 10*ms }, 480 * ms},
		{"closed, after a warm-up", func(p *spec.Plan) { p.Clients, p.Hold, p.Think, p.Warmup = 4, 10*ms, 10*ms, 110*ms }, 490 * ms},
		{"closed, more clients than operations", func(p *spec.Plan) { p.Clients, p.Hold = 300, 10*ms }, 0},
		{"open", func(p *spec.Plan) {
			p.Clients, p.Hold, p.Rate, p.Arrival = 4, 10*ms, spec.Must(spec.ParseRate("100")), "constant"
		}, 990 * ms},
		{"open, with a backlog", func(p *spec.Plan) {
			p.Clients, p.Hold, p.Rate, p.Arrival = 2, 100*ms, spec.Must(spec.ParseRate("100")), "constant"
		}, 4900 * ms},
		{"open, with drops", func(p *spec.Plan) {
			p.Hold, p.Rate, p.Arrival, p.MaxQueue = 100*ms, spec.Must(spec.ParseRate("100")), "constant", 1
		}, 990 * ms},
		{"bursts", func(p *spec.Plan) { p.Clients, p.Hold, p.Burst = 20, 10*ms, 100*ms }, 400 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := plan("null", "none")
			p.Ops, p.Duration = 100, 0
			tc.change(&p)
			bubble(t, p, nil, func(t *testing.T, r *results.Record) {
				n := r.Counts
				if n.Acquired+n.Dropped != 100 || n.Unfinished+n.Canceled != 0 || !p.Rate.IsZero() && n.Offered != 100 {
					t.Errorf("counts %+v: want 100", n)
				}
				if r.Latency[results.Acquire].Count != n.Acquired || n.Released != n.Acquired {
					t.Errorf("%d times of %+v", r.Latency[results.Acquire].Count, n)
				}
				if f := r.Fairness; f.Starved != 0 || p.Clients == 300 && f.Jain != 1 {
					t.Errorf("fairness %+v: a client that nothing was left for wanted nothing", f)
				}
				if r.Elapsed < tc.want || r.Elapsed > tc.want+21*ms || r.Partial != "" {
					t.Errorf("window %v, partial %q, want %v", r.Elapsed, r.Partial, tc.want)
				}
				if r.Elapsed > ms {
					near(t, "Little's sum", r.Bound.Little, 1, 0.001)
				}
			})
		})
	}
}

// TestOperationsInTime: with a duration as well, whichever comes first ends the run.
func TestOperationsInTime(t *testing.T) {
	p := plan("null", "none")
	p.Ops, p.Hold, p.Duration = 100, 10*ms, 500*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if r.Counts.Acquired != 50 || r.Elapsed != p.Duration {
			t.Errorf("%d locks in %v, want 50 in 500 ms", r.Counts.Acquired, r.Elapsed)
		}
	})
	p.Duration = 5 * time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if r.Counts.Acquired != 100 || r.Elapsed != 990*ms+1 {
			t.Errorf("%d locks in %v, want 100 in 990 ms", r.Counts.Acquired, r.Elapsed)
		}
	})
}

// TestOperationsOfUnequals: a client that is quicker does more of the operations, and then has to wait for the slower
// one. What was begun in the warm-up counts for neither.
func TestOperationsOfUnequals(t *testing.T) {
	for _, warmup := range []time.Duration{0, 50 * ms} {
		p := plan("null", "none")
		p.Clients, p.Ops, p.Warmup, p.Duration, p.Hold = 2, 20, warmup, 0, 10*ms
		bubble(t, p, func(s drivers.Service) drivers.Service { return slow{s, 100 * ms} }, func(t *testing.T, r *results.Record) {
			// The slow one ends its acquisitions after 100, 210, …; the quick one begins 18 in 170 ms.
			if n := r.Counts; n.Acquired != 20 || r.Fairness.MinClient != 2 && warmup == 0 {
				t.Errorf("counts %+v, %+v: want 2 and 18", n, r.Fairness)
			}
			if warmup == 0 && r.Elapsed != 210*ms+1 {
				t.Errorf("window %v, want until the slow one's second lock", r.Elapsed)
			}
			near(t, "Little's sum", r.Bound.Little, 1, 0.001)
		})
	}
}

// TestUnclaim: who has to wait for a lock gives back what it has claimed in advance.
func TestUnclaim(t *testing.T) {
	p := plan("memory", "mutex")
	p.Ops, p.Wait = 1000, "none"
	c := lone(t, p)
	other, _ := c.e.run.Service.Session(t.Context(), 1)
	if held, err := other.Try(t.Context(), &drivers.Lease{Key: "test:0", TTL: time.Minute}); !held || err != nil {
		t.Fatal(held, err)
	}
	if !c.claim(0) || c.claims != maxClaim-1 || c.e.budget.left.Load() != p.Ops-maxClaim {
		t.Fatalf("claimed %d beside the first, of which %d are left", c.claims, c.e.budget.left.Load())
	}
	c.cycle(0)
	if left, open := c.e.budget.left.Load(), c.e.budget.open.Load(); left != p.Ops-1 || open != p.Ops-1 || c.counters.contended != 1 {
		t.Errorf("%d can be claimed and %d are to end, after one of %d that was refused: %+v", left, open, p.Ops, c.counters)
	}
}

// TestOperationsContended: clients that wait claim no more than they do, so that the last one is not left with the rest.
func TestOperationsContended(t *testing.T) {
	p := plan("memory", "mutex")
	p.Ops, p.Duration, p.Clients, p.Hold, p.Think, p.Timeout = 1000, 0, 10, ms, ms, 5*ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if n := r.Counts; n.Acquired+n.TimedOut != 1000 || n.Unfinished != 0 {
			t.Errorf("counts %+v: want 1000, whatever has become of them", n)
		}
	})
}

// TestBudget claims from many clients at once, on real processors: nothing is lost or given out twice.
func TestBudget(t *testing.T) {
	p := plan("null", "none")
	p.Ops, p.Duration, p.Clients, p.Keys = 50_000, 0, 16, 1000
	r, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:"}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Counts; n.Acquired != p.Ops || n.Released != p.Ops || n.Unfinished != 0 {
		t.Errorf("counts %+v, want %d", n, p.Ops)
	}
}

// TestCancelArrivals stops an open loop before its time: what nobody has taken up is cancelled.
func TestCancelArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := evenly("memory", "mutex", "100")
		p.Hold, p.Duration = 20*ms, time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+5*ms)
		defer cancel()
		r, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:"}).Do(ctx)
		if err != nil {
			t.Fatal(err)
		}
		n := r.Counts
		if n.Unfinished != 0 || n.Canceled < 48 || n.Acquired+n.Canceled != n.Offered || r.Partial == "" {
			t.Errorf("counts %+v, partial %q: want what was left to be cancelled", n, r.Partial)
		}
	})
}

// TestOpenCycleAllocatesNothing hands arrivals to a client that serves them.
func TestOpenCycleAllocatesNothing(t *testing.T) {
	c, arrive := server(t)
	if n := testing.AllocsPerRun(1000, arrive); n != 0 {
		t.Errorf("%v allocations an arrival", n)
	}
	c.class.queue.Close()
	c.e.finished.Wait()
	if l := c.class.recorder.Latency(results.ResponseIndex); l.Count < 1000 || c.counters.acquired != l.Count {
		t.Errorf("%d responses of %d locks", l.Count, c.counters.acquired)
	}
}

// server returns a client that serves arrivals over the null driver, and what makes one and waits until it is served.
func server(t testing.TB) (c *client, arrive func()) {
	p := evenly("null", "none", "1000")
	c = lone(t, p)
	served := make(chan struct{})
	c.session = announced{c.session, served}
	c.e.finished.Go(c.loop)
	return c, func() {
		c.e.arrive(c.class, c.e.clock.Now())
		<-served
	}
}

// announced is a session that tells of its releases.
type announced struct {
	drivers.Session
	released chan<- struct{}
}

func (a announced) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	a.released <- struct{}{}
	return a.Session.Release(ctx, l)
}
