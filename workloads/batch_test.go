package workloads

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// delayed is a batch that takes a while.
type delayed struct {
	drivers.InTurn
	by    time.Duration
	sizes []int
}

func (s *delayed) Do(ctx context.Context, requests []drivers.Request) {
	s.sizes = append(s.sizes, len(requests))
	time.Sleep(s.by)
	s.InTurn.Do(ctx, requests)
}

// carry opens a worker that carries all clients of a plan.
func carry(t testing.TB, p spec.Plan, b drivers.Batch) *worker {
	t.Helper()
	e, err := newEngine(&Run{Plan: p, Service: open(t, p), Prefix: "test:"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.stopWaiting)
	if e.rooms, err = newRooms(t.Context(), &p, e.run.Service); err != nil {
		t.Fatal(err)
	}
	if err := e.openClients(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.clock = drivers.NewClock()
	e.end.Store(int64(p.Duration))
	close(e.start)
	return newWorker(e, b, 0, 1)
}

// TestBatchLatency has batches of 10 ms. Those who hold for 3 ms are ready to release while the next batch is under way, of those
// who do not hold: they hold on until it is over, and the worker is 7 ms late. Those who think for 3 ms are as late, and their
// acquisitions take no longer than the others'.
func TestBatchLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Wait, p.Clients, p.Keys, p.Duration, p.Oracle, p.Pipelining = "none", 8, 1000, 400*ms, false, "batch"
		holding, thinking, busy := p.Load, p.Load, p.Load
		holding.Clients, thinking.Clients, busy.Clients, holding.Hold, thinking.Think = 2, 2, 4, 3*ms, 3*ms
		p.Classes = []spec.Class{{Name: "holding", Load: holding}, {Name: "thinking", Load: thinking}, {Name: "busy", Load: busy}}
		b := &delayed{by: 10 * ms}
		w := carry(t, p, b)
		w.loop()
		check := func(class int, m results.MetricIndex, least, most time.Duration) {
			l := w.e.classes[class].recorder.Latency(m)
			if l.Count < 10 || l.Min < least-least/500 || l.Max > most+most/500 {
				t.Errorf("class %d, %s: %d times from %v to %v, want %v to %v", class, results.Metrics[m], l.Count, l.Min, l.Max, least, most)
			}
		}
		for class := range p.Classes {
			check(class, results.AcquireIndex, 10*ms, 10*ms)
			check(class, results.ReleaseIndex, 10*ms, 10*ms)
		}
		check(0, results.HoldIndex, 10*ms, 10*ms)
		check(2, results.HoldIndex, 1, 1)
		if l := w.e.recorder.Latency(results.WorkerIndex); l.Mean < ms || l.Max < 7*ms-ms/50 {
			t.Errorf("workers were late by %v on average, %v at the most", l.Mean, l.Max)
		}
		if first, second := b.sizes[0], b.sizes[1]; first != 8 || second != 6 {
			t.Errorf("the first batches have %d and %d requests, want all 8 clients and the 6 that do not hold", first, second)
		}
	})
}

// TestBatchOracle: clients hold from their answers until their releases are written, which is when the oracle sees that two hold the
// same key, and that one was refused while another held it.
func TestBatchOracle(t *testing.T) {
	for _, lock := range []string{"none", "mutex"} {
		synctest.Test(t, func(t *testing.T) {
			p := plan("memory", lock)
			if lock == "none" {
				p = plan("null", lock)
			}
			p.Wait, p.Clients, p.Keys, p.Duration, p.Pipelining = "none", 2, 1, 100*ms, "batch"
			w := carry(t, p, &delayed{by: ms})
			w.loop()
			seen := w.e.witness()
			wrong, watched := seen.Violations, seen.Power.Watched
			if lock == "none" && wrong != seen.Grants/2 || lock == "mutex" && (wrong > 0 || watched < seen.Grants/2) || seen.Grants < 40 {
				t.Errorf("%s: of %d grants %d were wrong, and %d watched", lock, seen.Grants, wrong, watched)
			}
		})
	}
}

