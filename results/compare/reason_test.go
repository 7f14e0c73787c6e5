package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/stats"
)

// wide returns ten trials that scatter by ± 30 %.
func wide(rate float64) (recs []*results.Record) {
	for i := range 10 {
		recs = append(recs, trial(rate*(0.7+0.06*float64((i*7)%10)), 10*time.Millisecond))
	}
	return recs
}

// TestReasons has each reason in turn.
func TestReasons(t *testing.T) {
	partial := func(recs []*results.Record) []*results.Record {
		for _, r := range recs[3:] {
			r.Partial = "the server was gone"
		}
		return recs
	}
	other := func(recs []*results.Record) []*results.Record {
		return each(recs, func(r *results.Record) { r.Env.CPU = "another" })
	}
	dead := func(n int, recs []*results.Record) []*results.Record { // n trials without a lock, and so without latencies
		each(recs[:n], func(r *results.Record) { r.Counts.Acquired, r.Latency = 0, nil })
		return recs
	}
	cells := func(driver string, recs []*results.Record) []*results.Record {
		return each(recs, func(r *results.Record) { r.Plan.Driver = driver })
	}
	for name, c := range map[string]struct {
		on         string
		base, head []*results.Record
		want       []Reason
	}{
		"nothing":                        {"locks/s<-5%", series(1e5), series(1e5), nil},
		"a regression":                   {"locks/s<-5%", series(1e5), series(0.9e5), nil},
		"scatter":                        {"locks/s<-5%", wide(1e5), wide(1.01e5), []Reason{Scatter}},
		"perhaps chance":                 {"locks/s<-5%", wide(1e5), wide(0.92e5), []Reason{Scatter}},
		"too few":                        {"locks/s<-5%", series(1e5)[:3], series(0.5e5)[:3], []Reason{TooFew}},
		"from 0":                         {"errors>+5%", series(1e5), each(series(1e5)[:1], func(r *results.Record) { r.Counts.Errors = map[string]int64{"x": 1} }), []Reason{Zero}},
		"nothing known":                  {"recovery.p99>+5%", series(1e5), series(1e5), []Reason{Unmeasured}},
		"the head's own":                 {"recovery.p99>5ms", series(1e5), series(1e5), []Reason{Unmeasured}},
		"half dead":                      {"locks/s<-5%", series(1e5), dead(5, series(1e5)), []Reason{Zero}},
		"one dead":                       {"locks/s<-5%", series(1e5), dead(1, series(1e5)), []Reason{Zero}},
		"one dead before":                {"locks/s<-5%", dead(1, series(1e5)), series(1e5), []Reason{Zero}},
		"most dead":                      {"locks/s<-5%", series(1e5), dead(9, series(1e5)), nil},
		"the p99 of those that are not":  {"acquire.p99>+10%", series(1e5), dead(5, series(1e5)), []Reason{Unmeasured}},
		"the p99 of those that were not": {"acquire.p99>+10%", dead(5, series(1e5)), series(1e5), []Reason{Unmeasured}},
		"the p99 of nearly all":          {"acquire.p99>+10%", series(1e5), dead(4, series(1e5)), nil},
		"survivors":                      {"locks/s<-5%", series(1e5), partial(series(1e5)), []Reason{NoTrials}},
		"machines":                       {"locks/s<-5%", series(1e5), other(series(1e5)), []Reason{Unlike}},
		"saturated":                      {"locks/s<-5%", busy(10, series(1e5)), busy(10, series(1e5)), []Reason{Saturated}},
		"a cell less": {"locks/s<-5%", slices.Concat(cells("a", wide(1e5)), cells("b", series(1e5))), cells("a", wide(1e5)),
			[]Reason{Missing, Scatter}},
		"two reasons": {"locks/s<-5%,recovery.p99>+5%", wide(1e5), wide(1.01e5), []Reason{Unmeasured, Scatter}},
	} {
		t.Run(name, func(t *testing.T) {
			found := compared(t, c.base, c.head, Options{Thresholds: thresholds(t, c.on)})
			if got := found.Reasons(); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v: %+v", got, c.want, found.Cells[0].Figures)
			}
			for _, cell := range found.Cells {
				for _, r := range cell.Figures {
					if (r.Verdict == Inconclusive) != (r.Reason != "") {
						t.Errorf("%s is %s for the reason %q", r.Figure.Name, r.Verdict, r.Reason)
					}
				}
			}
		})
	}
	for _, r := range reasons {
		if r.about == "" {
			t.Errorf("nothing is said of %s", r.Reason)
		}
	}
}

