package capacity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// mm1 is a lock of which the truth is known: with p99 < 20 ms it sustains truth arrivals a second (keys.rate).
var mm1 = meter{hold: 900 * time.Microsecond, handoff: 100 * time.Microsecond, exponential: true}

const (
	p99Under20ms = "response.p99<20ms"
	truth        = 782
)

func TestOneCandidate(t *testing.T) {
	a, trials := run(t, asked(p99Under20ms, 500, 1), mm1)
	c := a.Candidates[0]
	if a.Verdict != Sustains || c.Sustains.Low > truth || c.Sustains.High < truth && !c.AtLeast || c.Headroom < 1.1 || a.Spent > a.Budget {
		t.Errorf("%s: %+v, head-room %v, in %s of %s; want an interval around %d", a.Verdict, c.Sustains, c.Headroom, a.Spent, a.Budget, truth)
	}
	if last := c.Points[len(c.Points)-1]; last.Stage != StageSearch {
		t.Errorf("what is asked for has had its trials, and the last one is %+v", last)
	}
	if _, more := replay(asked(p99Under20ms, 500, 1), trials).Next(); more {
		t.Error("a plan that is over goes on")
	}
}

// TestConfirmation: the most that a lock carries is claimed after fresh trials at the lower end of its interval.
func TestConfirmation(t *testing.T) {
	a, _ := run(t, asked(p99Under20ms, 0, 1), mm1)
	c, fresh := a.Candidates[0], 0
	for _, p := range c.Points {
		if p.Stage == StageConfirm {
			fresh++
		}
	}
	if last := c.Points[len(c.Points)-1]; a.Verdict != Sustains || fresh != confirmTrials || last.Stage != StageConfirm || last.Level < c.Sustains.Low {
		t.Errorf("%s: %+v by %d fresh trials, the last at %v", a.Verdict, c.Sustains, fresh, last.Level)
	}
}

// replay returns the search after the records of each candidate's trials.
func replay(q *Question, trials [][]*results.Record) *Search {
	s := NewSearch(q)
	for s.next != nil {
		t := s.next
		if t.index >= len(trials) || len(t.trials) >= len(trials[t.index]) {
			break
		}
		s.Add(trials[t.index][len(t.trials)])
	}
	return s
}

// TestVerdicts plants what decides, and reads the verdict and its reason.
func TestVerdicts(t *testing.T) {
	change := func(change func(m *meter)) meter {
		m := mm1
		m.serverCPU = time.Microsecond
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		slo  string
		rate float64
		m    meter
		want Verdict
		why  Code
	}{
		"a little less than the key can carry": {p99Under20ms, 880, mm1, RulesOut, AtMost},
		"a violation":                          {p99Under20ms, 400, change(func(m *meter) { m.violated = 3 }), Violated, Broken},
		"two objectives":                       {"response.p50<2ms,response.p99<20ms", 300, mm1, Sustains, ""},
		"a server that stands still": {p99Under20ms, 300,
			change(func(m *meter) { m.stall, m.every = 100*time.Millisecond, time.Second }), RulesOut, Late},
		"lost wake-ups": {p99Under20ms, 400, change(func(m *meter) { m.lost = 0.06 }), RulesOut, Late},
		"errors from 450/s on": {"response.p99<20ms,errors<0.1%", 500,
			change(func(m *meter) { m.failing, m.errorsFrom = 0.01, 450 }), RulesOut, Failing},
		"errors at all rates":     {"response.p90<20ms,errors<0.1%", 300, change(func(m *meter) { m.failing = 0.05 }), RulesOut, Failing},
		"as few errors as may be": {"response.p99<20ms,errors<1%", 500, change(func(m *meter) { m.failing = 0.004 }), Sustains, ""},
		"interrupted once":        {p99Under20ms, 400, change(func(m *meter) { m.partial = 5 }), Sustains, ""},

		"a machine that is too small": {p99Under20ms, 500,
			change(func(m *meter) { m.saturated, m.cores, m.slower = 1e-3, 2, 10 }), Undecided, Machine},
		"a machine that is too small, above what is asked for": {p99Under20ms, 400,
			change(func(m *meter) { m.saturated, m.cores = 600, 2 }), Sustains, ""},
		"a machine that is too small, and a lock that is fast enough": {p99Under20ms, 400,
			change(func(m *meter) { m.saturated, m.cores = 1e-3, 2 }), Sustains, ""},
		"others use the machine": {p99Under20ms, 500,
			change(func(m *meter) { m.saturated, m.cores, m.others, m.slower = 1e-3, 2, 1.8, 3 }), Undecided, Others},
		"others use the machine, and a lock that is fast enough": {p99Under20ms, 500,
			change(func(m *meter) { m.saturated, m.cores, m.others = 1e-3, 2, 1.8 }), Sustains, ""},
		"others use the machine a little, and a lock that is too slow": {p99Under20ms, 880,
			change(func(m *meter) { m.others = 0.8 }), Undecided, Others},
		"nobody uses the machine, and lockbench is late": {p99Under20ms, 500,
			change(func(m *meter) { m.saturated, m.cores, m.slower, m.lag = 1e-3, 0.2, 10, 3*time.Millisecond }), Undecided, Slow},
		"a server on one core": {p99Under20ms, 3000, meter{hold: time.Microsecond, handoff: 999 * time.Microsecond, exponential: true,
			serverCPU: 999 * time.Microsecond, saturated: 1e-3, cores: 1.9, others: 1}, RulesOut, ServerFull},
	} {
		t.Run(name, func(t *testing.T) {
			q := asked(c.slo, c.rate, 1)
			q.Candidates[0].Plan.Hold = min(time.Millisecond, c.m.hold)
			a, trials := run(t, q, c.m)
			one := a.Candidates[0]
			if a.Verdict != c.want || one.Why.Code != c.why || len(trials[0]) > 32 {
				t.Errorf("%s: %+v after %d trials, %+v; want %s, %s", a.Verdict, one.Why, len(trials[0]), one.Sustains, c.want, c.why)
			}
			if one.Verdict == Sustains && (one.Sustains.Low < c.rate || one.Sustains.Low > truth) || one.AtLeast && one.Sustains.High != 0 {
				t.Errorf("%+v, at least %t", one.Sustains, one.AtLeast)
			}
		})
	}
}