// TestManyInTurn sends no more in one write than maxBatch.
func TestManyInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := plan("memory", "mutex")
		p.Wait, p.Clients, p.Keys, p.Duration = "none", 2*maxBatch+1, 100000, 50*ms
		b := &delayed{by: 10 * ms}
		carry(t, p, b).loop()
		if want := []int{maxBatch, maxBatch, 1}; !reflect.DeepEqual(b.sizes[:3], want) {
			t.Errorf("batches of %v, want %v", b.sizes[:3], want)
		}
	})
}

// passing is a service whose sessions pass a lock on.
type passing struct{ drivers.Service }

func (p passing) Unwrap() drivers.Service { return p.Service }

func (p passing) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := p.Service.Session(ctx, id)
	return passer{s}, err
}

type passer struct{ drivers.Session }

func (p passer) Unwrap() drivers.Session { return p.Session }

// Pass implements drivers.Passer, if no other client tries meanwhile.
func (p passer) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	if owned, err := p.Release(ctx, from); err != nil || !owned {
		return false, err
	}
	return p.Try(ctx, to)
}

// TestSameLock: in batches a plan has the same outcomes as with a goroutine for each client, if it leaves nothing to chance.
func TestSameLock(t *testing.T) {
	for i, change := range []func(*spec.Plan){
		func(p *spec.Plan) { p.Hold, p.Think = 10*ms, 5*ms },
		func(p *spec.Plan) { p.Clients, p.Keys, p.Hold, p.Think = 1, 3, 7*ms, ms },
		func(p *spec.Plan) { p.Clients, p.Hold, p.Think, p.Poll = 2, 10*ms, 4*ms, 3*ms },
		func(p *spec.Plan) { p.Clients, p.Wait, p.Hold, p.Think, p.Ops = 1, "none", 2*ms, 3*ms, 50 },
		func(p *spec.Plan) {
			p.Clients, p.Hold, p.Think, p.Poll, p.Timeout = 2, 50*ms+ms/3, ms+ms/7, 7*ms, 19*ms
		},
		func(p *spec.Plan) { p.Hold, p.Crash, p.TTL, p.Think, p.Keys = 10*ms, 1, 30*ms, 50*ms, 1 },
		func(p *spec.Plan) {
			p.Clients, p.Wait, p.Keys, p.Hold, p.Rate, p.Arrival = 3, "none", 1, 10*ms, spec.Must(spec.ParseRate("130")), "constant"
		},
		func(p *spec.Plan) { // more arrivals than the one client can serve; none at the instant of a release
			p.Wait, p.Hold, p.Rate, p.Arrival, p.MaxQueue = "none", 10*ms, spec.Must(spec.ParseRate("171.3")), "constant", 5
		},
		func(p *spec.Plan) { p.Hold, p.TTL, p.Think = 40*ms, 30*ms, 50*ms },
		func(p *spec.Plan) { p.Wait, p.Clients, p.Keys, p.Hold, p.Think = "pubsub", 2, 1, 9*ms+ms/3, 4*ms },
		func(p *spec.Plan) { p.Wait, p.Clients, p.Keys, p.Hold, p.Think = "queue", 3, 1, 9*ms+ms/3, 4*ms },
		func(p *spec.Plan) {
			p.Wait, p.Handover, p.Clients, p.Keys, p.Hold, p.Think = "queue", "swap", 3, 1, 9*ms+ms/3, 4*ms
		},
		func(p *spec.Plan) { p.Renew, p.Hold, p.TTL, p.Think = true, 47*ms, 30*ms, 4*ms },
		func(p *spec.Plan) {
			p.Lock, p.Reentry, p.Clients, p.Hold, p.Think, p.Poll = "reentrant", 4, 2, 9*ms+ms/3, 4*ms+ms/7, 3*ms
		},
		func(p *spec.Plan) {
			p.Lock, p.Reentry, p.Renew, p.Hold, p.TTL, p.Think = "reentrant", 2, true, 47*ms, 30*ms, 4*ms
		},
		func(p *spec.Plan) {
			p.Lock, p.Reentry, p.Crash, p.TTL, p.Hold, p.Think = "reentrant", 3, 0.5, 30*ms, 10*ms, 50*ms
		},
		func(p *spec.Plan) { // most give up in line
			p.Wait, p.Handover, p.Clients, p.Keys, p.Hold, p.Timeout = "queue", "swap", 5, 1, 9*ms+ms/3, 13*ms
		},
		func(p *spec.Plan) { // one holds all the time, and the other is refused all the time
			p.Clients, p.Keys, p.Wait, p.Hold, p.TTL, p.Think = 2, 1, "none", 2*time.Second, 10*time.Second, 5*ms
		},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var both [2]*results.Record
			for n, pipelining := range []string{"", "batch"} {
				p := plan("memory", "mutex")
				p.Warmup, p.Duration, p.Pipelining, p.Handover = 101*ms, 999*ms, pipelining, "release"
				change(&p)
				bubble(t, p, func(s drivers.Service) drivers.Service {
					if p.Wait == "queue" {
						return passing{s}
					}
					return s
				}, func(_ *testing.T, r *results.Record) { both[n] = r })
			}
			a, b := both[0], both[1]
			if !reflect.DeepEqual(a.Counts, b.Counts) {
				t.Errorf("with goroutines %+v, in batches %+v", a.Counts, b.Counts)
			}
			late := a.Safety.Grants - b.Safety.Grants // when the run stops, those in line may be passed the lock, or give up
			if a.Plan.Wait == "queue" && max(late, -late) < int64(a.Plan.Clients) {
				late = 0
			}
			if a.Safety.Violations != b.Safety.Violations || late != 0 {
				t.Errorf("with goroutines %+v, in batches %+v", a.Safety, b.Safety)
			}
			if late := b.Latency[results.Worker]; late.Count == 0 || late.Max > 1 {
				t.Errorf("workers without a server were late by %v", late.Max)
			}
			delete(b.Latency, results.Worker)
			for _, m := range results.Metrics {
				if x, y := a.Latency[m], b.Latency[m]; x.Count != y.Count || (x.Mean-y.Mean).Abs() > x.Mean/100 || x.Max != y.Max {
					t.Errorf("%s: with goroutines %d times, mean %v, at most %v; in batches %d, %v, %v", m, x.Count, x.Mean, x.Max, y.Count, y.Mean, y.Max)
				}
			}
			if x, y := a.Fairness.LongestWait, b.Fairness.LongestWait; x != y {
				t.Errorf("longest wait with goroutines %v, in batches %v", x, y)
			}
			if x, y := a.Cost.Wakeups, b.Cost.Wakeups; x != y {
				t.Errorf("wake-ups of a lock with goroutines %v, in batches %v", x, y)
			}
			if x, y := a.Bound.Little, b.Bound.Little; x < 0.999 || x > 1.001 || y < 0.999 || y > 1.001 {
				t.Errorf("recorded times account for %v and %v of the clients' time", x, y)
			}
		})
	}
}

