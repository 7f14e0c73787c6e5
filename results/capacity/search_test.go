package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity/queue"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// mm1 is a lock of which the truth is known: with p99 < 20 ms it sustains truth arrivals a second (queue.Rate).
var mm1 = meter{hold: 900 * time.Microsecond, handoff: 100 * time.Microsecond, exponential: true}

const (
	p99Under20ms = "response.p99<20ms"
	truth        = 782
)

func TestOneCandidate(t *testing.T) {
	q := asked(p99Under20ms, 500, 1)
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	a, trials := run(t, q, mm1)
	c := a.Candidates[0]
	if a.Verdict != Sustains || c.Verdict != Sustains || c.Sustains.Low > truth || c.Sustains.High < truth || c.Headroom < 1.1 {
		t.Errorf("%s, %s: %+v, head-room %v; want an interval around %d", a.Verdict, c.Verdict, c.Sustains, c.Headroom, truth)
	}
	if a.Spent > a.Budget {
		t.Errorf("spent %v of %v", a.Spent, a.Budget)
	}
	var last Point
	stages := map[Stage]int{}
	for _, p := range c.Points {
		stages[p.Stage]++
		last = p
	}
	if stages[StagePilot] != 2 || stages[StageConfirm] != confirmTrials || last.Stage != StageConfirm || last.Rate < c.Sustains.Low {
		t.Errorf("stages %v, and the last trial is %+v", stages, last)
	}
	if _, more := replay(q, trials).Next(); more {
		t.Error("a plan that is over goes on")
	}
}

// TestRuledOut asks for a little less than the hottest key can carry, for which its queue is too long.
func TestRuledOut(t *testing.T) {
	a, _ := run(t, asked(p99Under20ms, 880, 1), mm1)
	if c := a.Candidates[0]; a.Verdict != RulesOut || c.Sustains.High >= 880 || c.Sustains.High < truth || c.Why == "" {
		t.Errorf("%s: %+v, %q", a.Verdict, c.Sustains, c.Why)
	}
}

// TestClaims asks for what the lock sustains or a little more: no plan may say that it is sustained.
func TestClaims(t *testing.T) {
	plans := 20
	if testing.Short() {
		plans = 3
	}
	for seed := range uint64(plans) {
		for _, rate := range []float64{truth, 1.05 * truth} {
			q := asked(p99Under20ms, rate, 1)
			q.Seed = seed
			if a, _ := run(t, q, mm1); a.Verdict == Sustains {
				t.Errorf("seed %d: %v/s: %s", seed, rate, a.Advice)
			}
		}
	}
}

// TestImpossible asks for what no lock can do: nothing is measured, unless that is forced.
func TestImpossible(t *testing.T) {
	q := asked(p99Under20ms, 1200, 1)
	a, trials := run(t, q, mm1)
	if a.Verdict != RulesOut || len(trials[0]) > 0 || a.Spent != 0 || !strings.Contains(a.Advice, "hold of") {
		t.Errorf("%s after %d trials: %s", a.Verdict, len(trials[0]), a.Advice)
	}
	q.Force = true
	if a, trials = run(t, q, mm1); a.Verdict != RulesOut || len(trials[0]) == 0 || !a.Forced {
		t.Errorf("forced: %s after %d trials", a.Verdict, len(trials[0]))
	}
}

// TestAskedFirst: each candidate is asked the question first, and four trials at that rate or more are behind a yes.
func TestAskedFirst(t *testing.T) {
	q := asked(p99Under20ms, 300, 3)
	a, trials := run(t, q, mm1, mm1, mm1)
	for i, c := range a.Candidates {
		if first := Offered(&trials[i][0].Plan); first != q.Rate {
			t.Errorf("candidate %d is tried at %v/s first", i, first)
		}
		at := 0
		for _, p := range c.Points {
			if p.Rate == q.Rate {
				at++
			}
		}
		if c.Verdict != Sustains || at < confirmTrials || i > 0 && len(trials[i]) > 12 || len(c.Response) != 1 || c.Response[0] > 20*time.Millisecond {
			t.Errorf("%s: %s after %d trials at %v/s, response %v: %s", c.Name, c.Verdict, at, q.Rate, c.Response, c.Why)
		}
	}
	want := fmt.Sprintf("%s carries 300/s with response p99 %s (20 ms allowed), up to ", a.Candidates[0].Name, format.Duration(a.Candidates[0].Response[0]))
	if !strings.HasPrefix(a.Advice, want) {
		t.Errorf("%q, want %q …", a.Advice, want)
	}
}