// TestClaims asks for what the lock sustains or a little more: no plan may say that it is sustained, whoever is the
// limit.
func TestClaims(t *testing.T) {
	plans := map[bool]uint64{true: 3, false: 20}[testing.Short()]
	limited := mm1
	limited.saturated, limited.cores, limited.serverCPU = 1e-3, 2, time.Microsecond
	for seed := range plans {
		for _, rate := range []float64{truth, 1.05 * truth} {
			for _, m := range []meter{mm1, limited} {
				q := asked(p99Under20ms, rate, 1)
				q.Seed = seed
				if a, _ := run(t, q, m); a.Verdict == Sustains {
					t.Errorf("seed %d: %v/s: %+v", seed, rate, a.Candidates[0].Sustains)
				}
			}
		}
	}
}

// TestImpossible asks for what no lock can do: nothing is measured, and it is said what would fit. A lock that does not
// exclude is measured.
func TestImpossible(t *testing.T) {
	q := asked(p99Under20ms, 1200, 1)
	a, trials := run(t, q, mm1)
	n := a.Analysis[0]
	if a.Verdict != RulesOut || len(trials[0]) > 0 || n.Impossible.Code != Impossible || n.FitsHold < 700*time.Microsecond || n.FitsHold > 833*time.Microsecond {
		t.Errorf("%s after %d trials: %+v", a.Verdict, len(trials[0]), n)
	}
	q.Candidates[0].Traits.Exclusive = false
	if a, trials = run(t, q, mm1); len(trials[0]) == 0 {
		t.Errorf("a lock that does not exclude: %s after %d trials", a.Verdict, len(trials[0]))
	}
}

// TestAskedFirst: each candidate is asked the question first, and four trials at that rate are behind a yes.
func TestAskedFirst(t *testing.T) {
	a, trials := run(t, asked(p99Under20ms, 300, 3), mm1, mm1, mm1)
	for i, c := range a.Candidates {
		at := 0
		for _, p := range c.Points {
			if p.Level == 300 {
				at++
			}
		}
		if Offered(&trials[i][0].Plan) != 300 || c.Verdict != Sustains || at < confirmTrials || len(c.Response) != 1 || c.Response[0] > 20*time.Millisecond {
			t.Errorf("%s: %s after %d trials at 300/s, response %v: %+v", c.Name, c.Verdict, at, c.Response, c.Why)
		}
	}
}

// TestDesigns asks for 3,000/s of three designs, of which two carry it, on machines that carry any rate, 5,000/s and
// 2,800/s.
func TestDesigns(t *testing.T) {
	for saturated, want := range map[float64][]Verdict{
		0: {Sustains, Sustains, RulesOut}, 5000: {Sustains, Sustains, RulesOut}, 2800: {Undecided, Undecided, RulesOut},
	} {
		q := asked(p99Under20ms, 3000, 3)
		var meters []meter
		for i, handoff := range []time.Duration{100, 400, 4000} {
			q.Candidates[i].Plan.Keys, q.Shares = 10, slices.Repeat([]float64{0.1}, 10)
			meters = append(meters, meter{
				hold: time.Millisecond, handoff: handoff * time.Microsecond, noise: 0.03, serverCPU: 20 * time.Microsecond,
				saturated: saturated, cores: 2, slower: 3,
			})
		}
		a, _ := run(t, q, meters...)
		var got []Verdict
		for _, one := range a.Candidates {
			got = append(got, one.Verdict)
		}
		if !slices.Equal(got, want) || a.Candidates[2].Name != "lock 3" {
			t.Errorf("on a machine for %v/s: %v, want %v: %+v", saturated, got, want, a.Candidates)
		}
	}
}