// TestBatchSharesArrivals deals arrivals out evenly, whichever worker carries a client.
func TestBatchSharesArrivals(t *testing.T) {
	p := plan("memory", "mutex")
	p.Wait, p.Clients, p.Keys, p.Duration, p.Pipelining = "none", 32, 32, time.Second, "batch"
	p.KeyDist, p.Rate, p.Arrival = spec.Must(spec.ParseKeys("own")), spec.Must(spec.ParseRate("320")), "constant"
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if f := r.Fairness; f.MinClient < 9 || f.MaxClient > 11 {
			t.Errorf("320 arrivals went to 32 clients by %d to %d, Jain %v", f.MinClient, f.MaxClient, f.Jain)
		}
	})
}

// TestBatchMeetsArrivals has clients of an open loop rest before the first arrivals come, as goroutines do.
func TestBatchMeetsArrivals(t *testing.T) {
	p := plan("memory", "mutex")
	p.Wait, p.Clients, p.Keys, p.Warmup, p.Duration, p.Pipelining = "none", 64, 64, 0, 3*time.Second, "batch"
	p.KeyDist, p.Burst, p.MaxQueue = spec.Must(spec.ParseKeys("own")), time.Second, 16
	w := carry(t, p, nil)
	w.e.arrive(w.e.classes[0], 0)
	if n := w.e.classes[0].queue.Len(); n != 0 {
		t.Errorf("%d arrivals wait before the worker runs, though all clients rest", n)
	}
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if r.Counts.Acquired != 3*64 || r.Counts.Dropped != 0 {
			t.Errorf("of 3 × 64 arrivals %d were granted and %d dropped, though all clients rested", r.Counts.Acquired, r.Counts.Dropped)
		}
		if lag, late := r.Latency[results.Lag], r.Latency[results.Backlog].Count; late != 0 || lag.Max > 1 { // no histogram has less than 1 ns
			t.Errorf("%d arrivals waited for a client, the others for up to %v", late, lag.Max)
		}
	})
}

