package format

import (
	"math"
	"testing"
	"time"
)

// TestDurationExtremes: a sum that has overflowed is written like any other time.
func TestDurationExtremes(t *testing.T) {
	for d, want := range map[time.Duration]string{math.MinInt64: "-2,562,048 h", math.MaxInt64: "2,562,048 h", -1: "-1 ns"} {
		if got := Duration(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
}
