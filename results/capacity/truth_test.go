package capacity

// What a plan must not be wrong about, each planted in a queue.

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// kept returns the share of the answers in a long run of m that the objectives of q allow at a level, over that which
// they have; it is 1 or more if the objectives hold.
func kept(q *Question, m meter, level float64) bool {
	m.saturated = 0
	p := q.at(*q.load(), level)
	p.Warmup, p.Duration, p.Seed = 20*time.Second, 600*time.Second, 99
	r := m.run(Trial{Level: level, Plan: p}, q.Shares)
	t := newTrack(q, 0)
	o := t.observe(r)
	return t.keeps(&o)
}

// TestOtherQueues has queues of other families than that of the fit: the objective holds at the lower end of the
// interval, and does not at 1.15 times the upper end.
func TestOtherQueues(t *testing.T) {
	burst := func(p *spec.Plan) { p.Burst = 500 * time.Millisecond }
	plain := func(*spec.Plan) {}
	patient := func(p *spec.Plan) { p.Timeout = 2900 * time.Millisecond }
	wrong, all := 0, 0
	for name, c := range map[string]struct {
		slo    string
		m      meter
		change func(*spec.Plan)
	}{
		"exponential":                 {p99Under20ms, mm1, plain},
		"fixed":                       {p99Under20ms, meter{hold: time.Millisecond, noise: 0.02}, plain},
		"two times of service":        {p99Under20ms, meter{hold: 400 * time.Microsecond, handoff: 100 * time.Microsecond, two: 0.1}, plain},
		"20 ms of pause a second":     {"response.p99<30ms", meter{hold: time.Millisecond, stall: 20 * time.Millisecond, every: time.Second}, plain},
		"batches":                     {p99Under20ms, meter{hold: 500 * time.Microsecond, batch: 2 * time.Millisecond}, plain},
		"bursts":                      {p99Under20ms, meter{hold: time.Millisecond}, burst},
		"clients":                     {"acquire.p95<50ms", mm1, plain},
		"clients, two times":          {"acquire.p95<50ms", meter{hold: time.Millisecond, two: 0.1}, plain},
		"clients that think":          {"acquire.p95<50ms", mm1, func(p *spec.Plan) { p.Think = 20 * time.Millisecond }},
		"clients that give up":        {"acquire.p95<200ms,errors<1%", mm1, func(p *spec.Plan) { p.Timeout = 50 * time.Millisecond }},
		"clients of an unfair lock":   {"acquire.p95<2900ms,errors<10%", meter{hold: 8500 * time.Microsecond, barge: 0.95}, patient},
		"clients of ten keys":         {"acquire.p95<50ms", mm1, func(p *spec.Plan) { p.Keys = 10 }},
		"arrivals that half try once": {p99Under20ms, meter{through: time.Millisecond, refused: 0.5}, func(p *spec.Plan) { p.TryOnly = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range map[bool]uint64{true: 1, false: 5}[testing.Short()] {
				q := asked(c.slo, 0, 1)
				one := &q.Candidates[0]
				q.Seed, one.Plan.Hold = seed, c.m.hold
				c.change(&one.Plan)
				q.Shares = slices.Repeat([]float64{1 / float64(one.Plan.Keys)}, one.Plan.Keys)
				a, trials := run(t, q, c.m)
				got := a.Candidates[0]
				low, high := kept(q, c.m, got.Sustains.Low), kept(q, c.m, 1.15*got.Sustains.High)
				t.Logf("%s after %d trials: %+v %+v; kept at the lower end: %t, beyond: %t", got.Verdict, len(trials[0]), got.Sustains, got.Why, low, high)
				if all++; got.Verdict != Sustains || !low || high {
					wrong++
				}
				if got.Verdict != Sustains {
					t.Errorf("%s: %+v", got.Verdict, got.Why)
				}
			}
		})
	}
	if 10*wrong > all {
		t.Errorf("%d of %d intervals are wrong", wrong, all)
	}
}

// TestUnfair has a lock whose holder takes it again 19 times of 20: the others wait for long though a key changes hands
// at once, and what it sustains is its hold.
func TestUnfair(t *testing.T) {
	q := asked("acquire.p95<2900ms,errors<10%", 0, 1)
	q.Candidates[0].Plan.Timeout = 2900 * time.Millisecond
	a, _ := run(t, q, meter{hold: 8 * time.Millisecond, handoff: 500 * time.Microsecond, barge: 0.95})
	c := a.Candidates[0]
	if len(c.Resources) == 0 || c.Resources[0].Name != "hottest key" || !near(c.Resources[0].Full.Mid, 1/8.5e-3, 0.01) {
		t.Errorf("%+v: %+v", c.Sustains, c.Resources)
	}
}

