package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
)

var dayOne = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

// trialAt returns a trial of a nightly run that grants so many locks a second.
func trialAt(night, trial int, rate float64) *results.Record {
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("n%d-%d", night, trial), Run: fmt.Sprintf("run%d", night), Trial: trial + 1,
		Started: dayOne.AddDate(0, 0, night).Add(time.Duration(trial) * time.Minute),
		Plan:    spec.Plan{Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10, Server: "private", Load: spec.Load{Clients: 64}},
		Traits:  results.Traits{Exclusive: true},
		Env: results.Env{Lockbench: "v0.1.0", Revision: fmt.Sprintf("rev%d", night), Go: "go1.26.8", OS: "linux", Arch: "amd64",
			CPU: "a CPU", CPUs: 2, GOMAXPROCS: 2, Kernel: "6.1", Libraries: map[string]string{"rueidis": "v1.0.79"}},
		Server:  results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Addr: fmt.Sprintf("/tmp/%d.sock", night)},
		Elapsed: 10 * time.Second,
		Counts:  results.Counts{Acquired: int64(10 * rate)},
		Latency: map[results.Metric]results.Latency{results.Acquire: {Count: 10_000, P50: 1000, P99: time.Duration(1e9 / rate * 64)}},
		Safety:  results.Safety{Checked: true},
	}
}

// nights are runs of three trials, each night at the level that it is given, with a scatter of nights and one of trials.
func nights(rng *rand.Rand, scatter float64, levels ...float64) (recs []*results.Record) {
	for night, level := range levels {
		tonight := level * (1 + scatter*rng.NormFloat64())
		for trial := range 3 {
			recs = append(recs, trialAt(night, trial, tonight*(1+scatter/2*rng.NormFloat64())))
		}
	}
	return recs
}

func levels(parts ...[2]float64) (all []float64) {
	for _, p := range parts {
		all = append(all, slices.Repeat([]float64{p[1]}, int(p[0]))...)
	}
	return all
}

