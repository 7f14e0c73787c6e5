package workloads

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// inProcess is a fleet of engines in one process, whose parts go through JSON as those of processes do.
type inProcess struct {
	ready   sync.WaitGroup
	start   time.Time
	stopped context.CancelFunc
	done    sync.WaitGroup

	mu   sync.Mutex
	got  []*Part
	logs []oracle.Ranked
	lost string
}

func (f *inProcess) Meet(ctx context.Context) (time.Time, error) {
	f.ready.Done()
	f.ready.Wait()
	return f.start, ctx.Err()
}

func (f *inProcess) Others() Snapshot {
	if f.lost == "" || time.Since(f.start) < 500*ms {
		return Snapshot{}
	}
	return Snapshot{Lost: f.lost}
}
func (f *inProcess) Stop() { f.stopped() }

func (f *inProcess) Gather(_ context.Context, _ *Part, holds *oracle.Logs) ([]*Part, []oracle.Ranked) {
	f.done.Wait()
	return f.got, append([]oracle.Ranked{{Logs: holds}}, f.logs...)
}

// served stands for a driver whose locks are on a server, which processes share.
type served struct{ drivers.Driver }

func (s served) Library() drivers.Library            { return drivers.LibraryOf(s.Driver) }
func (served) Service() string                       { return "served" }
func (served) ReadAddr(string) (drivers.Addr, error) { return drivers.Addr{}, nil }

func init() {
	memory, err := drivers.Lookup("memory")
	if err != nil {
		panic(err)
	}
	drivers.Register("served", served{memory})
}

