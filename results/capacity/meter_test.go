package capacity

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// meter is a simulated lock: a first-come-first-served queue for each key, whose records it makes without a clock.
type meter struct {
	hold        time.Duration // fixed, unless exponential
	exponential bool
	handoff     time.Duration
	through     time.Duration // the server, which serves one request after another; fixed
	noise       float64       // standard deviation of ln(hold and hand-off) between trials

	// Queues of other families than that of the fit.
	two          float64       // share of the locks whose service takes 5 times as long
	barge        float64       // see unfair
	stall, every time.Duration // nothing moves for so long, every so often
	batch        time.Duration // grants wait for the next multiple of it

	saturated  float64       // level from which lockbench is the limit, with so many cores in use; 0: never
	cores      float64       // of lockbench and of others
	kind       string        // of the server; empty: private
	slower     float64       // times as long as its locks then take; 0: once
	slowFrom   float64       // level from which they do without that; 0: never
	others     float64       // cores that other programs use
	delayed    bool          // for that reason alone
	lag        time.Duration // of 1 % of the arrivals, at these levels
	violated   int           // trial whose record has a violation, from 1; 0: none
	failing    float64       // share of the arrivals that end in an error above errorsFrom
	errorsFrom float64
	serverCPU  time.Duration // of one lock
	lost       float64       // share of the arrivals that never hear of their grant, and hold nothing
	refused    float64       // share of the arrivals that find their key taken, and go
	partial    int           // trial that is interrupted, from 1
}

// arrival is a request of the simulation: when, and by which client of a closed loop.
type arrival struct {
	at     float64
	client int
}

type arrivals []arrival

func (a arrivals) Len() int           { return len(a) }
func (a arrivals) Less(i, j int) bool { return a[i].at < a[j].at }
func (a arrivals) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *arrivals) Push(v any)        { *a = append(*a, v.(arrival)) }
func (a *arrivals) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// run returns the record of a trial.
func (m meter) run(t Trial, shares []float64) *results.Record {
	rng := rand.New(rand.NewPCG(t.Plan.Seed, 0))
	r := &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("%d-%d", t.Candidate, t.Number), Started: time.Unix(1, 0).UTC(), Trial: t.Number + 1, Plan: t.Plan,
		Traits: results.Traits{Exclusive: true, Owned: true}, Server: results.Server{Kind: cmp.Or(m.kind, "private"), Name: "redis"},
		Env: results.Env{CPUs: 2, GOMAXPROCS: 2}, Elapsed: t.Plan.Duration, Latency: map[results.Metric]results.Latency{},
		Cost: results.UnknownCost(), Generator: results.Generator{CPU: 0.5, Machine: 0.25 + m.others/2},
	}
	if m.barge > 0 {
		m.unfair(r, t.Plan, rng)
		return r
	}
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	slow := math.Exp(m.noise * rng.NormFloat64())
	if from := cmp.Or(m.saturated, m.slowFrom); from > 0 && t.Level >= from {
		slow *= max(1, m.slower)
	}
	closed, figure := !t.Plan.Open() && len(t.Plan.Classes) == 0, results.ResponseIndex
	warmup, end := t.Plan.Warmup.Seconds(), (t.Plan.Warmup + t.Plan.Duration).Seconds()
	queue := &arrivals{}
	switch every := t.Plan.Burst.Seconds(); {
	case closed:
		figure = results.AcquireIndex
		for i := range t.Plan.Clients {
			*queue = append(*queue, arrival{0, i})
		}
	case every > 0:
		for at := math.Mod(warmup, every); at < end-1e-9; at += every {
			for range t.Plan.Clients {
				*queue = append(*queue, arrival{at, 0})
			}
		}
	default:
		for at := rng.ExpFloat64() / t.Level; at < end; at += rng.ExpFloat64() / t.Level {
			*queue = append(*queue, arrival{at, 0})
		}
	}
	heap.Init(queue)
	free, server := make([]float64, len(shares)), 0.0 // when a key is free, and the server
	patience := cmp.Or(t.Plan.Timeout.Seconds(), math.Inf(1))
	for len(*queue) > 0 && (*queue)[0].at < end {
		a := heap.Pop(queue).(arrival)
		k := pick(shares, rng.Float64())
		service := (m.hold + m.handoff).Seconds()
		if m.exponential {
			service *= rng.ExpFloat64()
		}
		if rng.Float64() < m.two {
			service *= 5
		}
		server = max(a.at, server) + m.through.Seconds()
		grant := m.awake(max(server, free[k]))
		over := grant + slow*service
		counted, lost := grant >= warmup && grant < end, rng.Float64() < m.lost
		switch {
		case grant-a.at > patience:
			if grant = a.at + patience; grant >= warmup && grant < end {
				r.Counts.TimedOut++
				shard.Record(results.RefusalIndex, nanoseconds(patience))
			}
			over = grant
		case lost || grant >= end:
			r.Counts.Unfinished++
		case m.refused > 0 && rng.Float64() < m.refused: // the server has answered, and nobody holds the key
			if over = grant; counted {
				r.Counts.Contended++
				shard.Record(results.RefusalIndex, nanoseconds(grant-a.at))
			}
		case t.Level >= m.errorsFrom && rng.Float64() < m.failing:
			if free[k] = over; counted {
				r.Counts.Unknown++
			}
		default:
			if free[k] = over; counted {
				r.Counts.Acquired++
				shard.Record(figure, nanoseconds(grant-a.at))
			}
		}
		if closed && !lost {
			heap.Push(queue, arrival{over + t.Plan.Think.Seconds(), a.client})
		}
	}
	rec.Return(shard)
	for _, i := range []results.MetricIndex{figure, results.RefusalIndex} {
		r.Latency[results.Metrics[i]] = rec.Latency(i)
	}
	r.Latency[results.Hold] = results.Latency{Count: r.Counts.Acquired, Mean: m.hold, P50: m.hold}
	r.Latency[results.Handoff] = results.Latency{Count: r.Counts.Acquired, Mean: nanoseconds(slow * m.handoff.Seconds())}
	if m.serverCPU > 0 {
		r.Cost.ServerCPUUs = float64(m.serverCPU.Microseconds())
	}
	if m.saturated > 0 && t.Level >= m.saturated {
		r.Generator = results.Generator{CPU: m.cores - m.others, Machine: m.cores / 2, Saturated: true, Why: "the machine was 100 % busy", Delayed: m.delayed}
		r.Latency[results.Lag] = results.Latency{Count: r.Counts.Acquired, P99: m.lag}
	}
	if m.violated == t.Number+1 {
		r.Safety = results.Safety{Checked: true, Violations: 1}
	}
	if m.partial == t.Number+1 {
		r.Partial = "the server was gone"
	}
	return r
}