// TestDesigns asks for 3,000/s of three designs, of which two carry it, on machines that carry any rate, 5,000/s and 2,800/s.
func TestDesigns(t *testing.T) {
	for _, c := range []struct {
		saturated float64
		want      []Verdict
		advice    string
	}{
		{0, []Verdict{Sustains, Sustains, RulesOut}, "lock 1 carries 3,000/s with response p99 "},
		{5000, []Verdict{Sustains, Sustains, RulesOut}, "lock 1 carries 3,000/s with response p99 "},
		{2800, []Verdict{Undecided, Undecided, RulesOut}, "no answer to whether 3,000/s are carried under response.p99<20ms: " +
			"this machine is too small for the question: with its 2 cores it carried 1,500/s; of 3 designs lock 1 came closest, with response p99 "},
	} {
		q := asked(p99Under20ms, 3000, 3)
		var meters []meter
		for i, handoff := range []time.Duration{100, 400, 4000} {
			q.Candidates[i].Plan.Keys, q.Candidates[i].Shares = 10, slices.Repeat([]float64{0.1}, 10)
			meters = append(meters, meter{
				hold: time.Millisecond, handoff: handoff * time.Microsecond, noise: 0.03, serverCPU: 20 * time.Microsecond,
				saturated: c.saturated, cores: 2, slower: 3,
			})
		}
		a, _ := run(t, q, meters...)
		var got []Verdict
		for _, one := range a.Candidates {
			got = append(got, one.Verdict)
			if one.Verdict == Sustains && (one.Sustains.Low < q.Rate || one.AtLeast != (c.saturated > 0) || one.AtLeast && one.Sustains.Low > c.saturated) {
				t.Errorf("on a machine for %v/s: %s %+v", c.saturated, one.Name, one.Sustains)
			}
		}
		if !slices.Equal(got, c.want) || !strings.HasPrefix(a.Advice, c.advice) {
			t.Errorf("on a machine for %v/s: %v, %q, want %v, %q", c.saturated, got, a.Advice, c.want, c.advice)
		}
	}
}

// TestNobodyCarries: the sentence names how many designs there are, and the best of them.
func TestNobodyCarries(t *testing.T) {
	slow := mm1
	slow.handoff = 3 * time.Millisecond
	a, _ := run(t, asked(p99Under20ms, 880, 2), slow, mm1)
	if want := "none of 2 designs carries 880/s under response.p99<20ms: of the best, lock 2, it sustains "; a.Verdict != RulesOut || !strings.HasPrefix(a.Advice, want) {
		t.Errorf("%s: %q, want %q …", a.Verdict, a.Advice, want)
	}
}

// TestSaturatedNeverRecommended has lockbench as the limit, from rates below and above what is asked for, and a lock that is too
// slow then. The machine is too small, and it is said what it carried.
func TestSaturatedNeverRecommended(t *testing.T) {
	for _, from := range []float64{0.001, 300, 490} {
		m := mm1
		m.saturated, m.cores, m.slower = from, 2, 10
		m.serverCPU = time.Microsecond
		a, _ := run(t, asked(p99Under20ms, 500, 1), m)
		c := a.Candidates[0]
		if a.Verdict != Undecided || c.Sustains.Low > from || c.Sustains.High != 0 || !c.AtLeast {
			t.Errorf("saturated from %v/s: %s, %+v, at least %v: %s", from, a.Verdict, c.Sustains, c.AtLeast, c.Why)
		}
		carried := format.Three(c.Sustains.Low) + "/s"
		if c.Sustains.Low == 0 {
			carried = "no rate"
		}
		if !strings.HasPrefix(c.Why, "this machine is too small for the question: with its 2 cores it carried "+carried) ||
			!strings.HasSuffix(c.Remedy, " cores, or a server on a machine of its own") || !strings.Contains(a.Advice, c.Why+"; lock 1 had response p99 ") {
			t.Errorf("saturated from %v/s: %q, %q, %q", from, c.Why, c.Remedy, a.Advice)
		}
	}
	m := mm1
	m.saturated, m.cores = 600, 2
	a, _ := run(t, asked(p99Under20ms, 400, 1), m)
	if c := a.Candidates[0]; a.Verdict != Sustains || !c.AtLeast || c.Sustains.Low < 400 || c.Sustains.Low >= 600 || c.Sustains.High != 0 {
		t.Errorf("saturated from 600/s: %s, %+v, at least %v: %s", a.Verdict, c.Sustains, c.AtLeast, c.Why)
	}
}

// TestSaturatedCarries has lockbench as the limit at all rates, and a lock that keeps the objective all the same: it carries the rate
// at the least, but for one near what it can do.
func TestSaturatedCarries(t *testing.T) {
	m := mm1
	m.saturated, m.cores = 0.001, 2
	a, trials := run(t, asked(p99Under20ms, 400, 1), m)
	if c := a.Candidates[0]; a.Verdict != Sustains || !c.AtLeast || c.Sustains != (Range{Low: 400}) || c.Headroom != 1 || len(trials[0]) != confirmTrials {
		t.Errorf("%s after %d trials, %+v, at least %v: %s", a.Verdict, len(trials[0]), c.Sustains, c.AtLeast, c.Why)
	}
	claims := 0
	for seed := range uint64(20) {
		for _, rate := range []float64{truth, 1.05 * truth} {
			q := asked(p99Under20ms, rate, 1)
			q.Seed = seed
			if a, _ := run(t, q, m); a.Verdict == Sustains {
				claims++
			}
		}
	}
	if claims > 0 {
		t.Errorf("%d of 40 plans claim a rate that is not sustained, or just so", claims)
	}
}