// TestRefusals has a server that does the same for all, and refuses most of those that try once: the rate that it
// sustains is the same, and the objective is broken by the same.
func TestRefusals(t *testing.T) {
	var rates []float64
	for _, refused := range []float64{0, 0.95} {
		q := asked("response.p99<10ms", 0, 1)
		q.Candidates[0].Plan.TryOnly = 1
		a, _ := run(t, q, meter{through: time.Millisecond, refused: refused})
		rates = append(rates, a.Candidates[0].Sustains.Mid)
	}
	if rates[1] > 1.05*rates[0] || rates[1] < 0.7*rates[0] {
		t.Errorf("with 19 of 20 arrivals refused %.0f/s are sustained, else %.0f/s", rates[1], rates[0])
	}
	// One request in twenty takes 50 ms, granted or refused.
	q := asked("response.p99<10ms", 1000, 1)
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	shard.RecordN(results.ResponseIndex, time.Millisecond, 285)
	shard.RecordN(results.ResponseIndex, 50*time.Millisecond, 15)
	shard.RecordN(results.RefusalIndex, time.Millisecond, 2565)
	shard.RecordN(results.RefusalIndex, 50*time.Millisecond, 135)
	rec.Return(shard)
	r := &results.Record{Plan: q.at(*q.load(), 1000), Elapsed: 3 * time.Second, Counts: results.Counts{Acquired: 300, Contended: 2700},
		Latency: rec.Latencies(), Server: results.Server{Kind: "private"}, Env: results.Env{CPUs: 2}}
	if o := newTrack(q, 0).observe(r); o.tallies[0] != (tally{15, 300}) || o.arrivals != 3000 {
		t.Errorf("%+v of %d arrivals", o.tallies, o.arrivals)
	}
}

// TestLost has arrivals that never hear of their grant, where 1 % may be late: as many as are lost are late. Those that
// are on their way when a window closes are not.
func TestLost(t *testing.T) {
	for _, lost := range []float64{0, 0.005, 0.01, 0.011, 0.02, 0.05, 0.2} {
		for name, change := range map[string]func(*spec.Plan){
			"Poisson": func(*spec.Plan) {}, "bursts": func(p *spec.Plan) { p.Burst = time.Second },
		} {
			for _, of := range []struct {
				rate float64
				m    meter
			}{{200, meter{hold: 20 * time.Microsecond, handoff: 30 * time.Microsecond}}, {600, mm1}, {600, meter{hold: 20 * time.Microsecond}}} {
				q := asked("response.p99<20ms", of.rate, 1)
				q.Candidates[0].Plan.Hold = of.m.hold
				if change(&q.Candidates[0].Plan); name == "bursts" && of.m.exponential {
					continue // whose last ones are late
				}
				of.m.lost = lost
				a, _ := run(t, q, of.m)
				c := a.Candidates[0]
				if late := c.Points[0].Share.Mid; lost == 0 && c.Verdict == RulesOut || lost > 0.01 && c.Verdict == Sustains ||
					late < 0.7*lost-0.004 || late > 1.6*lost+0.005 {
					t.Errorf("%s, %v/s, %.1f %% lost: %.2f %% count as late: %s, %+v: %+v",
						name, of.rate, 100*lost, 100*late, c.Verdict, c.Sustains, c.Why)
				}
			}
		}
	}
}

// TestUnderWay: at 1,000/s with a mean of 5 ms five arrivals are under way by Little's law.
func TestUnderWay(t *testing.T) {
	r := &results.Record{Elapsed: 3 * time.Second}
	for unfinished, want := range map[int64]int64{0: 0, 5: 0, 9: 0, 35: 30, 605: 600} {
		if got := unreturned(r, unfinished, 3000*0.005, 20*time.Millisecond); got != want {
			t.Errorf("%d without an answer: %d are late, want %d", unfinished, got, want)
		}
	}
}