// unfair returns the record of a closed loop on one key whose holder takes it again with a probability of barge. Else one
// of those that wait gets it, whichever; they give up after their timeout, and ask again.
func (m meter) unfair(r *results.Record, p spec.Plan, rng *rand.Rand) {
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	since := make([]float64, p.Clients)
	warmup, end := p.Warmup.Seconds(), (p.Warmup + p.Duration).Seconds()
	patience := cmp.Or(p.Timeout.Seconds(), math.Inf(1))
	for at, holder := 0.0, 0; at < end; at += (m.hold + m.handoff).Seconds() {
		if rng.Float64() >= m.barge {
			holder = rng.IntN(p.Clients)
		}
		for i := range since {
			for ; since[i]+patience < at; since[i] += patience {
				if since[i]+patience > warmup {
					r.Counts.TimedOut++
					shard.Record(results.RefusalIndex, p.Timeout)
				}
			}
		}
		if at >= warmup {
			r.Counts.Acquired++
			shard.Record(results.AcquireIndex, nanoseconds(at-since[holder]))
		}
		since[holder] = at + m.hold.Seconds()
	}
	rec.Return(shard)
	r.Latency[results.Acquire], r.Latency[results.Refusal] = rec.Latency(results.AcquireIndex), rec.Latency(results.RefusalIndex)
	r.Latency[results.Hold] = results.Latency{Count: r.Counts.Acquired, Mean: m.hold, P50: m.hold}
	r.Latency[results.Handoff] = results.Latency{Count: r.Counts.Acquired, Mean: m.handoff}
}

// awake returns the first moment at which the server is not stalled, and grants.
func (m meter) awake(at float64) float64 {
	if batch := m.batch.Seconds(); batch > 0 {
		at = math.Ceil(at/batch) * batch
	}
	if every, stall := m.every.Seconds(), m.stall.Seconds(); every > 0 && math.Mod(at, every) < stall {
		return at - math.Mod(at, every) + stall
	}
	return at
}

func pick(shares []float64, u float64) int {
	for i, s := range shares {
		if u -= s; u < 0 {
			return i
		}
	}
	return len(shares) - 1
}

// asked returns a question about locks with a hold of 1 ms on one key.
func asked(slo string, level float64, candidates int) *Question {
	q := &Question{SLO: spec.Must(ParseSLO(slo)), Asked: level, Seed: 7, Shares: []float64{1}}
	if q.SLO.Closed {
		q.Axis, q.Most = Clients, 400
	}
	for i := range candidates {
		q.Candidates = append(q.Candidates, Candidate{
			Name: fmt.Sprintf("lock %d", i+1), Traits: results.Traits{Exclusive: true},
			Plan: spec.Plan{Driver: "fake", Lock: fmt.Sprintf("lock-%d", i+1), Keys: 1, Load: spec.Load{Hold: time.Millisecond}},
		})
	}
	return q
}

// run goes through a plan with a meter for each candidate.
func run(t *testing.T, q *Question, meters ...meter) (*Answer, [][]*results.Record) {
	t.Helper()
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	trials := make([][]*results.Record, len(q.Candidates))
	s := NewSearch(q)
	for n := 0; ; n++ {
		trial, more := s.Next()
		if !more {
			return s.Answer(results.Env{CPUs: 2}), trials
		}
		if n > 1000 {
			t.Fatal("the search does not end")
		}
		c := trial.Candidate
		r := meters[c].run(trial, q.Shares)
		s.Add(r)
		trials[c] = append(trials[c], r)
	}
}

func rate(text string) spec.Rate { return spec.Must(spec.ParseRate(text)) }