// TestMadeStays has lockbench as the limit in two trials of three. What the lock has carried at a rate in the others stays true, and no
// trial is at a lower one.
func TestMadeStays(t *testing.T) {
	q := asked(p99Under20ms, 500, 1)
	s := NewSearch(q)
	for n := 0; ; n++ {
		trial, more := s.Next()
		if !more {
			break
		}
		m := mm1
		if n%3 > 0 {
			m.saturated, m.cores, m.slower, m.serverCPU = 0.001, 2, 10, time.Microsecond
		}
		if trial.Rate < q.Rate {
			t.Errorf("trial %d is at %v/s", n, trial.Rate)
		}
		s.Add(m.run(trial, q.Candidates[0].Shares))
	}
	a := s.Answer(results.Env{CPUs: 2})
	if claim := s.tracks[0].claim(); claim < q.Rate {
		t.Errorf("%s: %v", a.Advice, claim)
	}
	if c := a.Candidates[0]; c.Verdict != Undecided || !c.AtLeast || c.Sustains.Low != 0 || c.Headroom != 0 {
		t.Errorf("the verdict is %s, with a rate of %+v and a head-room of %v; want undecided, and neither", c.Verdict, c.Sustains, c.Headroom)
	}
}

// TestDisturbed has a neighbour that keeps the machine busy: it is named, and nothing is decided where the lock is too slow beside
// it. The rate is not lowered for that.
func TestDisturbed(t *testing.T) {
	m := mm1
	m.saturated, m.cores, m.others, m.slower, m.serverCPU = 0.001, 2, 1.8, 3, time.Microsecond
	a, trials := run(t, asked(p99Under20ms, 500, 1), m)
	first := Offered(&trials[0][0].Plan)
	if slices.ContainsFunc(trials[0], func(r *results.Record) bool { return Offered(&r.Plan) != first }) || len(trials[0]) != maxDisturbed {
		t.Errorf("%d trials, not all at %v/s", len(trials[0]), first)
	}
	const others = "other programs used 1.80 of this machine's 2 cores"
	if c := a.Candidates[0]; a.Verdict != Undecided || !c.AtLeast || c.Why != others || c.Remedy != quieter || c.Sustains.Low != 0 {
		t.Errorf("%s: %+v", a.Verdict, c.Why)
	}
	if !strings.HasPrefix(a.Advice, "no answer to whether 500/s are carried under response.p99<20ms: "+others+"; lock 1 had response p99 ") {
		t.Error(a.Advice)
	}
	m.slower = 0
	if a, _ = run(t, asked(p99Under20ms, 500, 1), m); a.Verdict != Sustains || !a.Candidates[0].AtLeast || a.Candidates[0].Sustains.Low != 500 {
		t.Errorf("%s: %+v", a.Verdict, a.Candidates[0])
	}
	if !slices.ContainsFunc(a.Warnings, func(text string) bool {
		return strings.HasPrefix(text, "other programs kept this machine busy in the trials of lock 1")
	}) {
		t.Errorf("warnings %q", a.Warnings)
	}
}

// TestNeighbours: what other programs used is not known beside a server of unknown use on the same machine.
func TestNeighbours(t *testing.T) {
	r := &results.Record{Env: results.Env{CPUs: 2}, Generator: results.Generator{CPU: 0.2, Machine: 1}}
	r.Server.Kind, r.Cost.ServerCPUUs = "external", -1
	r.Plan.Clients, r.Plan.Keys, r.Elapsed, r.Counts.Acquired = 1, 1, time.Second, 100
	r.Latency = map[results.Metric]results.Latency{results.Release: {Count: 100, Mean: time.Millisecond}}
	for addr, want := range map[string]float64{"postgres://127.0.0.1:5432": -1, "postgres://10.0.0.2:5432": 1.8} {
		if r.Server.Addr = addr; math.Abs(neighbours(r)-want) > 1e-9 {
			t.Errorf("%s: %v, want %v", addr, neighbours(r), want)
		}
	}
}

// TestUnquiet has a neighbour that leaves lockbench enough to measure by, and a lock that is slower for it: that it does not carry the
// rate is no answer.
func TestUnquiet(t *testing.T) {
	m := mm1
	m.others, m.serverCPU = 0.8, time.Microsecond
	a, _ := run(t, asked(p99Under20ms, 880, 1), m)
	if c := a.Candidates[0]; a.Verdict != Undecided || c.Remedy != quieter || !strings.HasPrefix(c.Why, "other programs used 0.8") {
		t.Errorf("%s: %s; %s", a.Verdict, c.Why, c.Remedy)
	}
}