// TestCollapse has a lock that carries what is asked for, and whose hand-offs take a second at a rate far above that,
// as those of thousands of threads do: what it does there says nothing of the rate that it sustains.
func TestCollapse(t *testing.T) {
	for _, slower := range []float64{10, 100, 1000} {
		q := asked("response.p99<500ms", 100, 1)
		q.Candidates[0].Plan.Keys, q.Shares = 10, slices.Repeat([]float64{0.1}, 10)
		a, trials := run(t, q, meter{hold: time.Millisecond, handoff: 2 * time.Millisecond, slower: slower, slowFrom: 3500})
		if c := a.Candidates[0]; a.Verdict != Sustains || c.Sustains.Low < 100 || c.Sustains.Mid > 1.05*3500 {
			t.Errorf("%v times as slow: %s after %d trials, %+v: %+v", slower, a.Verdict, len(trials[0]), c.Sustains, c.Why)
		}
	}
}

// TestGivenRates asks for rates of more than three digits that are the highest one as well: no trial is above them, one
// is at them, and a lock that carries far more sustains them.
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
		rate, most float64
		change     func(*spec.Plan)
		want       Verdict
	}{
		{1234, 1234, func(*spec.Plan) {}, Sustains}, {567.8, 567.8, func(*spec.Plan) {}, Sustains},
		{1234.5678, 1234.5678, func(*spec.Plan) {}, Sustains}, {1235, 1235, classes, Sustains},
		// A client more or less in each burst makes 2/s.
		{1996, 1996, burst, Sustains}, {1997, 0, burst, Sustains}, {1997, 1998.5, burst, Sustains}, {1997, 1997, burst, Undecided},
	} {
		q := asked("response.p99<200ms", c.rate, 1)
		q.Most, q.Candidates[0].Plan.Hold = c.most, 100*time.Microsecond
		c.change(&q.Candidates[0].Plan)
		a, trials := run(t, q, fast)
		highest := 0.0
		for _, r := range trials[0] {
			highest = max(highest, Offered(&r.Plan))
		}
		if one := a.Candidates[0]; a.Verdict != c.want || c.most > 0 && above(highest, c.most) || a.Verdict == Sustains && above(c.rate, highest) {
			t.Errorf("%v/s of at most %v/s: %s, %+v: %+v; the highest trial was at %v/s", c.rate, c.most, a.Verdict, one.Sustains, one.Why, highest)
		}
	}
}

// TestPartialTrials: one that does not work runs again with another seed, and three in a row end the candidate.
func TestPartialTrials(t *testing.T) {
	m := mm1
	m.partial = 5
	a, trials := run(t, asked(p99Under20ms, 400, 1), m)
	if p := a.Candidates[0].Points[4]; p.Left != (Reason{Code: Partial, Text: "the server was gone"}) || trials[0][4].Plan.Seed == trials[0][5].Plan.Seed {
		t.Errorf("%+v", p.Left)
	}
	broken := trials[0][4]
	a = replay(asked(p99Under20ms, 400, 1), [][]*results.Record{{broken, broken, broken}}).Answer(results.Env{})
	if c := a.Candidates[0]; a.Verdict != Undecided || c.Verdict != Failed {
		t.Errorf("three in a row: %s, %s", a.Verdict, c.Verdict)
	}
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
		}
	}
	if t.Logf("%d of %d", right, plans); right < 38 {
		t.Errorf("%d of %d plans have the right order", right, plans)
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Question)
		want   string
	}{
		"nothing":                       {func(*Question) {}, ""},
		"a highest rate below the rate": {func(q *Question) { q.Most = 499.9 }, "500, is above the most, 499.9"},
		"a budget below the pilot":      {func(q *Question) { q.Budget = 5 * time.Second }, "take 24 s"},
		"think time":                    {func(q *Question) { q.Candidates[0].Plan.Think = time.Second }, "leave think time out"},
		"a rate that changes":           {func(q *Question) { q.Candidates[0].Plan.Rate = rate("1k:2k:5s") }, "give a constant one"},
		"a highest rate below any":      {func(q *Question) { q.Asked, q.Most = 0, 0.05 }, "no trial has fewer than 0.1"},
		"a burst above the highest rate": {func(q *Question) {
			q.Asked, q.Most, q.Candidates[0].Plan.Burst = 0, 3, 250*time.Millisecond
		}, "fewer than 4 arrivals a second"},
		"no clients":           {func(q *Question) { q.FixedClients = true }, "no clients"},
		"clients at a rate":    {func(q *Question) { q.Axis = Clients }, "with -max-clients"},
		"clients of two kinds": {func(q *Question) { q.Axis, q.SLO.Closed, q.Candidates[0].Plan.Rate = Clients, true, rate("5") }, "closed loop"},
	} {
		q := asked(p99Under20ms, 500, 1)
		c.change(q)
		err := q.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
	}
}
