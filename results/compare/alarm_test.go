package compare

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// drawn are ten trials of each of some cells, lognormal with that scatter, and slower by a share in the first cell.
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
	alpha := DefaultAlpha * runs
	if limit := alpha + 2*math.Sqrt(alpha); float64(count[Regressed]) > limit {
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