// TestElsewhere has a machine that others use as much as lockbench does, and a server that needs a core of a machine: of its own, or of
// this one.
func TestElsewhere(t *testing.T) {
	m := mm1
	m.kind, m.saturated, m.cores, m.others, m.slower, m.serverCPU = "external", 0.001, 2, 1, 10, 7*time.Millisecond
	for addr, want := range map[string]string{
		"redis://10.0.0.2:6379": "other programs used 1.00 of", "redis://db.example": "other programs used 1.00 of",
		"redis://127.0.0.1:6379": "this machine is too small", "redis://localhost": "this machine is too small",
	} {
		m.addr = addr
		if a, _ := run(t, asked(p99Under20ms, 500, 1), m); !strings.HasPrefix(a.Candidates[0].Why, want) {
			t.Errorf("%s: %s, want %s …", addr, a.Candidates[0].Why, want)
		}
	}
}

// TestServerFull has a server that uses up its core, on a machine that others share or on one of its own. It is the limit, and named.
func TestServerFull(t *testing.T) {
	for _, kind := range []string{"private", "external"} {
		m := meter{hold: time.Microsecond, handoff: 999 * time.Microsecond, exponential: true, serverCPU: 999 * time.Microsecond, kind: kind}
		m.saturated, m.cores, m.others = 0.001, 1.9, 1
		q := asked(p99Under20ms, 3000, 1)
		q.Candidates[0].Plan.Hold = time.Microsecond
		a, _ := run(t, q, m)
		c := a.Candidates[0]
		if a.Verdict != RulesOut || !strings.Contains(c.Why, "/s at the most; beyond that its server used ") || !strings.HasSuffix(c.Why, " of the 1 core that it can use") {
			t.Errorf("%s: %s: %+v, %s", kind, a.Verdict, c.Sustains, c.Why)
		}
		if !strings.HasPrefix(a.Advice, "lock 1 does not carry 3,000/s under response.p99<20ms: it sustains ") {
			t.Error(a.Advice)
		}
	}
}

// TestServerLine has so many keys that none has a queue, and a server that serves one request after another, in turn: nothing is claimed
// beyond what it carries, whatever rate is asked for, and the server is named.
func TestServerLine(t *testing.T) {
	m := meter{through: 200 * time.Microsecond, handoff: 10 * time.Microsecond, noise: 0.02, kind: "external", serverCPU: 200 * time.Microsecond}
	truth := queue.Rate(queue.MD1, queue.NewKeys([]float64{1}), m.through.Seconds(), 0.02, 0.01)
	for _, rate := range []float64{0, 3000, 8000, 20000} {
		q := asked(p99Under20ms, rate, 1)
		c := &q.Candidates[0]
		q.MaxRate = 30_000
		c.Plan.Hold, c.Plan.Keys, c.Shares = 0, 1000, slices.Repeat([]float64{1e-3}, 1000)
		a, _ := run(t, q, m)
		got := a.Candidates[0]
		if want := rate < truth; (a.Verdict == Sustains) != want || got.Sustains.Low > truth || got.Sustains.Low < 0.6*truth || got.Sustains.High < truth || got.Sustains.High > 1.5*truth {
			t.Errorf("%v/s: %s, %+v, the truth is %.0f: %s", rate, a.Verdict, got.Sustains, truth, a.Advice)
		}
		if rate > truth && (a.Verdict != RulesOut || !strings.HasSuffix(got.Why, " of the 1 core that it can use")) {
			t.Errorf("%v/s: %s: %s", rate, a.Verdict, got.Why)
		}
	}
}

// TestTooRare has a hold that is longer than an arrival may wait: the rates that meet the objective are too low to be measured.
func TestTooRare(t *testing.T) {
	q := asked(p99Under20ms, 0, 1)
	q.Candidates[0].Plan.Hold = 30 * time.Millisecond
	a, trials := run(t, q, mm1)
	if c := a.Candidates[0]; a.Verdict != Undecided || len(trials[0]) > 0 || !strings.Contains(c.Why, "too few arrivals") {
		t.Errorf("%s after %d trials: %s", a.Verdict, len(trials[0]), c.Why)
	}
	_, needs, _ := strings.Cut(a.Candidates[0].Why, "a budget of ")
	var err error
	if q.Budget, err = time.ParseDuration(strings.ReplaceAll(needs, " ", "")); err != nil {
		t.Fatal(err)
	}
	if _, more := replay(q, make([][]*results.Record, 1)).Next(); !more {
		t.Errorf("a budget of %s is too short", needs)
	}
}

