package workloads

// The search for a sustainable rate, over whole trials.

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/spec"
)

// TestSearch plans for a lock whose rate is known: each of its keys is an M/M/1 or an M/D/1 queue, or has a closed loop, as
// hand-offs within this process take no time of the made-up clock. Runs of 40 s keep the objective at the lower end of the
// answer, and break it at 1.15 times the upper end.
func TestSearch(t *testing.T) {
	type known struct {
		name, hold string
		keys       int
		slo        string
		want       float64 // arrivals a second, or clients; 0: not known
		change     func(p *spec.Plan)
	}
	mm1 := known{"M/M/1", "exp:1ms", 1, "response.p99<20ms", 782, nil}
	md1 := known{"M/D/1", "1160us", 10, "response.p99<10ms", 6593, nil}
	// Of 40 clients each finds 39 before it, whose holds take 50 ms at the most in 95 % of the cases (Erlang's distribution).
	clients := known{"clients", "exp:1ms", 1, "acquire.p95<50ms", 40, nil}
	searches := []known{
		mm1, md1, clients, mm1, md1, mm1, clients,
		{"constant", "exp:1ms", 1, "response.p99<20ms", 0, func(p *spec.Plan) { p.Arrival = spec.Constant }},
		{"bursts", "1ms", 2, "response.p99<50ms", 0, func(p *spec.Plan) { p.Burst = 500 * time.Millisecond }},
		{"refusals", "exp:1ms", 1, "response.p99<20ms", 0, func(p *spec.Plan) { p.TryOnly = 0.5 }},
		{"clients that give up", "8500us", 1, "acquire.p95<500ms,errors<1%", 0, func(p *spec.Plan) { p.Timeout = 3 * time.Second }},
	}
	if testing.Short() {
		searches = searches[:1]
	}
	for i, k := range searches {
		t.Run(fmt.Sprintf("%d %s", i, k.name), func(t *testing.T) {
			t.Parallel()
			p := plan("memory", "mutex")
			p.Clients, p.Wait, p.Handover, p.Keys, p.Timeout = 0, "queue", "release", k.keys, 0
			p.HoldDist = spec.Must(spec.ParseTimes(k.hold))
			p.Hold, _ = p.HoldDist.Moments()
			if k.change != nil {
				k.change(&p)
			}
			q := &capacity.Question{SLO: spec.Must(capacity.ParseSLO(k.slo)), Seed: uint64(i + 1), Budget: time.Hour}
			c := capacity.Candidate{Name: "memory mutex", Plan: p}
			for range k.keys {
				q.Shares = append(q.Shares, 1/float64(k.keys))
			}
			if q.Candidates = []capacity.Candidate{c}; q.SLO.Closed {
				q.Axis, q.Most = capacity.Clients, 400
			}
			if err := q.Check(); err != nil {
				t.Fatal(err)
			}
			measure := func(p spec.Plan) (r *results.Record) {
				bubble(t, p, nil, func(t *testing.T, got *results.Record) { r = got })
				r.Generator = results.Generator{} // whose processor time has nothing to do with a made-up clock
				return r
			}
			s := capacity.NewSearch(q)
			for trial, more := s.Next(); more; trial, more = s.Next() {
				s.Add(measure(trial.Plan))
			}
			a := s.Answer(results.Env{})
			got := a.Candidates[0]
			t.Logf("%d trials: %+v", len(got.Points), got.Sustains)
			if a.Verdict != capacity.Sustains || k.want > 0 && (math.Abs(got.Sustains.Mid/k.want-1) > 0.05 || got.Sustains.Low > k.want || got.Sustains.High < k.want) {
				t.Errorf("%s: %+v, want %v: %+v", a.Verdict, got.Sustains, k.want, got.Why)
			}
			for level, want := range map[float64]bool{got.Sustains.Low: true, 1.15 * got.Sustains.High: false} {
				p := got.Plan
				p.Warmup, p.Duration = 5*time.Second, 40*time.Second
				switch {
				case q.SLO.Closed:
					p.Clients = int(math.Ceil(level))
				case p.Burst > 0:
					p.Clients = int(math.Ceil(level * p.Burst.Seconds()))
				default:
					p.Clients, p.Rate = 2000, spec.Must(spec.ParseRate(fmt.Sprintf("%.3f", level)))
				}
				r := measure(p)
				if kept := keeps(q.SLO, r); kept != want {
					t.Errorf("at %.4g of %+v the objective is kept: %t", level, got.Sustains, kept)
				}
			}
		})
	}
}

// keeps reports whether a run kept an objective, by its quantiles alone.
func keeps(slo capacity.SLO, r *results.Record) bool {
	figure := results.Response
	if slo.Closed {
		figure = results.Acquire
	}
	failed := float64(r.Counts.TimedOut) / float64(r.Counts.TimedOut+r.Counts.Acquired)
	h, err := r.Latency[figure].Histogram()
	o := slo.Strictest()
	return err == nil && results.Quantile(h, o.Quantile) < o.Limit && (!slo.HasErrors || failed < slo.Errors)
}
