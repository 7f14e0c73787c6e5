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
)

// drawn returns ten trials of each of some cells, lognormal with that scatter, and slower by a share in the first cell.
func drawn(rng *rand.Rand, cells int, scatter, slower float64) (recs []*results.Record) {
	for cell := range cells {
		for range 10 {
			f := math.Exp(scatter * rng.NormFloat64())
			if cell == 0 {
				f *= 1 - slower
			}
			r := trial(1e6*f, time.Duration(10e6*math.Exp(2*scatter*rng.NormFloat64())))
			r.Plan.Clients = 1 << cell
			recs = append(recs, r)
		}
	}
	return recs
}

// verdicts counts how comparisons of such trials come out, 6 cells with 2 figures each.
func verdicts(t *testing.T, rng *rand.Rand, runs int, scatter, slower float64) map[Verdict]int {
	t.Helper()
	on := Options{Thresholds: thresholds(t, "locks/s<-2%,acquire.p99>+2%")}
	count := map[Verdict]int{}
	for range runs {
		count[compared(t, drawn(rng, 6, scatter, 0), drawn(rng, 6, scatter, slower), on).Verdict]++
	}
	return count
}

// TestFalseAlarms compares the same with itself, with thresholds so small that they hold nearly no alarm back: of the
// comparisons, with 12 tests each, no more may report a regression than alpha promises and what chance adds to that. Of 1000
// it is 27: half of alpha, as only one direction is bad.
func TestFalseAlarms(t *testing.T) {
	const runs = 250
	count := verdicts(t, rand.New(rand.NewPCG(7, 8)), runs, 0.05, 0)
	const mean = alpha * runs
	if limit := mean + 2*math.Sqrt(mean); float64(count[Regressed]) > limit {
		t.Errorf("%d of %d comparisons of the same report a regression, more than %.0f", count[Regressed], runs, limit)
	}
	t.Logf("of %d comparisons of the same, 6 cells with 2 figures each: %v", runs, count)
	if count[Regressed] == 0 {
		t.Error("no alarm at all: this test would not see one too many")
	}
}

// TestDetection: a cell that is slower by 10 % among six, with trials that scatter by 2 %, is found.
func TestDetection(t *testing.T) {
	const runs = 20
	rng := rand.New(rand.NewPCG(9, 10))
	for _, slower := range []float64{0.03, 0.05, 0.10} {
		count := verdicts(t, rng, runs, 0.02, slower)
		t.Logf("slower by %.0f %% in one of 6 cells, scatter 2 %%, 10 trials a side: %d of %d found", 100*slower, count[Regressed], runs)
		if slower == 0.10 && count[Regressed] != runs {
			t.Errorf("%v: a fall by 10 %% was not always found", count)
		}
	}
}

// turns returns the sides of a run with two, whose trials took turns on a machine that grew slower by a third on the way. The
// head is slower by a share besides.
func turns(rng *rand.Rand, trials int, slower float64) (base, head []*results.Record) {
	for n := range trials {
		drift := 1 - 0.33*float64(n)/float64(trials-1)
		for _, side := range []string{results.SideBase, results.SideHead} {
			rate := 1e6 * drift * math.Exp(0.005*rng.NormFloat64())
			if side == results.SideHead {
				rate *= 1 - slower
			}
			r := trial(rate, time.Duration(1e13/rate))
			r.Side, r.Trial = side, n+1
			if side == results.SideBase {
				base = append(base, r)
			} else {
				head = append(head, r)
			}
		}
	}
	return base, head
}

