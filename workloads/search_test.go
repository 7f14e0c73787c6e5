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

// TestSearch plans for a lock whose rate is known: each of its keys is an M/M/1 or an M/D/1 queue, or has a closed loop, as hand-offs within this
// process take no time of the made-up clock.
func TestSearch(t *testing.T) {
	type known struct {
		hold string
		keys int
		slo  string
		want float64 // arrivals a second, or clients
	}
	mm1 := known{"exp:1ms", 1, "response.p99<20ms", 782}
	md1 := known{"1160us", 10, "response.p99<10ms", 6593}
	// Of 40 clients each finds 39 before it, whose holds take 50 ms at the most in 95 % of the cases (Erlang's distribution).
	clients := known{"exp:1ms", 1, "acquire.p95<50ms", 40}
	searches := []known{mm1, md1, clients, mm1, md1, mm1, clients}
	if testing.Short() {
		searches = searches[:1]
	}
	for i, k := range searches {
		t.Run(fmt.Sprintf("%d %s", i, k.hold), func(t *testing.T) {
			t.Parallel()
			p := plan("memory", "mutex")
			p.Clients, p.Wait, p.Handover, p.Keys, p.Timeout = 0, "queue", "release", k.keys, 0
			p.HoldDist = spec.Must(spec.ParseTimes(k.hold))
			p.Hold, _ = p.HoldDist.Moments()
			q := &capacity.Question{SLO: spec.Must(capacity.ParseSLO(k.slo)), Seed: uint64(i + 1), Budget: time.Hour}
			c := capacity.Candidate{Name: "memory mutex", Plan: p}
			for range k.keys {
				c.Shares = append(c.Shares, 1/float64(k.keys))
			}
			if q.Candidates = []capacity.Candidate{c}; q.SLO.Closed {
				q.Axis, q.Most = capacity.Clients, 400
			}
			if err := q.Check(); err != nil {
				t.Fatal(err)
			}
			s := capacity.NewSearch(q)
			for {
				trial, more := s.Next()
				if !more {
					break
				}
				var r *results.Record
				bubble(t, trial.Plan, nil, func(t *testing.T, got *results.Record) { r = got })
				r.Generator = results.Generator{} // whose processor time has nothing to do with a made-up clock
				s.Add(r)
			}
			a := s.Answer(results.Env{})
			got := a.Candidates[0]
			t.Logf("%d trials: %+v", len(got.Points), got.Sustains)
			if a.Verdict != capacity.Sustains || math.Abs(got.Sustains.Mid/k.want-1) > 0.05 || got.Sustains.Low > k.want || got.Sustains.High < k.want {
				t.Errorf("%s: %+v, want %v: %+v", a.Verdict, got.Sustains, k.want, got.Why)
			}
		})
	}
}