// TestLost: a trial whose server was replaced, or evicted keys, is left out with its violations, and with its pair; if most
// trials of a side are lost, that is the reason why nothing can be told.
func TestLost(t *testing.T) {
	lose := func(n int, change func(r *results.Record), recs []*results.Record) []*results.Record {
		return append(each(recs[:n], func(r *results.Record) { r.Safety.Violations = 3; change(r) }), recs[n:]...)
	}
	restarted := func(r *results.Record) { r.Server.Replaced = true }
	cutOff := func(r *results.Record) { restarted(r); r.Partial = "the server was gone" }
	full := func(r *results.Record) { r.Server.Evicted = 7 }
	for name, c := range map[string]struct {
		base, head []*results.Record
		force      bool
		want       Verdict
		reasons    []Reason
		note       string
	}{
		"one of the head":         {series(1e5), lose(1, restarted, series(1e5)), false, Unchanged, nil, "replaced: 1 of 10 trials of the head left out"},
		"one that was cut off":    {series(1e5), lose(1, cutOff, series(1e5)), false, Unchanged, nil, "replaced: 1 of 10 trials of the head left out"},
		"one of the base":         {lose(1, restarted, series(1e5)), series(0.5e5), false, Regressed, nil, "replaced: 1 of 10 trials of the base left out"},
		"some that evicted":       {series(1e5), lose(4, full, series(1e5)), false, Unchanged, nil, "evicted: 4 of 10 trials of the head left out"},
		"most":                    {series(1e5), lose(6, restarted, series(1e5)), false, Inconclusive, []Reason{Replaced}, "replaced: 6 of 10 trials of the head left out"},
		"all that evicted":        {lose(10, full, series(1e5)), series(1e5), false, Inconclusive, []Reason{Evicted}, "evicted: 10 of 10 trials of the base left out"},
		"by force":                {series(1e5), lose(1, restarted, series(1e5)), true, Regressed, nil, "violated: 1 of 10 trials of the head"},
		"of a server that stayed": {series(1e5), lose(1, func(*results.Record) {}, series(1e5)), false, Regressed, nil, "violated: 1 of 10 trials of the head"},
	} {
		for _, paired := range []bool{false, true} {
			if paired {
				for i := range c.base {
					c.base[i].Side, c.base[i].Trial, c.head[i].Side, c.head[i].Trial = results.SideBase, i+1, results.SideHead, i+1
				}
			}
			got := compared(t, c.base, c.head, Options{Thresholds: thresholds(t, "locks/s<-5%,violations>0"), Force: c.force})
			violated := c.want == Regressed && strings.HasPrefix(c.note, "violated")
			if got.Verdict != c.want || !slices.Equal(got.Reasons(), c.reasons) || got.Violated() != violated || !slices.Contains(got.Notes, c.note) {
				t.Errorf("%s, paired %v: %s %v, violated: %v, %q", name, paired, got.Verdict, got.Reasons(), got.Violated(), got.Notes)
			}
		}
	}
}

