package results

import "testing"

func TestEnough(t *testing.T) {
	for q, least := range map[float64]int64{0.5: 6, 0.9: 36, 0.99: 368, 0.999: 3688} {
		if Enough(least-1, q) || !Enough(least, q) {
			t.Errorf("the least number of values for quantile %v is not %d", q, least)
		}
	}
	if Enough(0, 0.5) {
		t.Error("no value is enough")
	}
}
