package capacity

import (
	"cmp"
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
	holders     float64       // that a key has at once, though its locks claim to exclude; 0: one
	through     time.Duration // the server, which serves one request after another; fixed
	noise       float64       // standard deviation of ln(hold and hand-off) between trials

	stall, every time.Duration // nothing moves for so long, every so often
	saturated    float64       // rate from which lockbench is the limit, with so many cores in use; 0: never
	cores        float64
	kind         string        // of the server; empty: private
	addr         string        // of the server
	slower       float64       // times as long as its locks then take; 0: once
	slowFrom     float64       // rate from which they do without that; 0: never
	others       float64       // cores that other programs use
	delayed      bool          // for that reason alone
	lag          time.Duration // of 1 % of the arrivals, at these rates
	violated     int           // trial whose record has a violation, from 1; 0: none
	needs        int           // clients that it takes to keep up; 0: any number
	failing      float64       // share of the arrivals that end in an error above errorsFrom
	errorsFrom   float64
	serverCPU    time.Duration // of one lock
	clientCPU    time.Duration // likewise
	lost         float64       // share of the arrivals that never hear of their grant, and hold nothing
	refused      float64       // share of the arrivals that find their key taken, and go
	partial      int           // trial that is interrupted, from 1
}

// run returns the record of a trial.
func (m meter) run(t Trial, shares []float64) *results.Record {
	rng := rand.New(rand.NewPCG(t.Plan.Seed, 0))
	r := &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("%d-%d", t.Candidate, t.Number), Started: time.Unix(1, 0).UTC(), Trial: t.Number + 1, Plan: t.Plan,
		Traits: results.Traits{Exclusive: true, Owned: true}, Server: results.Server{Kind: cmp.Or(m.kind, "private"), Name: "redis", Addr: m.addr},
		Env: results.Env{CPUs: 2, GOMAXPROCS: 2}, Elapsed: t.Plan.Duration, Latency: map[results.Metric]results.Latency{},
		Cost: results.UnknownCost(), Generator: results.Generator{CPU: 0.5, Machine: 0.25 + m.others/2},
	}
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	slow := math.Exp(m.noise * rng.NormFloat64())
	if from := cmp.Or(m.saturated, m.slowFrom); from > 0 && t.Rate >= from {
		slow *= max(1, m.slower)
	}
	free, server := make([]float64, len(shares)), 0.0 // when a key is free, and the server
	end := (t.Plan.Warmup + t.Plan.Duration).Seconds()
	for at, n := 0.0, 0; ; n++ {
		if burst := t.Plan.Burst.Seconds(); burst > 0 {
			at = float64(n/t.Plan.Clients) * burst
		} else {
			at += rng.ExpFloat64() / t.Rate
		}
		if at > end {
			break
		}
		k := pick(shares, rng.Float64())
		service := (m.hold + m.handoff).Seconds() / max(1, m.holders)
		if m.exponential {
			service *= rng.ExpFloat64()
		}
		server = max(at, server) + m.through.Seconds()
		grant := m.awake(max(server, free[k]))
		free[k] = grant + slow*service
		switch {
		case m.lost > 0 && rng.Float64() < m.lost:
			r.Counts.Unfinished++
		case grant < t.Plan.Warmup.Seconds():
		case grant > end:
			r.Counts.Unfinished++
		case m.refused > 0 && rng.Float64() < m.refused:
			r.Counts.Contended++
			shard.Record(results.ResponseIndex, nanoseconds(grant-at))
		case t.Rate >= m.errorsFrom && rng.Float64() < m.failing:
			r.Counts.Unknown++
		default:
			r.Counts.Acquired++
			shard.Record(results.ResponseIndex, nanoseconds(grant-at))
		}
	}
	rec.Return(shard)
	r.Latency[results.Response] = rec.Latency(results.ResponseIndex)
	r.Latency[results.Hold] = results.Latency{Count: r.Counts.Acquired, Mean: m.hold, P50: m.hold}
	r.Latency[results.Handoff] = results.Latency{Count: r.Counts.Acquired, Mean: nanoseconds(slow * m.handoff.Seconds())}
	if m.serverCPU > 0 {
		r.Cost.ServerCPUUs = float64(m.serverCPU.Microseconds())
	}
	if m.clientCPU > 0 {
		r.Cost.ClientCPUUs = float64(m.clientCPU.Microseconds())
	}
	m.spoil(t, r)
	return r
}

// awake returns the first moment at which the server is not stalled.
func (m meter) awake(at float64) float64 {
	if m.every == 0 {
		return at
	}
	if in := math.Mod(at, m.every.Seconds()); in < m.stall.Seconds() {
		return at - in + m.stall.Seconds()
	}
	return at
}

// spoil plants what keeps a record from being a good one.
func (m meter) spoil(t Trial, r *results.Record) {
	if m.saturated > 0 && t.Rate >= m.saturated {
		r.Generator = results.Generator{CPU: m.cores - m.others, Machine: 1, Saturated: true, Why: "the machine was 100 % busy", Delayed: m.delayed}
		r.Latency[results.Lag] = results.Latency{Count: r.Counts.Acquired, P99: m.lag}
	}
	if m.violated == t.Number+1 {
		r.Safety = results.Safety{Checked: true, Violations: 1}
	}
	if m.needs > t.Plan.Clients {
		r.Latency[results.Backlog] = results.Latency{Count: r.Counts.Acquired/10 + 1}
		r.Latency[results.Lag] = results.Latency{Count: r.Counts.Acquired}
	}
	if m.partial == t.Number+1 {
		r.Partial = "the server was gone"
	}
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
func asked(slo string, rate float64, candidates int) *Question {
	q := &Question{SLO: spec.Must(ParseSLO(slo)), Rate: rate, Seed: 7}
	for i := range candidates {
		q.Candidates = append(q.Candidates, Candidate{
			Name: fmt.Sprintf("lock %d", i+1), Shares: []float64{1},
			Plan: spec.Plan{Driver: "fake", Lock: fmt.Sprintf("lock-%d", i+1), Keys: 1, Load: spec.Load{Hold: time.Millisecond}},
		})
	}
	return q
}

// run goes through a plan with a meter for each candidate.
func run(t *testing.T, q *Question, meters ...meter) (*Answer, [][]*results.Record) {
	t.Helper()
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
		r := meters[c].run(trial, q.Candidates[c].Shares)
		s.Add(r)
		trials[c] = append(trials[c], r)
	}
}

func rate(text string) spec.Rate { return spec.Must(spec.ParseRate(text)) }