// TestSaturatedHead: a regression that only the head's machine may have made says so.
func TestSaturatedHead(t *testing.T) {
	const said = "saturated: the head alone"
	for name, c := range map[string]struct {
		base []*results.Record
		want bool
	}{"alone": {series(1e5), true}, "with the base": {busy(10, series(1e5)), false}} {
		got := compared(t, c.base, busy(10, series(0.9e5)), Options{Thresholds: thresholds(t, "locks/s<-5%")})
		if notes := strings.Join(got.Notes, "\n"); got.Verdict != Regressed || strings.Contains(notes, said) != c.want {
			t.Errorf("%s: %s, %q", name, got.Verdict, notes)
		}
	}
}

// busy saturates the first n trials.
func busy(n int, recs []*results.Record) []*results.Record {
	each(recs[:n], func(r *results.Record) { r.Generator.Saturated, r.Generator.Why = true, "lockbench used all cores" })
	return recs
}

// TestSaturated: what a saturated base could not show, the head may have lost. A regression is one all the same.
func TestSaturated(t *testing.T) {
	memory := func(recs []*results.Record) []*results.Record {
		return each(recs, func(r *results.Record) { r.Plan.Server, r.Server.Kind = "in-process", "in-process" })
	}
	for name, c := range map[string]struct {
		on         string
		base, head []*results.Record
		force      bool
		verdict    Verdict
		reason     Reason
	}{
		"no change":           {"locks/s<-5%", busy(10, series(1e5)), busy(10, series(1e5)), false, Inconclusive, Saturated},
		"a latency":           {"acquire.p99>+10%", busy(10, series(1e5)), busy(10, series(1e5)), false, Inconclusive, Saturated},
		"improved":            {"locks/s<-5%", busy(10, series(1e5)), busy(10, series(1.2e5)), false, Inconclusive, Saturated},
		"a small loss":        {"locks/s<-5%", busy(10, series(1e5)), busy(10, series(0.98e5)), false, Inconclusive, Saturated},
		"scatter besides":     {"locks/s<-5%", busy(10, wide(1e5)), busy(10, wide(1e5)), false, Inconclusive, Saturated},
		"regressed":           {"locks/s<-5%", busy(10, series(1e5)), busy(10, series(0.9e5)), false, Regressed, ""},
		"regressed, and free": {"locks/s<-5%", busy(10, series(1e5)), series(0.9e5), false, Regressed, ""},
		"the base alone":      {"locks/s<-5%", busy(10, series(1e5)), series(1e5), false, Inconclusive, Saturated},
		"the head alone":      {"locks/s<-5%", series(1e5), busy(10, series(1e5)), false, Unchanged, ""},
		"improved so far":     {"locks/s<-5%", series(1e5), busy(10, series(1.2e5)), false, Improved, ""},
		"half of the trials":  {"locks/s<-5%", busy(5, series(1e5)), series(1e5), false, Inconclusive, Saturated},
		"fewer":               {"locks/s<-5%", busy(4, series(1e5)), busy(10, series(1e5)), false, Unchanged, ""},
		"forced":              {"locks/s<-5%", busy(10, series(1e5)), busy(10, series(1e5)), true, Unchanged, ""},
		"a limit":             {"locks/s<50k", busy(10, series(1e5)), busy(10, series(1e5)), false, Unchanged, ""},
		"a count":             {"errors>+5%", busy(10, series(1e5)), busy(10, series(1e5)), false, Unchanged, ""},
		"nothing to lose":     {"locks/s<-5%", busy(10, series(0)), busy(10, series(0)), false, Inconclusive, Zero},
		"in the process":      {"locks/s<-5%", memory(busy(10, series(1e5))), memory(busy(10, series(1e5))), false, Unchanged, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := compared(t, c.base, c.head, Options{Thresholds: thresholds(t, c.on), Force: c.force})
			r := found.Cells[0].Figures[0]
			if r.Verdict != c.verdict || r.Reason != c.reason || found.Verdict != c.verdict {
				t.Errorf("%s %q (%s), want %s %q", r.Verdict, r.Reason, r.Why, c.verdict, c.reason)
			}
			if r.Reason == Saturated && (r.Needed > 0 || !strings.Contains(r.Why, "of 10 trials of the base saturated")) {
				t.Errorf("%d trials are needed: %s", r.Needed, r.Why)
			}
		})
	}
}

