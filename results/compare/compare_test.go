package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

var ids int

// trial returns a whole trial with so many locks a second and such a p99.
func trial(rate float64, p99 time.Duration) *results.Record {
	ids++
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("id%d", ids), Run: "run", Trial: 1,
		Plan: spec.Plan{Driver: "rueidis", Lock: "set-nx", Wait: "backoff", BackoffMin: time.Millisecond, Keys: 10,
			Load:     spec.Load{Clients: 64, TTL: 30 * time.Second},
			Duration: 10 * time.Second, Seed: uint64(ids), Oracle: true, Server: "private"},
		Traits:  results.Traits{Exclusive: true},
		Env:     results.Env{Lockbench: "v1", Go: "go1.26", OS: "linux", Arch: "amd64", CPU: "EPYC", CPUs: 2, GOMAXPROCS: 2},
		Server:  results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Addr: fmt.Sprint(ids)},
		Elapsed: time.Second, Counts: results.Counts{Acquired: int64(rate)},
		Latency: map[results.Metric]results.Latency{results.Acquire: {Count: 100_000, P50: p99 / 4, P99: p99, P999: p99, Max: p99}},
		Safety:  results.Safety{Checked: true, Grants: 100_000},
	}
}

// series returns ten trials around a rate and a p99 of 10 ms, ± 1 %.
func series(rate float64) (recs []*results.Record) {
	for i := range 10 {
		f := 1 + 0.002*float64(i) - 0.009
		recs = append(recs, trial(rate*f, time.Duration(10e6/f)))
	}
	return recs
}

// each changes all records.
func each(recs []*results.Record, change func(r *results.Record)) []*results.Record {
	for _, r := range recs {
		change(r)
	}
	return recs
}

// input returns a file of records.
func input(name string, recs ...[]*results.Record) Input {
	in := Input{Name: name}
	for _, r := range slices.Concat(recs...) {
		in.Cells = append(in.Cells, &results.Cell{Trials: []*results.Record{r}})
	}
	return in
}