// fleetOf runs a plan in as many processes as it has, each with the service that of returns.
func fleetOf(t *testing.T, p spec.Plan, of func(rank int) drivers.Service, change func(*Part)) *results.Record {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if p.Driver == "memory" { // whose locks are of one process
		p.Driver = "served"
	}
	f := &inProcess{start: time.Now().Add(ms), stopped: cancel}
	f.ready.Add(p.Processes)
	for rank := 1; rank < p.Processes; rank++ {
		f.done.Go(func() {
			part, logs, err := (&Run{Plan: p, Share: spec.ShareOf(&p, rank), Service: of(rank), Prefix: "test:"}).Contribute(ctx, f.Meet)
			if err != nil {
				t.Error(err)
				f.ready.Done()
				return
			}
			text, err := json.Marshal(part)
			if err != nil {
				t.Error(err)
			}
			sent := new(Part)
			if err := json.Unmarshal(text, sent); err != nil {
				t.Error(err)
			}
			if change != nil {
				change(sent)
			}
			var holds bytes.Buffer
			if err := logs.Encode(&holds); err != nil {
				t.Error(err)
			}
			got, err := oracle.DecodeLogs(&holds, sent.Rank.Clients, LogLimit(p.Processes))
			if err != nil {
				t.Error(err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.got = append(f.got, sent)
			f.logs = append(f.logs, oracle.Ranked{Logs: got})
		})
	}
	rec, err := (&Run{
		Plan: p, Share: spec.ShareOf(&p, 0), Service: of(0), Prefix: "test:", Fleet: f, Record: results.Record{Run: "test", Trial: 1},
	}).Do(ctx)
	if err != nil {
		f.done.Wait()
		t.Fatal(err)
	}
	return rec
}

// TestPartsAddUp: a load that three processes make has the figures that it has from one, in every mode of a load.
func TestPartsAddUp(t *testing.T) {
	for name, set := range map[string]func(*spec.Plan){
		"closed loop": func(p *spec.Plan) {},
		"open loop": func(p *spec.Plan) {
			p.Rate, _ = spec.ParseRate("200")
			p.Arrival, p.Keys, p.Think = "constant", 4, 0
		},
		"operations": func(p *spec.Plan) { p.Ops = 50 },
		"classes": func(p *spec.Plan) {
			a, b := p.Load, p.Load
			a.Clients, b.Clients, b.Hold = 5, 4, 2*ms
			p.Classes = []spec.Class{{Name: "a", Load: a}, {Name: "b", Load: b}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Wait, p.Hold, p.Think, p.Duration, p.Warmup, p.Processes = 9, "poll", 5*ms, 1*ms, 2*time.Second, 500*ms, 3
			p.Poll = ms
			set(&p)
			synctest.Test(t, func(t *testing.T) {
				svc := open(t, p)
				r := fleetOf(t, p, func(int) drivers.Service { return svc }, nil)
				if r.Partial != "" || len(r.Ranks) != 3 || r.Safety.Violations != 0 || r.Safety.LostUpdates != 0 || r.Safety.FenceRegress != 0 {
					t.Errorf("partial %q, %d ranks, safety %+v", r.Partial, len(r.Ranks), r.Safety)
				}
				if err := r.Validate(); err != nil {
					t.Error(err)
				}
				n := r.Counts
				sum := int64(0)
				for _, of := range r.Ranks {
					sum += of.Acquired
				}
				if n.Acquired != sum || n.Acquired != r.Latency[results.Acquire].Count || n.Acquired == 0 {
					t.Errorf("%d grants, the ranks have %d, and the latency %d", n.Acquired, sum, r.Latency[results.Acquire].Count)
				}
				if n.Acquired != n.Released+n.Lost+n.LostRenewal+n.ReleaseError+n.Crashed || n.Unknown+n.Refused+n.Lost != 0 {
					t.Errorf("counts do not add up: %+v", n)
				}
				series := int64(0)
				for _, i := range r.Series {
					if !i.Warmup {
						series += i.Acquired
					}
				}
				if series != n.Acquired {
					t.Errorf("the series has %d grants, not %d", series, n.Acquired)
				}
				if p.Ops > 0 && n.Wanted() != p.Ops {
					t.Errorf("%d operations, not %d", n.Wanted(), p.Ops)
				}
				if r.Plan.Groups()[0].Open() {
					if n.Offered != 400 {
						t.Errorf("%d arrivals were due, not 400", n.Offered)
					}
					if !r.KeptUp() { // who is in the system at the edges of the window moves it by some percent; a part that lacks, by 33
						t.Errorf("Little's law of the arrivals is %v", r.Bound.LittleOpen)
					}
				}
				near(t, "Little's sum", r.Bound.Little, 1, 0.02)
				if f := r.Fairness; f.Clients != 9 || f.OwnerChanges == 0 || f.LongestRun == 0 {
					t.Errorf("fairness %+v", f)
				}
				if r.Latency[results.Handoff].Count == 0 {
					t.Error("no hand-off")
				}
				for i, c := range r.Classes {
					if c.Clients != p.Classes[i].Clients || c.Counts.Acquired == 0 || c.Counts.Acquired != c.Latency[results.Acquire].Count {
						t.Errorf("class %d: %+v", i, c)
					}
				}
			})
		})
	}
}

// TestFewOperations: processes without a share of -n end with the others, in every mode of a load.
func TestFewOperations(t *testing.T) {
	for name, set := range map[string]func(*spec.Plan){
		"closed loop": func(*spec.Plan) {},
		"warm-up":     func(p *spec.Plan) { p.Warmup = 1500 * ms },
		"batch":       func(p *spec.Plan) { p.Pipelining = "batch" },
		"open loop": func(p *spec.Plan) {
			p.Rate, _ = spec.ParseRate("200")
			p.Arrival, p.Think = "constant", 0
		},
		"classes": func(p *spec.Plan) {
			a, b := p.Load, p.Load
			a.Clients, b.Clients, b.Hold = 5, 4, 2*ms
			p.Classes = []spec.Class{{Name: "a", Load: a}, {Name: "b", Load: b}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Wait, p.Hold, p.Think, p.Duration, p.Warmup, p.Processes = 9, "poll", 5*ms, ms, time.Minute, 0, 3
			p.Poll, p.Ops = ms, 2 // neither is of rank 0
			set(&p)
			synctest.Test(t, func(t *testing.T) {
				svc := open(t, p)
				r := fleetOf(t, p, func(int) drivers.Service { return svc }, nil)
				if err := r.Validate(); err != nil && r.Elapsed > 1 { // here locks may take no time
					t.Error(err)
				}
				if r.Partial != "" || len(r.Ranks) != 3 {
					t.Errorf("partial %q, %d ranks", r.Partial, len(r.Ranks))
				}
				n := r.Counts // what began in the warm-up comes on top
				if r.Elapsed > time.Second || n.Acquired < 2 || p.Warmup == 0 && n.Wanted() != 2 {
					t.Errorf("%+v in %v", n, r.Elapsed)
				}
				series := int64(0)
				for _, i := range r.Series {
					if !i.Warmup {
						series += i.Acquired
					}
				}
				if series != n.Acquired {
					t.Errorf("the series has %d grants: %+v", series, r.Series)
				}
			})
		})
	}
}

// TestFleetSeesOthers: locks of one process exclude nobody in another, and the sweep sees that; each process by itself sees nothing.
func TestFleetSeesOthers(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Wait, p.Hold, p.Duration, p.Processes, p.Poll = 4, "poll", 5*ms, time.Second, 4, ms
	synctest.Test(t, func(t *testing.T) {
		svcs := []drivers.Service{open(t, p), open(t, p), open(t, p), open(t, p)}
		r := fleetOf(t, p, func(rank int) drivers.Service { return svcs[rank] }, func(p *Part) {
			if p.Figures.Seen.Violations != 0 {
				t.Errorf("one client alone has seen %+v", p.Figures.Seen)
			}
		})
		// All four are granted the only key at the same times.
		if s := r.Safety; s.Grants == 0 || s.Violations != s.Grants/4*3 || s.Power.Watched < s.Violations || len(s.Events) == 0 || !r.Violated() {
			t.Errorf("%+v", s)
		}
	})
}

// TestFleetCountsOnce: a key that no lock protects has several holders at any time, of the same process and of others.
// Each of its grants but the first is wrong once, in the interval of its time, and each moment counts once.
func TestFleetCountsOnce(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Hold, p.Warmup, p.Duration, p.Processes = 12, 5*ms, time.Second, 2*time.Second, 4
	synctest.Test(t, func(t *testing.T) {
		svc := open(t, p)
		r := fleetOf(t, p, func(int) drivers.Service { return svc }, nil)
		s, inSeries := r.Safety, int64(0)
		for _, i := range r.Series {
			inSeries += i.Violations
			if i.Violations == 0 || i.Violations > 12*201 {
				t.Errorf("%d violations from %v for %v", i.Violations, i.At, i.Length)
			}
		}
		load := p.Warmup + p.Duration
		if s.Violations < s.Grants/12*11 || s.Violations >= s.Grants || inSeries != s.Violations {
			t.Errorf("%d grants, %d violations, %d in the series", s.Grants, s.Violations, inSeries)
		}
		if s.Overlap < load || s.Overlap > load+p.Hold || s.Possible > 0 || s.Blind > 0 {
			t.Errorf("%v of load: %+v", load, s)
		}
		inOrder := slices.IsSortedFunc(s.Events, func(a, b results.Violation) int { return cmp.Compare(a.At, b.At) })
		if len(s.Events) != oracle.MaxEvents || !inOrder {
			t.Errorf("%d events, in order: %v", len(s.Events), inOrder)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
	})
}

// TestMergedQuantiles: what several recorders have recorded is, when it is added, what one would have, to the last digit.
func TestMergedQuantiles(t *testing.T) {
	one, all := results.NewRecorder(1), results.NewRecorder(3)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		part := results.NewRecorder(2)
		for range 50_000 {
			d := time.Duration(rng.ExpFloat64() * float64(rng.IntN(5)) * float64(time.Millisecond))
			for _, r := range []*results.Recorder{one, part} {
				shard := r.Borrow()
				shard.Record(results.AcquireIndex, d)
				r.Return(shard)
			}
		}
		text, err := json.Marshal(part.Latency(results.AcquireIndex))
		if err != nil {
			t.Fatal(err)
		}
		var sent results.Latency
		if err := json.Unmarshal(text, &sent); err != nil {
			t.Fatal(err)
		}
		shard := all.Borrow()
		if err := shard.Add(results.AcquireIndex, sent); err != nil {
			t.Fatal(err)
		}
		all.Return(shard)
	}
	if got, want := all.Latency(results.AcquireIndex), one.Latency(results.AcquireIndex); !reflect.DeepEqual(got, want) {
		t.Errorf("added %+v\nat once %+v", got, want)
	}
}

// TestSharesDrawAlike: the clients of all processes have the seeds, and so the draws, that they would have in one.
func TestSharesDrawAlike(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Keys, p.TryOnly = 10, 50, 0.3
	p.KeyDist, _ = spec.ParseKeys("zipf:1.1")
	p.Wait, p.Poll = "poll", ms
	draws := func(share spec.Share) (all [][]int32, tryers int) {
		r := &Run{Plan: p, Service: open(t, p), Share: share}
		e, err := newEngine(r)
		if err != nil {
			t.Fatal(err)
		}
		defer e.stopWaiting()
		if e.rooms, err = newRooms(t.Context(), &p, r.Service); err == nil {
			err = e.openClients(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range e.clients {
			c := &e.clients[i]
			var keys []int32
			for range 20 {
				keys = append(keys, c.pick())
			}
			if all = append(all, keys); c.class.tries(i) {
				tryers++
			}
			c.close()
		}
		return all, tryers
	}
	want, wantTryers := draws(spec.Share{})
	var got [][]int32
	tryers := 0
	for rank := range 3 {
		some, n := draws(spec.Share{Rank: rank, Ranks: 3})
		got, tryers = append(got, some...), tryers+n
	}
	if !reflect.DeepEqual(got, want) || tryers != wantTryers || len(got) != 10 {
		t.Errorf("%d clients, %d of them try only, want %d and %d", len(got), tryers, len(want), wantTryers)
	}
}

// TestVerdictOfRanks names the rank that was the limit.
func TestVerdictOfRanks(t *testing.T) {
	rank := func(n int, host, why string) results.Rank {
		return results.Rank{Rank: n, Host: host, Generator: results.Generator{CPU: 0.5, Machine: 0.5, Saturated: why != "", Why: why}}
	}
	for _, tc := range []struct {
		ranks []results.Rank
		why   string
	}{
		{[]results.Rank{rank(0, "a", ""), rank(1, "b", "")}, ""},
		{[]results.Rank{rank(0, "a", ""), rank(1, "b", "full")}, "rank 1 on b: full"},
		{[]results.Rank{rank(0, "a", "full"), rank(1, "a", "full too"), rank(2, "b", "")}, "rank 0 and 1 other on a: full"},
		{[]results.Rank{rank(0, "a", "x"), rank(1, "b", "y")}, "rank 0 on a: x; rank 1 on b: y"},
	} {
		g := together(tc.ranks)
		if g.Why != tc.why || g.Saturated != (tc.why != "") || g.CPU != 0.5*float64(len(tc.ranks)) {
			t.Errorf("%+v, want %q", g, tc.why)
		}
	}
}

// TestPausesOfRanks: a machine that stops stops all its ranks, once.
func TestPausesOfRanks(t *testing.T) {
	stop := results.Pause{At: 3 * time.Second, Length: time.Second}
	var ranks []results.Rank
	for _, more := range [][]results.Pause{nil, {{At: 5 * time.Second, Length: 200 * ms}}, nil, nil} {
		ranks = append(ranks, results.Rank{Generator: results.Generator{Pauses: append(more, stop), Paused: time.Second}})
	}
	g := together(ranks)
	if g.Paused != time.Second || len(g.Pauses) != 2 || results.LengthOf(g.Pauses) != 1200*ms {
		t.Errorf("paused for %v, in %v", g.Paused, g.Pauses)
	}
}

// TestLostRank: if a rank is lost, the record is partial, and has the figures of the other ranks.
func TestLostRank(t *testing.T) {
	p := plan("served", "mutex")
	p.Clients, p.Wait, p.Poll, p.Hold, p.Warmup, p.Duration, p.Processes = 4, "poll", ms, ms, 0, time.Second, 2
	synctest.Test(t, func(t *testing.T) {
		f := &inProcess{start: time.Now(), stopped: func() {}, lost: "rank 1 was lost"}
		f.ready.Add(1)
		r, err := (&Run{Plan: p, Share: spec.ShareOf(&p, 0), Service: open(t, p), Prefix: "test:", Fleet: f}).Do(t.Context())
		if err != nil || r.Partial != "rank 1 was lost" || len(r.Ranks) != 1 {
			t.Fatalf("%v, %+v", err, r)
		}
		near(t, "Little's sum of those that are left", r.Bound.Little, 1, 0.01)
	})
}

// TestNullsInAPart: what is null in a part is as if it were not there.
func TestNullsInAPart(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.Hold, p.Duration, p.Processes, p.Wait, p.Poll = 4, ms, time.Second, 2, "poll", ms
	synctest.Test(t, func(t *testing.T) {
		svc := open(t, p)
		r := fleetOf(t, p, func(int) drivers.Service { return svc }, func(p *Part) {
			p.Figures.Seen.Power, p.Figures.Totals.Counts.Errors, p.Figures.Stuck = nil, nil, nil
		})
		if r.Partial != "" || r.Counts.StuckKeys != 0 || r.Counts.Failed() != 0 {
			t.Errorf("%q, %+v", r.Partial, r.Counts)
		}
	})
}

// TestBadPart: a part that makes no sense makes the record a partial one, and no panic.
func TestBadPart(t *testing.T) {
	for name, change := range map[string]func(*Part){
		"no classes":   func(p *Part) { p.Figures.Classes = nil },
		"no histogram": func(p *Part) { p.Latency[0][results.Acquire] = results.Latency{Count: 5, HDR: "nonsense"} },
		"no series":    func(p *Part) { p.Series = []valued[results.Interval]{{Values: results.Latency{Count: 1, HDR: "x"}}} },
	} {
		t.Run(name, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Hold, p.Duration, p.Processes, p.Wait, p.Poll = 4, ms, time.Second, 2, "poll", ms
			synctest.Test(t, func(t *testing.T) {
				svc := open(t, p)
				r := fleetOf(t, p, func(int) drivers.Service { return svc }, change)
				if want := "the figures of rank 1 make no sense"; len(r.Partial) < len(want) || r.Partial[:len(want)] != want {
					t.Errorf("%q", r.Partial)
				}
			})
		})
	}
}