// TestWorse orders what GitHub and a short table show first.
func TestWorse(t *testing.T) {
	var base, head []*results.Record
	for i, rate := range []float64{1e5, 0.9e5, 0.5e5, 1.2e5, 0.8e5, 1.5e5} {
		of := func(r *results.Record) { r.Plan.Clients = i + 1 }
		base, head = append(base, each(series(1e5), of)...), append(head, each(series(rate), of)...)
	}
	head[5].Safety.Violations = 1                                                                 // clients 1
	each(head[30:40], func(r *results.Record) { r.Safety = results.Safety{} })                    // clients 4
	each(base[:10], func(r *results.Record) { r.Latency = map[results.Metric]results.Latency{} }) // clients 1
	each(base[10:20], func(r *results.Record) { r.Generator.Saturated = true })                   // clients 2
	found := compared(t, base, head, Options{Thresholds: thresholds(t, "locks/s<-5%,acquire.p99>+10%,violations>0,locks/s<70k")})
	var got []string
	for _, r := range found.Judged() {
		if r.Verdict != Unchanged {
			got = append(got, fmt.Sprintf("%s %s", found.Cells[r.Place].Label[:1], r.Threshold))
		}
	}
	want := []string{"1 violations>0", "3 locks/s<-5%", "5 locks/s<-5%", "2 locks/s<-5%", "3 locks/s<70k", // regressed
		"1 acquire.p99>+10%", "4 violations>0", "2 acquire.p99>+10%", // not measured, and saturated
		"6 locks/s<-5%", "4 locks/s<-5%"} // improved
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestWorseOfTheRest: of what is inconclusive, what may well be a loss comes first, whatever stands in the way of an
// answer; of what has not changed, what is worse within its threshold does, however much the others scatter.
func TestWorseOfTheRest(t *testing.T) {
	limits := thresholds(t, "locks/s<-5%,acquire.p99>+10%,violations>0")
	rate, wait, count := &limits[0], &limits[1], &limits[2]
	result := func(t *Threshold, v Verdict, reason Reason, why string, low, ratio, high float64) *Result {
		return &Result{Figure: t.Figure, Threshold: t, Verdict: v, Reason: reason, Why: why, Change: stats.Change{Low: low, Ratio: ratio, High: high}}
	}
	want := []*Result{
		result(rate, Inconclusive, Saturated, "1", 0.3, 0.4, 0.5),
		result(rate, Inconclusive, TooFew, "2", 0.4, 0.5, 0.6),
		result(wait, Inconclusive, TooFew, "3", 1.9, 2, 2.1),
		result(wait, Inconclusive, Scatter, "4", 1.05, 1.2, 1.4),
		result(rate, Inconclusive, Unlike, "5", math.NaN(), 0.94, math.NaN()),
		result(count, Inconclusive, NoTrials, "6", math.NaN(), math.NaN(), math.NaN()),
		result(rate, Inconclusive, Unmeasured, "7", math.NaN(), math.NaN(), math.NaN()),
		result(rate, Inconclusive, Saturated, "8", 0.99, 0.996, 1),
		result(wait, Inconclusive, Scatter, "9", 0.5, 0.8, 1.3),
		result(rate, Unchanged, "", "10", 0.97, 0.98, 0.99),
		result(rate, Unchanged, "", "", 0.96, 0.97, 1.2),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortStableFunc(got, func(a, b *Result) int { return worst(*a, *b) })
	if !slices.Equal(got, want) {
		var order []string
		for _, r := range got {
			order = append(order, r.Why)
		}
		t.Errorf("the order is %q", order)
	}
}