// TestPairs: a loss that a drift of both sides hides is seen from pair to pair, and nothing is where there is none. The
// order in which the trials were read does not matter. Of other runs it cannot be known which trial belongs to which.
func TestPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	on := Options{Thresholds: thresholds(t, "locks/s<-5%,acquire.p99>+5%")}
	for _, c := range []struct {
		slower        float64
		paired, apart Verdict // apart: as if each trial were of a run of its own
	}{{0, Unchanged, Inconclusive}, {0.10, Regressed, Inconclusive}} {
		base, head := turns(rng, 10, c.slower)
		slices.Reverse(base)
		got := compared(t, base, head, on)
		if got.Verdict != c.paired {
			r := got.Cells[0].Figures[0]
			t.Errorf("slower by %g in one run: %s, want %s (p %v, %+v)", c.slower, got.Verdict, c.paired, r.P, r.Change)
		}
		for i, r := range slices.Concat(base, head) {
			r.Side, r.Run = "", fmt.Sprint(i)
		}
		if got := compared(t, base, head, on); got.Verdict != c.apart {
			t.Errorf("slower by %g in many runs: %s, want %s", c.slower, got.Verdict, c.apart)
		}
	}
}

// TestPairsInPart: a trial that ended early, is missing, or does not know the figure takes its pair out, whose other trial
// stays a witness of violations; and of too few pairs nothing is told.
func TestPairsInPart(t *testing.T) {
	for name, c := range map[string]struct {
		trials  int
		change  func(base, head []*results.Record)
		pairs   int
		verdict Verdict
		why     string
	}{
		"whole":             {10, func(_, _ []*results.Record) {}, 10, Unchanged, ""},
		"ended early":       {10, func(base, _ []*results.Record) { base[0].Partial = "interrupted" }, 9, Unchanged, ""},
		"missing":           {10, func(base, _ []*results.Record) { base[9].Trial = 99 }, 9, Unchanged, ""},
		"one on each side":  {10, func(base, head []*results.Record) { base[0].Partial, head[9].Partial = "a", "b" }, 8, Unchanged, ""},
		"not known":         {10, func(base, head []*results.Record) { base[3].Latency, head[4].Latency = nil, nil }, 8, Unchanged, ""},
		"another turn":      {10, func(_, head []*results.Record) { head[2].Trial = 2 }, 9, Unchanged, ""},
		"too few":           {5, func(_, _ []*results.Record) {}, 5, Inconclusive, "5 pairs of trials are too few for 1 test"},
		"enough":            {6, func(_, _ []*results.Record) {}, 6, Unchanged, ""},
		"no pair":           {10, func(base, _ []*results.Record) { each(base, func(r *results.Record) { r.Trial += 10 }) }, 0, Inconclusive, "counted: 0 of 10 pairs"},
		"a few that may be": {10, func(base, _ []*results.Record) { each(base, func(r *results.Record) { r.Trial += 5 }) }, 5, Inconclusive, "counted: 5 of 10 pairs"},
	} {
		base, head := turns(rand.New(rand.NewPCG(13, 14)), c.trials, 0)
		c.change(base, head)
		got := compared(t, base, head, Options{Thresholds: thresholds(t, "acquire.p99>+5%,violations>0")})
		r := got.Cells[0].Figures[0]
		if r.Change.Pairs != c.pairs || r.Verdict != c.verdict || !strings.HasPrefix(r.Why, c.why) || !got.Paired {
			t.Errorf("%s: %d pairs, %s: %s, want %d, %s: %s", name, r.Change.Pairs, r.Verdict, r.Why, c.pairs, c.verdict, c.why)
		}
		if want := map[string]int{"too few": 6}[name]; r.Needed != want {
			t.Errorf("%s: %d trials would tell, want %d", name, r.Needed, want)
		}
		note := slices.ContainsFunc(got.Notes, func(s string) bool { return strings.HasPrefix(s, "unpaired: ") })
		if lone := c.pairs < c.trials && name != "not known"; note != lone {
			t.Errorf("%s: notes %q", name, got.Notes)
		}
		head[9%c.trials].Safety.Violations = 1
		if got := compared(t, base, head, Options{}); got.Verdict != Regressed {
			t.Errorf("%s: a violation, and the verdict is %s", name, got.Verdict)
		}
	}
}