// TestGivenRates asks for rates of more than three digits that are the highest one as well: no trial is above them, one is at
// them, and a lock that carries far more sustains them.
func TestGivenRates(t *testing.T) {
	fast := mm1
	fast.hold, fast.handoff = 90*time.Microsecond, 10*time.Microsecond
	burst := func(p *spec.Plan) { p.Burst = 500 * time.Millisecond }
	classes := func(p *spec.Plan) {
		for _, share := range []string{"1", "2", "4"} { // sevenths
			p.Classes = append(p.Classes, spec.Class{Name: share, Load: spec.Load{Rate: rate(share), Hold: 100 * time.Microsecond, Clients: 1}})
		}
	}
	for _, c := range []struct {
		rate   float64
		change func(*spec.Plan)
		slo    string
	}{
		{1234, nil, p99Under20ms}, {1235, nil, p99Under20ms}, {1236, nil, p99Under20ms}, {567.8, nil, p99Under20ms}, {1234.5678, nil, p99Under20ms},
		{1235, classes, p99Under20ms}, {1996, burst, "response.p99<200ms"},
	} {
		q := asked(c.slo, c.rate, 1)
		q.MaxRate, q.Candidates[0].Plan.Hold = c.rate, 100*time.Microsecond
		if c.change != nil {
			c.change(&q.Candidates[0].Plan)
		}
		if err := q.Check(); err != nil {
			t.Fatal(err)
		}
		a, trials := run(t, q, fast)
		highest := 0.0
		for _, r := range trials[0] {
			highest = max(highest, Offered(&r.Plan))
		}
		if !equal(highest, c.rate) {
			t.Errorf("%v/s: the highest trial was at %v/s", c.rate, highest)
		}
		if c := a.Candidates[0]; a.Verdict != Sustains || c.Sustains.Low != q.Rate || !c.AtLeast {
			t.Errorf("%v/s: %s, %+v: %s", q.Rate, a.Verdict, c.Sustains, c.Why)
		}
	}
}

// TestWholeBursts: what is asked for is no whole number of clients, so that one more than it sustains it, but for a highest rate.
func TestWholeBursts(t *testing.T) {
	for _, most := range []float64{0, 1997, 1998.5} {
		q := asked("response.p99<200ms", 1997, 1)
		q.MaxRate, q.Candidates[0].Plan.Burst, q.Candidates[0].Plan.Hold = most, 500*time.Millisecond, 100*time.Microsecond
		a, trials := run(t, q, meter{hold: 100 * time.Microsecond})
		for _, r := range trials[0] {
			if rate := Offered(&r.Plan); most > 0 && rate > most {
				t.Errorf("a trial at %v/s, and the most is %v/s", rate, most)
			}
		}
		if want := map[bool]Verdict{true: Undecided, false: Sustains}[most == 1997]; a.Verdict != want {
			t.Errorf("at most %v/s: %s, %+v: %s", most, a.Verdict, a.Candidates[0].Sustains, a.Candidates[0].Why)
		}
	}
}

func TestViolationIsOut(t *testing.T) {
	bad := mm1
	bad.violated = 3
	a, trials := run(t, asked(p99Under20ms, 400, 2), bad, mm1)
	if a.Verdict != Violated || a.Candidates[0].Verdict != Sustains || a.Candidates[1].Verdict != Violated || len(trials[0]) != 3 {
		t.Errorf("%s after %d trials: %s, %s", a.Verdict, len(trials[0]), a.Candidates[0].Verdict, a.Candidates[1].Verdict)
	}
	if !strings.HasPrefix(a.Advice, "do not use lock 1: two clients held a key at once; lock 2 carries 400/s with ") {
		t.Error(a.Advice)
	}
}

// TestCollapse has a lock that carries what is asked for, and whose hand-offs take a second at a rate far above that, as those of
// thousands of threads do: what it does there says nothing of the rate that it sustains.
func TestCollapse(t *testing.T) {
	for _, slower := range []float64{10, 100, 1000} {
		q := asked("response.p99<500ms", 100, 1)
		q.Candidates[0].Plan.Keys, q.Candidates[0].Shares = 10, slices.Repeat([]float64{0.1}, 10)
		a, trials := run(t, q, meter{hold: time.Millisecond, handoff: 2 * time.Millisecond, slower: slower, slowFrom: 3500})
		c := a.Candidates[0]
		if a.Verdict != Sustains || c.Sustains.Low < 100 || c.Sustains.High > 3500 {
			t.Errorf("%v times as slow: %s after %d trials, %+v: %s", slower, a.Verdict, len(trials[0]), c.Sustains, a.Advice)
		}
	}
}