// TestErrorsUnseen asks for fewer failures than so few arrivals can show, of a lock with three times as many; and with
// a budget that is enough, of one with none.
func TestErrorsUnseen(t *testing.T) {
	for seed := range uint64(20) {
		q := asked("response.p99<20ms,errors<0.01%", 50, 1)
		q.Seed, q.Budget = seed, time.Minute
		a, _ := run(t, q, meter{hold: time.Millisecond, failing: 3e-4})
		if c := a.Candidates[0]; c.Verdict == Sustains {
			t.Errorf("seed %d: %s, %+v", seed, c.Verdict, c.Why)
		}
	}
	for _, rate := range []float64{50, 1000} {
		q := asked("response.p99<20ms,errors<0.1%", rate, 1)
		q.Candidates[0].Plan.Hold = 100 * time.Microsecond
		a, _ := run(t, q, meter{hold: 100 * time.Microsecond})
		if a.Verdict != Sustains || a.Spent > a.Budget {
			t.Errorf("none fails at %v/s: %s, %+v, in %s of %s", rate, a.Verdict, a.Candidates[0].Why, a.Spent, a.Budget)
		}
	}
}

// TestNoHold: what a lock without a hold occupies its key for is its hand-off, as measured; before, nothing is said.
func TestNoHold(t *testing.T) {
	q := asked(p99Under20ms, 100, 1)
	q.Candidates[0].Plan.Hold = 0
	a, _ := run(t, q, meter{handoff: 3 * time.Millisecond})
	if c := a.Candidates[0]; !near(c.Occupies.Mid, 3e6, 0.3) {
		t.Errorf("%s: %+v ns", c.Verdict, c.Occupies)
	}
	q.Candidates[0].Plan.TryOnly = 1
	a, _ = run(t, q, meter{through: 100 * time.Microsecond, refused: 0.5})
	if c := a.Candidates[0]; c.Occupies != (Range{}) {
		t.Errorf("nobody waits: %+v ns", c.Occupies)
	}
}

// TestServerLine has so many keys that none has a queue, and a server that serves one request after another, in turn:
// nothing is claimed beyond what it carries, whatever rate is asked for, and the server is named.
func TestServerLine(t *testing.T) {
	m := meter{through: 200 * time.Microsecond, handoff: 10 * time.Microsecond, noise: 0.02, kind: "external", serverCPU: 200 * time.Microsecond}
	truth := newKeys([]float64{1}).rate(m.through.Seconds(), 0.5, 0.02, 0.01)
	for _, rate := range []float64{0, 3000, 8000, 20000} {
		q := asked(p99Under20ms, rate, 1)
		c := &q.Candidates[0]
		q.Most = 30_000
		c.Plan.Hold, c.Plan.Keys, q.Shares = 0, 1000, slices.Repeat([]float64{1e-3}, 1000)
		a, _ := run(t, q, m)
		got := a.Candidates[0]
		if want := rate < truth; (a.Verdict == Sustains) != want || got.Sustains.Low > truth || got.Sustains.Low < 0.6*truth || got.Sustains.High < truth || got.Sustains.High > 1.5*truth {
			t.Errorf("%v/s: %s, %+v, the truth is %.0f: %+v", rate, a.Verdict, got.Sustains, truth, got.Why)
		}
		if rate > truth && got.Why.Code != ServerFull {
			t.Errorf("%v/s: %s: %+v", rate, a.Verdict, got.Why)
		}
	}
}

// TestLongLimit has a limit that is longer than the shortest window: what has waited for less when a window ends is not
// late, so that a short one would show an endless queue as none.
func TestLongLimit(t *testing.T) {
	const limit, hold = 5 * time.Second, 500 * time.Millisecond
	truth := newKeys([]float64{1}).rate(hold.Seconds(), 1, limit.Seconds(), 0.1)
	plans, missed := map[bool]int{true: 2, false: 10}[testing.Short()], 0
	for seed := range uint64(plans) {
		q := asked("response.p90<5s", 0, 1)
		q.Seed, q.Candidates[0].Plan.Hold = seed, hold
		a, _ := run(t, q, meter{hold: hold, exponential: true})
		c := a.Candidates[0]
		if c.Sustains.Low > truth || c.Sustains.High < truth {
			missed++
		}
		if a.Verdict != Sustains || c.Sustains.Low < truth/3 || c.Sustains.High > 1/hold.Seconds() {
			t.Errorf("seed %d: %s, %+v, want about %v; %+v", seed, a.Verdict, c.Sustains, truth, c.Why)
		}
	}
	if missed > plans/5 {
		t.Errorf("%d of %d intervals do not hold %v", missed, plans, truth)
	}
}