func collect(t testing.TB, o Options, recs ...*results.Record) *History {
	t.Helper()
	c := NewCollector(o)
	for _, r := range recs {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c.History()
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func TestStep(t *testing.T) {
	recs := nights(rng(1), 0.01, levels([2]float64{12, 50_000}, [2]float64{10, 46_000})...)
	for _, r := range recs {
		if r.Started.After(dayOne.AddDate(0, 0, 12).Add(-time.Hour)) {
			r.Server.Version, r.Env.Lockbench = "7.4.0", "v0.2.0"
		}
	}
	h := collect(t, Options{}, recs...)
	if h.Records != 66 || len(h.Series) != 1 || h.Lines != 2 || h.Machines != 1 {
		t.Fatalf("%d records, %d series, %d lines, %d machines", h.Records, len(h.Series), h.Lines, h.Machines)
	}
	s := h.Series[0]
	if len(s.Points) != 22 || s.Points[3].Trials != 3 || s.Points[3].Revision != "rev3" || !s.Points[3].Started.Equal(dayOne.AddDate(0, 0, 3)) {
		t.Fatalf("%d points, the fourth is %+v", len(s.Points), s.Points[3])
	}
	for i, name := range []string{"locks/s", "acquire.p99"} {
		l := s.Lines[i]
		if l.Figure.Name != name || len(l.Steps) != 1 || l.Drifts || l.Missing != 0 {
			t.Fatalf("%s: %+v", l.Figure.Name, l)
		}
		step := l.Steps[0]
		if step.At != 12 || step.Last != 11 || step.P > Alpha || l.Loss(step.Ratio) < 0.06 || l.Loss(step.Ratio) > 0.11 {
			t.Errorf("%s: %+v", name, step)
		}
		want := []Change{{"lockbench", "v0.1.0", "v0.2.0"}, {"server", "redis 7.0.15", "redis 7.4.0"}}
		if !slices.Equal(step.Also, want) {
			t.Errorf("%s: also %v, want %v", name, step.Also, want)
		}
	}
	if loss := s.Loss(); loss < 0.06 || loss > 0.11 {
		t.Errorf("the series has lost %v", loss)
	}
}

// TestSteps has a level that was lost and found again: the last step is a gain, and so nothing is lost.
func TestSteps(t *testing.T) {
	h := collect(t, Options{}, nights(rng(2), 0.01, levels([2]float64{12, 50_000}, [2]float64{12, 44_000}, [2]float64{12, 50_000})...)...)
	l := h.Series[0].Lines[0]
	if len(l.Steps) != 2 || l.Steps[0].At != 12 || l.Steps[1].At != 24 || l.LastStep().Ratio < 1.1 || h.Series[0].Loss() > 0 {
		t.Errorf("%+v, loss %v", l.Steps, h.Series[0].Loss())
	}
	if s := l.Steps[1]; math.Abs(s.Before-44_000) > 600 || math.Abs(s.After-50_000) > 600 {
		t.Errorf("from %v to %v", s.Before, s.After)
	}
}

// TestDrift loses half a percent each night, which no two nights show. It is no staircase.
func TestDrift(t *testing.T) {
	var falling []float64
	for night := range 30 {
		falling = append(falling, 50_000*(1-0.005*float64(night)))
	}
	h := collect(t, Options{}, nights(rng(3), 0.01, falling...)...)
	l := h.Series[0].Lines[0]
	if len(l.Steps) != 0 || !l.Drifts || l.P > Alpha {
		t.Fatalf("%+v", l)
	}
	if d := l.Drifted(); math.Abs(d-0.855) > 0.02 {
		t.Errorf("drifted to %v of what it was, want 0.855", d)
	}
	if loss := h.Series[0].Loss(); loss < 0.12 || loss > 0.2 {
		t.Errorf("the series has lost %v", loss)
	}
}

// TestNothing counts histories without any change that are said to have one: of cells that are looked at together one in
// twenty may be. Nights differ by more than trials do, and trials in the place of points would see steps everywhere.
func TestNothing(t *testing.T) {
	const histories, cells = 60, 5
	steps, drifts := 0, 0
	for n := range uint64(histories) {
		var recs []*results.Record
		for cell := range cells {
			for _, r := range nights(rng(100*n+uint64(cell)), 0.02, levels([2]float64{20, 50_000})...) {
				r.ID, r.Plan.Clients = fmt.Sprintf("%s-%d", r.ID, cell), cell+1
				recs = append(recs, r)
			}
		}
		locks, _ := metric.Named("locks/s")
		h := collect(t, Options{Figures: []*metric.Metric{locks}}, recs...)
		if h.Lines != cells {
			t.Fatalf("%d lines, want %d", h.Lines, cells)
		}
		stepped, drifting := false, false
		for _, s := range h.Series {
			stepped = stepped || len(s.Lines[0].Steps) > 0
			drifting = drifting || s.Lines[0].Drifts
		}
		if stepped {
			steps++
		}
		if drifting {
			drifts++
		}
	}
	// Up to 7 of 60 is what 5 % gives 98 times of 100; without the shares of the cells it would be 14.
	if steps > 7 || drifts > 7 {
		t.Errorf("of %d histories without any change %d have steps and %d drift", histories, steps, drifts)
	}
}

func TestTooFew(t *testing.T) {
	for lines, want := range map[int]int{0: 8, 1: 8, 2: 9, 40: 13, 1000: 18} {
		if n := MinPoints(lines); n != want {
			t.Errorf("%d lines: %d points, want %d", lines, n, want)
		}
	}
	h := collect(t, Options{}, nights(rng(5), 0.001, levels([2]float64{3, 50_000}, [2]float64{3, 30_000})...)...)
	l := h.Series[0].Lines[0]
	if h.Lines != 0 || len(l.Steps) != 0 || l.Missing != 2 || !math.IsNaN(l.P) {
		t.Errorf("%d lines, %+v", h.Lines, l)
	}
}

// TestOrder takes the records backwards: the same history, and it is said.
func TestOrder(t *testing.T) {
	recs := nights(rng(1), 0.01, levels([2]float64{12, 50_000}, [2]float64{10, 46_000})...)
	slices.Reverse(recs)
	h := collect(t, Options{}, recs...)
	s := h.Series[0]
	if h.Backwards != 21 || s.Points[0].Revision != "rev0" || s.Lines[0].Steps[0].At != 12 {
		t.Errorf("%d backwards, first %s, step %+v", h.Backwards, s.Points[0].Revision, s.Lines[0].Steps)
	}
}

func TestPoints(t *testing.T) {
	at := func(run, revision string, after time.Duration) *results.Record {
		r := trialAt(0, 0, 50_000)
		r.Run, r.Env.Revision, r.Started = run, revision, dayOne.Add(after)
		r.ID = run + revision + after.String()
		return r
	}
	for _, c := range []struct {
		name string
		recs []*results.Record
		want string
	}{
		{"one run", []*results.Record{at("r1", "a", 0), at("r1", "a", time.Minute)}, "[a×2]"},
		{"a run of a day", []*results.Record{at("r1", "a", 0), at("r1", "a", 24*time.Hour)}, "[a×2]"},
		{"runs in turns", []*results.Record{at("r1", "a", 0), at("r2", "b", time.Minute), at("r3", "a", 2*time.Minute), at("r4", "b", 3*time.Minute)}, "[a×2 b×2]"},
		{"again the next day", []*results.Record{at("r1", "a", 0), at("r2", "a", 24*time.Hour)}, "[a×1 a×1]"},
		{"back to a revision", []*results.Record{at("r1", "a", 0), at("r2", "b", 24*time.Hour), at("r3", "a", 48*time.Hour)}, "[a×1 b×1 a×1]"},
		{"within the hour", []*results.Record{at("r1", "a", 0), at("r2", "a", time.Hour)}, "[a×2]"},
		{"after it", []*results.Record{at("r1", "a", 0), at("r2", "a", time.Hour+11*time.Second)}, "[a×1 a×1]"},
		{"the same record", []*results.Record{at("r1", "a", 0), at("r1", "a", 0)}, "[a×1]"},
	} {
		var got []string
		for _, p := range collect(t, Options{}, c.recs...).Series[0].Points {
			got = append(got, fmt.Sprintf("%s×%d", p.Revision, p.Trials))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *results.Record)
		want   int
	}{
		{"nothing", func(*results.Record) {}, 1},
		{"seed, command and workload", func(r *results.Record) { r.Plan.Seed, r.Plan.Command, r.Plan.Workload = 2, "x", "y" }, 1},
		{"versions", func(r *results.Record) {
			r.Server.Version, r.Env.Go, r.Env.Kernel, r.Env.Libraries = "8", "go2", "7", nil
		}, 1},
		{"address of a private server", func(r *results.Record) { r.Server.Addr = "/tmp/x" }, 1},
		{"traits", func(r *results.Record) { r.Traits.Fair = true }, 1},
		{"plan", func(r *results.Record) { r.Plan.Clients++ }, 2},
		{"kind of server", func(r *results.Record) { r.Server.Kind = "embedded" }, 2},
		{"another server", func(r *results.Record) { r.Server.Name = "valkey" }, 2},
		{"processor", func(r *results.Record) { r.Env.CPU = "another" }, 2},
		{"cores", func(r *results.Record) { r.Env.GOMAXPROCS = 1 }, 2},
	} {
		a, b := trialAt(0, 0, 50_000), trialAt(1, 0, 50_000)
		c.change(b)
		h := collect(t, Options{}, a, b)
		if len(h.Series) != c.want {
			t.Errorf("%s: %d series, want %d", c.name, len(h.Series), c.want)
		}
		if moved := a.Env.CPU != b.Env.CPU || a.Env.GOMAXPROCS != b.Env.GOMAXPROCS; moved != (h.Machines == 2) {
			t.Errorf("%s: %d machines", c.name, h.Machines)
		}
	}
}

func TestLeftOut(t *testing.T) {
	recs := nights(rng(4), 0.01, levels([2]float64{4, 50_000})...)
	recs[3].Partial = "interrupted"
	recs = append(recs, recs[5])
	response, _ := metric.Named("response.p99")
	locks, _ := metric.Named("locks/s")
	h := collect(t, Options{Since: dayOne.AddDate(0, 0, 1), Figures: []*metric.Metric{response, locks}}, recs...)
	if h.Records != 8 || h.Partial != 1 || h.Duplicates != 1 || h.Earlier != 3 || len(h.Series[0].Points) != 3 {
		t.Errorf("%+v", h)
	}
	if len(h.Series[0].Lines) != 1 || len(h.Unknown) != 1 || h.Unknown[0].Name != "response.p99" {
		t.Errorf("lines %+v, unknown %+v", h.Series[0].Lines, h.Unknown)
	}
}

// TestUnknown leaves out a default figure that no trial of a cell knows, and says of which, and whether of all.
func TestUnknown(t *testing.T) {
	quick := func(clients int) *results.Record {
		r := trialAt(0, clients, 50_000)
		r.ID, r.Plan.Clients = fmt.Sprint(clients), clients
		r.Latency = nil
		return r
	}
	names := func(list []*metric.Metric) (names []string) {
		for _, f := range list {
			names = append(names, f.Name)
		}
		return names
	}
	h := collect(t, Options{}, quick(1), quick(2))
	if got := names(h.Unknown); !slices.Equal(got, []string{"acquire.p99"}) || len(h.Series[1].Unknown) != 1 {
		t.Errorf("unknown are %v", got)
	}
	h = collect(t, Options{}, quick(1), trialAt(0, 0, 50_000))
	if len(h.Unknown) != 0 || !slices.Equal(names(h.Series[0].Unknown), []string{"acquire.p99"}) || h.Series[1].Unknown != nil {
		t.Errorf("of all %v, of the first cell %v, of the second %v", names(h.Unknown), names(h.Series[0].Unknown), names(h.Series[1].Unknown))
	}
}

// TestGaps has nights on which the figure is not known.
func TestGaps(t *testing.T) {
	recs := nights(rng(6), 0.005, levels([2]float64{12, 50_000}, [2]float64{12, 40_000})...)
	for _, r := range recs[30:39] { // nights 10, 11 and 12
		r.Latency = nil
	}
	l := collect(t, Options{}, recs...).Series[0].Lines[1]
	if l.Figure.Name != "acquire.p99" || len(l.Steps) != 1 || l.Steps[0].At != 13 || l.Steps[0].Last != 9 || l.Values[11].N != 0 || l.Latest() != 23 {
		t.Errorf("%+v", l.Steps)
	}
}

func TestViolationsAndSaturation(t *testing.T) {
	a, b := trialAt(0, 0, 50_000), trialAt(0, 1, 50_000)
	a.Safety.Violations, a.Safety.Overstayed, b.Generator.Saturated = 5, 2, true
	p := collect(t, Options{}, a, b).Series[0].Points[0]
	if p.Violations != 3 || p.Saturated != 1 || p.Trials != 2 {
		t.Errorf("%+v", p)
	}
	owned, free, early := trialAt(0, 0, 50_000), trialAt(0, 1, 50_000), trialAt(0, 2, 50_000)
	for _, r := range []*results.Record{owned, free, early} {
		r.Safety.WrongReleases = 4
	}
	owned.Traits.Owned, early.Traits.Owned, early.Partial = true, true, "interrupted"
	h := collect(t, Options{}, owned, free, early)
	if n := h.Series[0].Points[0].Violations; n != 4 || h.Partial != 1 || h.Violated != 1 {
		t.Errorf("%d violations, %d of %d partial records violated; want the wrong releases of the owned lock", n, h.Violated, h.Partial)
	}
}

// TestSteepDrift multiplies a latency in the course of a history, which is worse however much it is, and also if every other
// point does not know it.
func TestSteepDrift(t *testing.T) {
	for _, c := range []struct {
		most float64
		gaps bool
	}{{1.5, false}, {1.5, true}, {144, false}, {144, true}, {1. / 144, false}} {
		const nights = 41
		var recs []*results.Record
		for night := range nights {
			r := trialAt(night, 0, 50_000)
			l := r.Latency[results.Acquire]
			l.P99 = time.Duration(1e7 * math.Pow(c.most, float64(night)/(nights-1)))
			r.Latency = map[results.Metric]results.Latency{results.Acquire: l}
			if c.gaps && night%2 == 1 {
				r.Latency = nil
			}
			recs = append(recs, r)
		}
		l := collect(t, Options{}, recs...).Series[0].Lines[1]
		if d := l.Drifted(); !l.Drifts || math.Abs(d/c.most-1) > 1e-4 || (l.Loss(d) > 0) != (c.most > 1) {
			t.Errorf("%+v: drifts %v, to %v of what it was, a loss of %v", c, l.Drifts, d, l.Loss(d))
		}
	}
}

// TestOpenLoop has the response in place of the acquisition, whichever class it is that is open.
func TestOpenLoop(t *testing.T) {
	for _, change := range []func(*spec.Plan){
		func(p *spec.Plan) { p.Rate = spec.Must(spec.ParseRate("5000")) },
		func(p *spec.Plan) {
			p.Classes = []spec.Class{{Name: "a"}, {Name: "b", Load: spec.Load{Burst: time.Second}}}
		},
	} {
		r := trialAt(0, 0, 5000)
		change(&r.Plan)
		r.Latency[results.Response] = r.Latency[results.Acquire]
		if l := collect(t, Options{}, r).Series[0].Lines; len(l) != 2 || l[1].Figure.Name != "response.p99" {
			t.Errorf("%+v", l)
		}
	}
}

// TestMemory keeps nothing of a record but numbers: what a collector holds must not grow with the histograms.
func TestMemory(t *testing.T) {
	r := trialAt(0, 0, 50_000)
	c := NewCollector(Options{})
	if err := c.Add(r); err != nil {
		t.Fatal(err)
	}
	s := c.order[0].sample
	if s.Latency != nil || s.Series != nil || s.Env.Libraries != nil || s.Safety.Events != nil {
		t.Errorf("the sample keeps %+v", s)
	}
}