func compared(t *testing.T, base, head []*results.Record, o Options) *Comparison {
	t.Helper()
	c, err := Compare(input("base.jsonl", base), input("head.jsonl", head), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func thresholds(t *testing.T, text string) []Threshold {
	t.Helper()
	list, err := ParseThresholds(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestVerdicts judges one threshold of one cell.
func TestVerdicts(t *testing.T) {
	wide := func(rate float64) (recs []*results.Record) { // ± 30 %
		for i := range 10 {
			recs = append(recs, trial(rate*(0.7+0.06*float64((i*7)%10)), 10*time.Millisecond))
		}
		return recs
	}
	soaring := func() (recs []*results.Record) { // half of them as the others, half of them hundreds of times as fast
		for i := range 10 {
			recs = append(recs, trial(1e5*[]float64{0.99, 265}[i%2], 10*time.Millisecond))
		}
		return recs
	}
	violating := func(recs []*results.Record) []*results.Record {
		recs[3].Safety.Violations = 2
		return recs
	}
	unchecked := func(recs []*results.Record) []*results.Record {
		return each(recs, func(r *results.Record) { r.Safety = results.Safety{} })
	}
	errors := func(base int64) []*results.Record {
		return each(series(1e5), func(r *results.Record) { r.Counts.Errors = map[string]int64{"timeout": base + int64(ids%3)} })
	}
	none := func() []*results.Record { return series(0) }
	survivors := func(whole int) []*results.Record {
		recs := series(1e5)
		for _, r := range recs[whole:] {
			r.Partial = "the server was gone"
		}
		return recs
	}
	partial := series(1e5)[:1]
	partial[0].Partial, partial[0].Safety.Violations = "interrupted", 1
	for name, c := range map[string]struct {
		on         string
		base, head []*results.Record
		verdict    Verdict
		why        string
	}{
		"the same":                {"locks/s<-5%", series(1e5), series(1e5), Unchanged, ""},
		"a clear fall":            {"locks/s<-5%", series(1e5), series(0.9e5), Regressed, "−10.0 %, and −5 % is the limit"},
		"a clear rise of p99":     {"acquire.p99>+10%", series(1e5), series(0.8e5), Unchanged, ""}, // p99 depends on the scatter alone
		"a fall within the limit": {"locks/s<-5%", series(1e5), series(0.97e5), Unchanged, "−3.0 %, which locks/s<-5% allows"},
		"a rise within the limit": {"acquire.p99>+10%", series(1e5), later(series(1e5), 1.03), Unchanged, "+3.0 %, which acquire.p99>+10% allows"},
		"earlier":                 {"acquire.p99>+10%", series(1e5), later(series(1e5), 0.9), Improved, ""},
		"a rise":                  {"locks/s<-5%", series(1e5), series(1.1e5), Improved, ""},
		"a rise of no interest":   {"locks/s<-5%", series(1e5), series(1.018e5), Unchanged, ""},
		"alarm at any change":     {"locks/s>+5%", series(1e5), series(1.1e5), Regressed, "+10.0 %, and +5 % is the limit"},
		"within scatter":          {"locks/s<-5%", wide(1e5), wide(1.01e5), Inconclusive, "between −17.2 % and +23.2 %, and the limit is −5 %"},
		"large, perhaps chance":   {"locks/s<-5%", wide(1e5), wide(0.92e5), Inconclusive, "between −24.6 % and +12.2 %"},
		"too few":                 {"locks/s<-5%", series(1e5)[:3], series(0.5e5)[:3], Inconclusive, "3 and 3 trials are too few for 1 test"},
		"unlike numbers":          {"locks/s<-5%", series(1e5)[:1], series(0.5e5), Inconclusive, "1 and 10 trials are too few for 1 test"},
		"no violation":            {"violations>0", series(1e5), series(1e5), Unchanged, ""},
		"one violation":           {"violations>0", series(1e5), violating(series(1e5)), Regressed, "a trial of the head has 2"},
		"only in the base":        {"violations>0", violating(series(1e5)), series(1e5), Unchanged, ""},
		"in a partial trial":      {"violations>0", series(1e5), slices.Concat(series(1e5), partial), Regressed, "a trial of the head has 1"},
		"survivors":               {"locks/s<-5%", series(1e5), survivors(3), Inconclusive, "counted: 3 of 10 trials of the head"},
		"a few ended early":       {"locks/s<-5%", series(1e5), survivors(8), Unchanged, ""},
		"the oracle off":          {"violations>0", series(1e5), unchecked(series(1e5)), Inconclusive, "the oracle was off"},
		"neither knows":           {"recovery.p99>+5%", series(1e5), series(1e5), Inconclusive, "known of 0 of 10 trials of the base: too few values"},
		"closed loop":             {"response.p99>+5%", series(1e5), series(1e5), Inconclusive, "known of 0 of 10 trials of the base: only an open loop has it"},
		"median above":            {"acquire.p99>9ms", series(1e5), series(1e5), Regressed, "the median of the head has 10.0 ms"},
		"median below":            {"acquire.p99>11ms", series(1e5), series(1e5), Unchanged, ""},
		"too slow":                {"locks/s<50k", series(1e5), series(0.4e5), Regressed, "the median of the head has 40,000"},
		"one trial is enough":     {"locks/s<50k", series(1e5)[:1], series(0.4e5)[:1], Regressed, "the median of the head has"},
		"better, perhaps by far":  {"locks/s<-5%", series(1e5), soaring(), NotWorse, ""},
		"errors from 0":           {"errors>+10%", series(1e5), errors(50), Regressed, "rose from 0"},
		"errors, none":            {"errors>+10%", series(1e5), series(1e5), Unchanged, ""},
		"fewer errors":            {"errors>+10%", errors(100), errors(50), Improved, ""},
		"errors below 0":          {"errors<-10%", series(1e5), errors(50), NotWorse, ""},
		"no lock on either side":  {"locks/s<-5%", none(), none(), Inconclusive, "0 in 10 of 10 trials of the base and 10 of 10"},
		"locks at last":           {"locks/s<-5%", none(), series(1e5), Improved, ""},
		"a lock now and then":     {"locks/s<-5%", slices.Concat(none()[:9], series(1e5)[:1]), none(), Inconclusive, "0 in 9 of 10 trials of the base and 10 of 10"},
		"no lock any more":        {"locks/s<-5%", series(1e5), none(), Regressed, "−100 %"},
		"no lock, any change":     {"locks/s>+5%", none(), none(), Inconclusive, "0 in 10 of 10 trials of the base and 10 of 10"},
		"a single error":          {"errors>+10%", series(1e5), slices.Concat(series(1e5)[:9], errors(1)[:1]), Inconclusive, "0 in 10 of 10 trials of the base and 9 of 10"},
		"no direction":            {"hold.p50>+5%", holds(series(1e5), 10), holds(series(1e5), 5), NotWorse, ""},
		"the worst of many":       {"errors<5", series(1e5), slices.Concat(errors(50), series(1e5)[:1]), Regressed, "a trial of the head has 0"},
	} {
		got := compared(t, c.base, c.head, Options{Thresholds: thresholds(t, c.on)})
		r := got.Cells[0].Figures[0]
		if r.Verdict != c.verdict || !strings.HasPrefix(r.Why, c.why) || c.why == "" && r.Why != "" {
			t.Errorf("%s: %s: %s (change %+v, p %v), want %s: %s", name, r.Verdict, r.Why, r.Change, r.P, c.verdict, c.why)
		}
		if got.Verdict != c.verdict || got.Cells[0].Verdict != c.verdict {
			t.Errorf("%s: the whole is %s, want %s", name, got.Verdict, c.verdict)
		}
	}
}

// later returns the trials with a p99 of so many times what it was.
func later(recs []*results.Record, by float64) []*results.Record {
	return each(recs, func(r *results.Record) {
		l := r.Latency[results.Acquire]
		l.P99 = time.Duration(by * float64(l.P99))
		l.P999, l.Max = max(l.P999, l.P99), max(l.Max, l.P99)
		r.Latency[results.Acquire] = l
	})
}

func holds(recs []*results.Record, ms int) []*results.Record {
	return each(recs, func(r *results.Record) {
		d := time.Duration(ms)*time.Millisecond + time.Duration(ids%10)*time.Microsecond
		r.Latency[results.Hold] = results.Latency{Count: 1e5, P50: d, P99: d}
	})
}

// TestNeeded: with too few trials it says how many can tell anything, and with too much scatter how many would tell.
func TestNeeded(t *testing.T) {
	c := compared(t, series(1e5)[:3], series(1e5)[:3], Options{Thresholds: thresholds(t, "locks/s<-5%")})
	if n := c.Cells[0].Figures[0].Needed; n != 4 { // 2/C(8,4) = 0.029, and hardly any scatter
		t.Errorf("three trials: needs %d, want 4", n)
	}
	one := compared(t, series(1e5)[:1], series(1e5)[:1], Options{Thresholds: thresholds(t, "locks/s<-5%,acquire.p99>+5%")})
	if n := one.Cells[0].Figures[0].Needed; n != 5 || one.Tests != 0 { // 2/C(10,5) = 0.0079 < 0.025 < 2/C(8,4)
		t.Errorf("one trial, two figures: needs %d after %d tests, want 5 after none", n, one.Tests)
	}
	wide := func(recs []*results.Record) []*results.Record { // as far apart as a threshold is away
		for i, r := range recs {
			r.Counts.Acquired += int64(5000 * (i % 4))
		}
		return recs
	}
	six := compared(t, wide(series(1e5)[:6]), wide(series(1e5)[:6]), Options{Thresholds: thresholds(t, "locks/s<-5%")})
	if r := six.Cells[0].Figures[0]; r.Needed <= 6 {
		t.Errorf("six trials that scatter: %+v", r)
	}
}

// TestHolm: the p of all tests are adjusted together, and a figure with two thresholds is tested once.
func TestHolm(t *testing.T) {
	var base, head []*results.Record
	for i, factor := range []float64{1, 0.5, 1.001} {
		of := func(r *results.Record) { r.Plan.Clients = 1 << i }
		base = append(base, each(series(1e5), of)...)
		head = append(head, each(series(1e5*factor), of)...)
	}
	c := compared(t, base, head, Options{Thresholds: thresholds(t, "locks/s<-5%,locks/s>+5%,violations>0")})
	if c.Tests != 3 || len(c.Cells) != 3 || c.Verdict != Regressed {
		t.Fatalf("%d tests of %d cells: %s", c.Tests, len(c.Cells), c.Verdict)
	}
	least := 2 / 184756. // C(20, 10)
	r := c.Cells[1].Figures[0]
	if math.Abs(r.P-3*least) > 1e-9 || r.P == r.Change.P || c.Cells[1].Figures[1].P != r.P || !math.IsNaN(c.Cells[1].Figures[2].P) {
		t.Errorf("p %v, adjusted %v", r.Change.P, r.P)
	}
	if labels := []string{c.Cells[0].Label, c.Cells[1].Label, c.Cells[2].Label}; !slices.Equal(labels, []string{"1 client", "2 clients", "4 clients"}) {
		t.Errorf("labels %q", labels)
	}
	if c.Cells[0].Verdict != Unchanged || c.Cells[1].Verdict != Regressed {
		t.Errorf("%s, %s", c.Cells[0].Verdict, c.Cells[1].Verdict)
	}
}

// TestDefaults: what is judged and shown if nobody says.
func TestDefaults(t *testing.T) {
	names := func(c *Comparison) (judged, shown string) {
		for _, r := range c.Cells[0].Figures {
			if r.Threshold != nil {
				judged += r.Threshold.String() + " "
			} else {
				shown += r.Figure.Name + " "
			}
		}
		return judged, shown
	}
	judged, shown := names(compared(t, series(1e5), series(1e5), Options{}))
	if judged != "locks/s<-5% acquire.p99>+10% violations>0 " || shown != "acquire.p50 server-cpu/lock client-cpu/lock " &&
		shown != "acquire.p50 jain server-cpu/lock client-cpu/lock " {
		t.Errorf("closed loop: %q, %q", judged, shown)
	}
	open := func(r *results.Record) {
		r.Plan.Rate, r.Plan.Oracle, r.Safety = spec.Must(spec.ParseRate("5000")), false, results.Safety{}
		r.Latency[results.Response] = r.Latency[results.Acquire]
	}
	c := compared(t, each(series(1e5), open), each(series(1e5), open), Options{})
	if judged, _ := names(c); judged != "locks/s<-5% response.p99>+10% " {
		t.Errorf("open loop, the oracle off: %q", judged)
	}
	if !slices.Contains(c.Notes, "violations: not judged, the oracle was off") {
		t.Errorf("notes %q", c.Notes)
	}
	short := func(r *results.Record) { r.Latency = nil }
	c = compared(t, each(series(1e5), short), each(series(1e5), short), Options{})
	if want := "acquire.p99: not judged, too few values in a trial (-duration)"; !slices.Contains(c.Notes, want) {
		t.Errorf("notes %q", c.Notes)
	}
}

// TestNoClaim: what breaks mutual exclusion fails the head that claims it, whatever the base claims, and no other.
func TestNoClaim(t *testing.T) {
	claims := func(is bool, breaches int64) []*results.Record {
		return each(series(1e5), func(r *results.Record) {
			r.Traits.Exclusive = is
			r.Safety.Violations, r.Safety.LostUpdates, r.Safety.LostEarly, r.Safety.FenceRegress = breaches, breaches, breaches, breaches
		})
	}
	partial := claims(false, 0)
	partial[0].Partial, partial[0].Safety.Violations = "interrupted", 1
	const note = "violations: not judged, the head does not claim mutual exclusion"
	wrong := func(owned bool) []*results.Record {
		return each(claims(true, 0), func(r *results.Record) { r.Traits.Owned, r.Safety.WrongReleases = owned, 3 })
	}
	for name, c := range map[string]struct {
		base, head []*results.Record
		verdict    Verdict
		said       bool
	}{
		"wrong releases of an owned lock":   {claims(true, 0), wrong(true), Regressed, false},
		"wrong releases of one that is not": {claims(true, 0), wrong(false), Unchanged, false},
		"none claims it":                    {claims(false, 0), claims(false, 7), Unchanged, true},
		"the base claims it":                {claims(true, 0), claims(false, 7), Unchanged, true},
		"it, and a trial ended early":       {claims(true, 0), partial, Unchanged, true},
		"the head claims it":                {claims(false, 7), claims(true, 1), Regressed, false},
		"both claim it":                     {claims(true, 0), claims(true, 1), Regressed, false},
		"the head claims and keeps it":      {claims(false, 0), claims(true, 0), Unchanged, false},
	} {
		for _, on := range []string{"violations>0", DefaultThresholds, "violations>0,violations>+5%,lost-updates>0,lost-early>0,fence-regress>0"} {
			o := Options{Thresholds: thresholds(t, on)}
			if on == DefaultThresholds {
				o.Thresholds = nil
			}
			got := compared(t, c.base, c.head, o)
			if got.Verdict != c.verdict || slices.Contains(got.Notes, note) != c.said {
				t.Errorf("%s, -fail-on %q: %s, want %s; notes %q", name, on, got.Verdict, c.verdict, got.Notes)
			}
			shown := slices.ContainsFunc(got.Cells[0].Figures, func(r Result) bool {
				return r.Figure.Name == "violations" && (r.Threshold == nil) == c.said && (r.Verdict == "") == c.said
			})
			if !shown {
				t.Errorf("%s, -fail-on %q: violations are not shown, or judged if not claimed: %+v", name, on, got.Cells[0].Figures)
			}
		}
	}
}

// TestBlindHead: a threshold of violations that holds where none could have been seen is said to be worth nothing.
func TestBlindHead(t *testing.T) {
	for watched, said := range map[int64]bool{0: true, 100: false} {
		head := each(series(1e5), func(r *results.Record) { r.Safety.Power = &results.Power{Watched: watched} })
		c := compared(t, series(1e5), head, Options{})
		notes := strings.Join(c.Notes, "\n") // of all cells
		if strings.Contains(notes, "no client met a rival") != said || c.Verdict != Unchanged {
			t.Errorf("%d watched: %s, notes %q", watched, c.Verdict, notes)
		}
	}
	lost := each(series(1e5), func(r *results.Record) { r.Safety.LostEarly = 1 })
	if c := compared(t, series(1e5), lost, Options{}); c.Verdict != Regressed {
		t.Errorf("locks were lost early, and the verdict is %s", c.Verdict)
	}
}

// TestRegressedWithinInterval: trials of a machine with two speeds, whose medians are further apart than the limit,
// and whose interval rules the limit out: the figure that is judged is the one that is bounded.
func TestRegressedWithinInterval(t *testing.T) {
	some := func(n int, rate float64, m int, other float64) (recs []*results.Record) {
		for range n {
			recs = append(recs, trial(rate, 10*time.Millisecond))
		}
		for range m {
			recs = append(recs, trial(other, 10*time.Millisecond))
		}
		return recs
	}
	o := Options{Thresholds: thresholds(t, "locks/s<-5%")}
	r := compared(t, some(11, 100_000, 9, 96_000), some(11, 94_900, 9, 99_000), o).Cells[0].Figures[0]
	if c := r.Change; r.Verdict == Regressed || c.Ratio < c.Low || c.High < c.Ratio {
		t.Errorf("%s: ratio %.4f, interval %.4f to %.4f", r.Verdict, c.Ratio, c.Low, c.High)
	}
	r = compared(t, some(11, 100_000, 9, 96_000), some(11, 90_000, 9, 87_000), o).Cells[0].Figures[0]
	if r.Verdict != Regressed {
		t.Errorf("a loss of 9 %%: %s", r.Verdict)
	}
}

// TestOpposed: where the medians went up and the pairs went down, there is no per cent, and no verdict.
func TestOpposed(t *testing.T) {
	var recs [2][]*results.Record
	for i, rates := range [][2]float64{{100, 80}, {110, 88}, {120, 96}, {1000, 800}, {130, 900}, {135, 910}, {140, 112}, {900, 720}, {95, 76}, {950, 760}} {
		for side, name := range []string{results.SideBase, results.SideHead} {
			r := trial(1000*rates[side], 10*time.Millisecond)
			r.Side, r.Run, r.Trial = name, "r", i+1
			recs[side] = append(recs[side], r)
		}
	}
	r := compared(t, recs[0], recs[1], Options{Thresholds: thresholds(t, "locks/s<-5%")}).Cells[0].Figures[0]
	if r.Verdict != Inconclusive || !r.Change.Opposed || !math.IsNaN(r.Change.Ratio) || !strings.HasPrefix(r.Why, "the medians went one way") {
		t.Errorf("%s: %s: %+v", r.Verdict, r.Why, r.Change)
	}
}

// TestTwoSpeeds: of machines with two speeds no regression is called that its own interval rules out, and no per cent is
// printed that is not in the interval, or that medians far on the other side contradict.
func TestTwoSpeeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	regressed, opposed := 0, 0
	for range 400 {
		var recs [2][]*results.Record
		slow := 0.3 + 0.69*rng.Float64()
		for side := range 2 {
			for range 20 {
				rate := 1e5 * []float64{1, slow}[rng.IntN(2)] * []float64{1, 0.97}[side] * math.Exp(0.005*rng.NormFloat64())
				recs[side] = append(recs[side], trial(rate, 10*time.Millisecond))
			}
		}
		r := compared(t, recs[0], recs[1], Options{Thresholds: thresholds(t, "locks/s<-2%")}).Cells[0].Figures[0]
		c := r.Change
		if r.Verdict == Regressed && c.Low > 0.98 || c.Ratio < c.Low || c.Ratio > c.High {
			t.Errorf("%s: %+v", r.Verdict, c)
		}
		if medians := c.Head.Median / c.Base.Median; (medians-1)*(c.Ratio-1) < 0 && math.Abs(math.Log(medians/c.Ratio)) > 0.05 {
			t.Errorf("from median to median %.2f, and %.2f is printed", medians, c.Ratio)
		}
		regressed, opposed = regressed+number([]Result{r}, func(r Result) bool { return r.Verdict == Regressed }),
			opposed+number([]Result{r}, func(r Result) bool { return r.Change.Opposed })
	}
	if regressed == 0 || opposed == 0 {
		t.Errorf("%d regressed, and %d are opposed: the test sees too little", regressed, opposed)
	}
	t.Logf("%d regressed, %d opposed", regressed, opposed)
}

// TestWorkedExample is that of judge.go.
func TestWorkedExample(t *testing.T) {
	of := func(rates ...float64) (recs []*results.Record) {
		for _, rate := range rates {
			recs = append(recs, trial(1000*rate, 10*time.Millisecond))
		}
		return recs
	}
	for _, c := range []struct {
		head []float64
		want string
	}{
		{[]float64{93, 92, 94, 91, 93, 92}, "0.925 0.910–0.940 0.0043 regressed"},
		{[]float64{97, 94, 99, 92, 96, 95}, "0.955 0.929–0.980 0.0130 inconclusive"},
		{[]float64{98, 97, 98, 97, 99, 97}, "0.980 0.960–0.990 0.0303 no change"},
		{[]float64{100, 101, 99, 100, 102, 98}, "1.000 0.980–1.020 1.0000 no change"},
		{[]float64{100, 112, 98, 110, 99, 104}, "1.020 0.980–1.111 0.9221 not worse"},
		{[]float64{106, 107, 105, 108, 106, 107}, "1.065 1.049–1.082 0.0043 improved"},
	} {
		r := compared(t, of(100, 101, 99, 102, 98, 100), of(c.head...), Options{}).Cells[0].Figures[0]
		got := fmt.Sprintf("%.3f %.3f–%.3f %.4f %s", r.Change.Ratio, r.Change.Low, r.Change.High, r.P, r.Verdict)
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.head, got, c.want)
		}
	}
}