// TestFloor has a server that stands still for 100 ms in each second: 8 % of the arrivals are late at any rate.
func TestFloor(t *testing.T) {
	m := mm1
	m.stall, m.every = 100*time.Millisecond, time.Second
	a, trials := run(t, asked(p99Under20ms, 300, 1), m)
	if c := a.Candidates[0]; a.Verdict != RulesOut || !strings.HasPrefix(c.Why, "floor") || c.Floor < 0.05 || c.Floor > 0.15 || len(trials[0]) > 6 {
		t.Errorf("%s after %d trials: %v, %q", a.Verdict, len(trials[0]), c.Floor, c.Why)
	}
	if a, _ = run(t, asked("response.p90<20ms", 100, 1), m); a.Candidates[0].Floor != 0 {
		t.Errorf("with 10 %% that may be late: %s, %+v", a.Verdict, a.Candidates[0].Why)
	}
}

// TestLongLimit has a limit that is longer than the shortest window: what has waited for less when a window ends is not late,
// so that a short one would show an endless queue as none.
func TestLongLimit(t *testing.T) {
	const limit, hold = 5 * time.Second, 500 * time.Millisecond
	truth := queue.Rate(queue.Kingman(1), queue.NewKeys([]float64{1}), hold.Seconds(), limit.Seconds(), 0.1)
	plans := 10
	if testing.Short() {
		plans = 2
	}
	missed := 0
	for seed := range uint64(plans) {
		q := asked("response.p90<5s", 0, 1)
		q.Seed, q.Candidates[0].Plan.Hold = seed, hold
		a, trials := run(t, q, meter{hold: hold, exponential: true})
		c := a.Candidates[0]
		if c.Sustains.Low > truth || c.Sustains.High < truth {
			missed++
		}
		if a.Verdict != Sustains || c.Sustains.Low < truth/3 || c.Sustains.High > 1/hold.Seconds() {
			t.Errorf("seed %d: %s, %+v, want about %v; %s", seed, a.Verdict, c.Sustains, truth, c.Why)
		}
		for _, r := range trials[0] {
			if r.Plan.Duration < windowLimits*limit || r.Plan.Warmup < limit {
				t.Fatalf("a window of %v after %v", r.Plan.Duration, r.Plan.Warmup)
			}
		}
	}
	if missed > plans/5 {
		t.Errorf("%d of %d intervals do not hold %v", missed, plans, truth)
	}
}

// TestStable has a queue that moves twice as fast as the holds that the records tell allow. Whatever the reason, nothing is
// claimed beyond the rate from which the key is always taken.
func TestStable(t *testing.T) {
	m := mm1
	m.holders = 2
	a, _ := run(t, asked(p99Under20ms, 0, 1), m)
	if c := a.Candidates[0]; c.Sustains.High > 1/m.hold.Seconds()*1.001 || c.Sustains.Low < truth {
		t.Errorf("%s: %+v of %v", a.Verdict, c.Sustains, 1/m.hold.Seconds())
	}
}

// TestMedian has two objectives that end at about the same rate, by one of which half of the arrivals may be late.
func TestMedian(t *testing.T) {
	a, _ := run(t, asked("response.p50<2ms,response.p99<20ms", 300, 1), mm1)
	if c := a.Candidates[0]; a.Verdict != Sustains || c.Sustains.Mid < 0.9*truth || c.Sustains.Mid > 1.1*truth {
		t.Errorf("%s: %+v, %q", a.Verdict, c.Sustains, c.Why)
	}
}

// TestBursts has arrivals that come all at once: 11 are served before the last one is late by a limit of 10 holds.
func TestBursts(t *testing.T) {
	q := asked(p99Under20ms, 0, 1)
	q.Candidates[0].Plan.Hold, q.Candidates[0].Plan.Burst = 2*time.Millisecond, 500*time.Millisecond
	a, trials := run(t, q, meter{hold: 2 * time.Millisecond})
	if c := a.Candidates[0]; a.Verdict != Sustains || c.Sustains.Low > 22 || c.Sustains.Low < 12 || c.Sustains.High < 22 {
		t.Errorf("%s: %+v, %q", a.Verdict, c.Sustains, c.Why)
	}
	for _, r := range trials[0] {
		if float64(r.Plan.Clients) != Offered(&r.Plan)/2 {
			t.Errorf("%d clients make bursts of %v/s", r.Plan.Clients, Offered(&r.Plan))
		}
	}
}

