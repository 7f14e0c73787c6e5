package stats

import (
	"math"
	"testing"
)

// TestFisher: the lady who tastes tea (Fisher 1935), and one-sided values of R's fisher.test(alternative = "greater").
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		failed, n, before, m int
		want                 float64
	}{
		{4, 4, 0, 4, 1.0 / 70},
		{3, 4, 1, 4, 17.0 / 70},
		{0, 20, 3, 20, 1},
		{20, 20, 20, 20, 1},
		{1, 1, 0, 0, 1},
		{0, 0, 0, 0, 1},
		{12, 12, 3, 12, 220.0 / 1307504}, // C(12,3)/C(24,15)
	} {
		if got := Fisher(c.failed, c.n, c.before, c.m); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d of %d, %d of %d before: %v, want %v", c.failed, c.n, c.before, c.m, got, c.want)
		}
	}
}