// TestBurstsSaturate has bursts that lockbench cannot send at once, while the machine idles between them.
// Nobody is told to take a larger machine.
func TestBurstsSaturate(t *testing.T) {
	q := asked(p99Under20ms, 100, 1)
	p := &q.Candidates[0].Plan
	p.Hold, p.Burst, p.TryOnly = 100*time.Millisecond, time.Second, 1
	m := meter{hold: time.Microsecond, saturated: 400, cores: 0.1, lag: 3 * time.Millisecond}
	a, trials := run(t, q, m)
	if c := a.Candidates[0]; a.Verdict != Sustains || c.Sustains.Low < 100 {
		t.Errorf("%s: %+v, %+v", a.Verdict, c.Sustains, c.Why)
	}
	if n := trials[0][0].Plan.Clients; n > firstBurst {
		t.Errorf("the first burst has %d arrivals", n)
	}
	for _, p := range a.Candidates[0].Points {
		if code := p.Left.Code; code != "" && code != Slow {
			t.Errorf("%s: lockbench used a twentieth of the machine", code)
		}
	}
	m.saturated, m.slower, m.others, m.cores = 1e-3, 1e5, 1.2, 1.4
	m.serverCPU = time.Microsecond
	if a, _ = run(t, q, m); a.Candidates[0].Why.Code != Others || a.Candidates[0].Why.Cores < 1 {
		t.Errorf("others use more than half of the machine: %s, %+v", a.Verdict, a.Candidates[0].Why)
	}
	// To start hundreds of arrivals at once takes a while on any machine, and is part of their responses.
	m = meter{hold: time.Microsecond, saturated: 400, cores: 0.1, delayed: true}
	if a, _ = run(t, q, m); a.Verdict != Sustains || a.Candidates[0].AtLeast || a.Candidates[0].Sustains.High == 0 {
		t.Errorf("delayed by nothing: %+v, %+v", a.Candidates[0].Sustains, a.Candidates[0].Why)
	}
}

// TestNothingBroke: where only trials that do not count broke the objective, nobody knows how far it goes.
func TestNothingBroke(t *testing.T) {
	m := mm1
	m.saturated, m.cores, m.others, m.slower, m.serverCPU = 600, 2, 1.5, 10, time.Microsecond
	a, _ := run(t, asked(p99Under20ms, 0, 1), m)
	if c := a.Candidates[0]; !c.AtLeast || c.Sustains.High != 0 || c.Sustains.Low >= 600 {
		t.Errorf("%s: %+v, at least %t: %+v", a.Verdict, c.Sustains, c.AtLeast, c.Why)
	}
}

// TestFixedClients: a plan that sets the clients has its trials with these, and counts them: what waits for a client
// waits.
func TestFixedClients(t *testing.T) {
	q := asked(p99Under20ms, 300, 1)
	q.FixedClients, q.Candidates[0].Plan.Clients = true, 50
	s := NewSearch(q)
	for trial, more := s.Next(); more; trial, more = s.Next() {
		r := mm1.run(trial, []float64{1})
		r.Latency[results.Backlog] = results.Latency{Count: r.Counts.Acquired / 2}
		r.Latency[results.Lag] = results.Latency{Count: r.Counts.Acquired / 2}
		if s.Add(r); trial.Plan.Clients != 50 {
			t.Fatalf("%d clients", trial.Plan.Clients)
		}
	}
	a := s.Answer(results.Env{})
	if a.Verdict != Sustains || slices.ContainsFunc(a.Candidates[0].Points, func(p Point) bool { return p.Left.Code != "" }) {
		t.Errorf("%s: %+v", a.Verdict, a.Candidates[0])
	}
	r := a.Candidates[0].Resources
	if i := slices.IndexFunc(r, func(r Resource) bool { return r.Name == "clients" }); i < 0 || !near(r[i].Full.Mid, 50/mm1.hold.Seconds(), 0.3) {
		t.Errorf("%+v", r)
	}
}

// TestBest: of an answer that nobody sustains what is asked for, the response is the best that there was at that level.
func TestBest(t *testing.T) {
	a, trials := run(t, asked(p99Under20ms, 790, 1), mm1)
	c, best := a.Candidates[0], time.Hour
	for i, p := range c.Points {
		if p.Level == 790 {
			best = min(best, trials[0][i].Latency[results.Response].P99)
		}
	}
	if a.Verdict == Sustains || c.Response[0] > best {
		t.Errorf("%s with %v, and a trial had %v", a.Verdict, c.Response, best)
	}
}