// TestBurstsSaturate has bursts that lockbench cannot send at once: the machine idles between them, and a lower rate helps.
func TestBurstsSaturate(t *testing.T) {
	q := asked(p99Under20ms, 100, 1)
	p := &q.Candidates[0].Plan
	p.Hold, p.Burst, p.TryOnly = 100*time.Millisecond, time.Second, 1
	m := meter{hold: time.Microsecond, saturated: 400, cores: 0.1}
	a, trials := run(t, q, m)
	if c := a.Candidates[0]; a.Verdict != Sustains || !c.AtLeast || c.Sustains.Low < 100 || c.Sustains.Low >= 400 {
		t.Errorf("%s: %+v, %s", a.Verdict, c.Sustains, c.Why)
	}
	if n := trials[0][0].Plan.Clients; n > firstBurst {
		t.Errorf("the first burst has %d arrivals", n)
	}
	// To start hundreds of arrivals at once takes a while on any machine, and is part of their responses.
	m.delayed = true
	if a, _ = run(t, q, m); a.Verdict != Sustains || a.Candidates[0].AtLeast || a.Candidates[0].Sustains.High == 0 {
		t.Errorf("delays of %v: %+v, %s", m.lag, a.Candidates[0].Sustains, a.Candidates[0].Why)
	}
	m.lag = 3 * time.Millisecond // of 20
	if a, _ = run(t, q, m); !a.Candidates[0].AtLeast {
		t.Errorf("delays of %v: %+v, %s", m.lag, a.Candidates[0].Sustains, a.Candidates[0].Why)
	}
}

// TestDelays: what lockbench itself adds to responses is part of them, and as long as that is little a trial counts.
func TestDelays(t *testing.T) {
	m := mm1
	m.saturated, m.cores, m.delayed = 0.001, 1, true
	for lag, counts := range map[time.Duration]bool{time.Millisecond: true, 3 * time.Millisecond: false} {
		m.lag = lag
		a, _ := run(t, asked(p99Under20ms, 400, 1), m)
		if c := a.Candidates[0]; c.Verdict != Sustains || c.AtLeast == counts {
			t.Errorf("delays of %v: %s, %+v, %s", lag, c.Verdict, c.Sustains, c.Why)
		}
	}
}

// TestLostWakeups has a lock that forgets three waiters in a hundred, while the others have their answers soon.
func TestLostWakeups(t *testing.T) {
	m := mm1
	m.lost = 0.03
	a, _ := run(t, asked(p99Under20ms, 400, 1), m)
	if c := a.Candidates[0]; a.Verdict != RulesOut {
		t.Errorf("%s: %+v, %s", a.Verdict, c.Sustains, c.Why)
	}
}

// TestRefused has arrivals most of which are refused: what they take is counted by the arrival, and not by the lock.
func TestRefused(t *testing.T) {
	m := mm1
	m.refused, m.clientCPU = 0.9, 10*time.Millisecond
	a, _ := run(t, asked(p99Under20ms, 0, 1), m)
	for _, r := range a.Candidates[0].Resources {
		if want := 2 / (m.clientCPU.Seconds() * (1 - m.refused)); r.Name == "generator" && !near(r.Full.Mid, want, 0.1) {
			t.Errorf("the generator is used up at %v/s, want about %v", r.Full.Mid, want)
		}
	}
	if !slices.ContainsFunc(a.Candidates[0].Resources, func(r Resource) bool { return r.Name == "generator" }) {
		t.Errorf("resources %+v", a.Candidates[0].Resources)
	}
}

// TestTooFewClients repeats trials with more clients, and does not count them before.
func TestTooFewClients(t *testing.T) {
	m := mm1
	m.needs = 45
	a, trials := run(t, asked(p99Under20ms, 0, 1), m)
	c := a.Candidates[0]
	for i, p := range c.Points {
		if few := trials[0][i].Plan.Clients < m.needs; few != strings.HasPrefix(p.Left, leftClients) {
			t.Errorf("trial %d with %d clients: %q", i, trials[0][i].Plan.Clients, p.Left)
		}
	}
	if a.Verdict != Sustains || c.Clients < m.needs || len(trials[0]) > 30 {
		t.Errorf("%s with %d clients after %d trials", a.Verdict, c.Clients, len(trials[0]))
	}
	m.needs = 1 << 20
	if a, _ = run(t, asked(p99Under20ms, 300, 1), m); a.Verdict != Undecided {
		t.Errorf("clients were never enough: %s", a.Verdict)
	}
	q := asked(p99Under20ms, 300, 1)
	q.Candidates[0].FixedClients, q.Candidates[0].Plan.Clients = true, 10
	m.needs = 0
	a, trials = run(t, q, m)
	if a.Verdict != Sustains || slices.ContainsFunc(trials[0], func(r *results.Record) bool { return r.Plan.Clients != 10 }) {
		t.Errorf("with 10 clients as asked: %s", a.Verdict)
	}
}

func TestErrors(t *testing.T) {
	m := mm1
	m.failing, m.errorsFrom = 0.004, 450
	a, _ := run(t, asked("response.p99<20ms,errors<0.1%", 500, 1), m)
	if c := a.Candidates[0]; a.Verdict == Sustains || c.Sustains.Low > 450 {
		t.Errorf("errors from 450/s on: %s, %+v", a.Verdict, c.Sustains)
	}
	if a, _ = run(t, asked("response.p99<20ms,errors<1%", 500, 1), m); a.Verdict != Sustains {
		t.Errorf("as many errors as may be: %s, %+v", a.Verdict, a.Candidates[0].Why)
	}
}