// scarce gives one batch.
type scarce struct {
	drivers.Service
	given, closed int
}

func (s *scarce) Batch(context.Context) (drivers.Batch, error) {
	if s.given++; s.given > 1 {
		return nil, errors.New("no more connections")
	}
	return s, nil
}

func (s *scarce) Do(context.Context, []drivers.Request) {}
func (s *scarce) Close() error                          { s.closed++; return nil }

// TestBatchOpensAllOrNone ends the batches that were opened before one that cannot be.
func TestBatchOpensAllOrNone(t *testing.T) {
	p := plan("memory", "mutex")
	p.Wait, p.Clients, p.Keys, p.Pipelining = "none", 8, 8, "batch"
	w := carry(t, p, drivers.InTurn{})
	s := &scarce{Service: w.e.run.Service}
	w.e.run.Service = s
	if err := w.e.openBatches(t.Context()); err == nil || s.closed != 1 {
		t.Errorf("of 2 batches one was opened and %d closed, with error %v", s.closed, err)
	}
}

// nulls returns a worker of the null driver whose clients have all begun.
func nulls(t testing.TB, clients int, oracle bool) *worker {
	p := plan("null", "none")
	p.Wait, p.Clients, p.Keys, p.Oracle, p.Duration = "none", clients, clients, oracle, time.Hour
	p.KeyDist = spec.Must(spec.ParseKeys("own")) // the lock excludes nobody
	w := carry(t, p, drivers.InTurn{})
	for i := range w.clients {
		w.begin(&w.clients[i], w.e.clock.Now())
	}
	return w
}

func TestBatchCycleAllocatesNothing(t *testing.T) {
	for _, oracle := range []bool{true, false} {
		w := nulls(t, 512, oracle)
		w.send()
		w.send()
		if n := testing.AllocsPerRun(100, w.send); n != 0 {
			t.Errorf("oracle %v: %v allocations for each of 512 clients' requests", oracle, n)
		}
	}
}

// BenchmarkNullBatch is BenchmarkNullCycle in batches: two requests are a cycle. It takes 0.89 of the time: a batch saves the two
// stamps of a cycle, and spends part of that on its requests and on clients that are not in the nearest cache. The rest is what
// both do: the oracle, the records, the choice of a key.
func BenchmarkNullBatch(b *testing.B) {
	for _, bc := range []struct {
		name   string
		oracle bool
	}{{"oracle", true}, {"no-oracle", false}} {
		b.Run(bc.name, func(b *testing.B) {
			const clients = 256
			w := nulls(b, clients, bc.oracle)
			w.send()
			w.send()
			b.ReportAllocs()
			for left := b.N; left > 0; left -= clients {
				w.send()
				w.send()
			}
		})
	}
}