// TestErrorFloor has errors at all rates.
func TestErrorFloor(t *testing.T) {
	m := mm1
	m.failing = 0.05
	a, _ := run(t, asked("response.p90<20ms,errors<0.1%", 300, 1), m)
	if c := a.Candidates[0]; a.Verdict != RulesOut || !strings.HasPrefix(c.Why, "floor") || !strings.HasSuffix(c.Why, "fail, and 0.1 % may") {
		t.Errorf("%s: %+v, %q", a.Verdict, c.Sustains, c.Why)
	}
}

func TestPartialTrials(t *testing.T) {
	m := mm1
	m.partial = 5
	a, trials := run(t, asked(p99Under20ms, 400, 1), m)
	if c := a.Candidates[0]; a.Verdict != Sustains || !strings.HasPrefix(c.Points[4].Left, leftPartial) || trials[0][4].Plan.Seed == trials[0][5].Plan.Seed {
		t.Errorf("%s: %q", a.Verdict, c.Points[4].Left)
	}
	broken := trials[0][4]
	a = replay(asked(p99Under20ms, 400, 1), [][]*results.Record{{broken, broken, broken}}).Answer(results.Env{})
	if c := a.Candidates[0]; a.Verdict != Undecided || c.Verdict != Failed {
		t.Errorf("three in a row: %s, %s", a.Verdict, c.Verdict)
	}
}

// replay returns the search after the records of each candidate's trials.
func replay(q *Question, trials [][]*results.Record) *Search {
	s := NewSearch(q)
	for s.phase != done {
		t := s.turn[0]
		if t.index >= len(trials) || len(t.trials) >= len(trials[t.index]) {
			break
		}
		s.Add(trials[t.index][len(t.trials)])
	}
	return s
}

// TestOrder lets three locks that are 20 % apart compete.
func TestOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("forty searches: make test-all")
	}
	const plans = 40
	right := 0
	for seed := range uint64(plans) {
		q := asked(p99Under20ms, 0, 3)
		q.Seed = seed
		var meters []meter
		for _, service := range []time.Duration{1200, 1000, 1440} {
			m := mm1
			m.hold, m.noise = service*time.Microsecond-m.handoff, 0.05
			meters = append(meters, m)
		}
		a, _ := run(t, q, meters...)
		if c := a.Candidates; c[0].Name == "lock 2" && c[1].Name == "lock 1" && c[2].Name == "lock 3" {
			right++
		} else {
			for _, c := range c {
				t.Logf("seed %d: %s %s %+v %s", seed, c.Name, c.Verdict, c.Sustains, c.Why)
			}
		}
	}
	t.Logf("%d of %d", right, plans)
	if float64(right) < 0.95*float64(plans) {
		t.Errorf("%d of %d plans have the right order", right, plans)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Question)
		want   string
	}{
		{"nothing", func(*Question) {}, ""},
		{"no candidate", func(q *Question) { q.Candidates = nil }, "no candidate"},
		{"no objective", func(q *Question) { q.SLO = SLO{} }, "no objective"},
		{"a highest rate below the rate", func(q *Question) { q.MaxRate = 499.9 }, "500/s, is above the highest one that may be tried, 499.9/s: raise that or lower the rate"},
		{"a negative rate", func(q *Question) { q.Rate = -1 }, "a rate has to be"},
		{"a budget below the pilot", func(q *Question) { q.Budget = 5 * time.Second }, "take 24 s"},
		{"shares that are not those of all arrivals", func(q *Question) { q.Candidates[0].Shares = []float64{0.5, 0.4} }, "lock 1: the shares"},
		{"shares out of order", func(q *Question) { q.Candidates[0].Shares = []float64{0.4, 0.6} }, "the greatest first"},
		{"think time", func(q *Question) { q.Candidates[0].Plan.Think = time.Second }, "leave it out"},
		{"a rate that changes", func(q *Question) { q.Candidates[0].Plan.Rate = rate("1k:2k:5s") }, "give a constant one"},
		{"a highest rate below that of any trial", func(q *Question) { q.Rate, q.MaxRate = 0, 0.05 }, "lock 1: no trial has fewer than 0.1 arrivals a second, and the highest rate that may be tried is 0.05/s"},
		{"a burst above the highest rate", func(q *Question) { q.Rate, q.MaxRate, q.Candidates[0].Plan.Burst = 0, 3, 250*time.Millisecond }, "fewer than 4 arrivals a second"},
		{"no clients", func(q *Question) { q.Candidates[0].FixedClients = true }, "no clients"},
	} {
		q := asked(p99Under20ms, 500, 1)
		c.change(q)
		err := q.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want …%s…", c.name, err, c.want)
		}
	}
}
