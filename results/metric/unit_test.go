package metric

import (
	"math"
	"strings"
	"testing"
)

// TestFormatReadsBack: an amount is written in the unit that it is read in.
func TestFormatReadsBack(t *testing.T) {
	for _, u := range []*Unit{Duration, Share, Micros, Bytes} {
		v, ok := u.Parse(u.Example)
		read, again := u.Parse(strings.ReplaceAll(u.Format(v), " ", ""))
		if !ok || !again || read != v {
			t.Errorf("%s is %v, written %s and read as %v", u.Example, v, u.Format(v), read)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		unit       *Unit
		typed, out string
	}{
		{Duration, "20ms", "20 ms"}, {Duration, "1500us", "1.5 ms"}, {Duration, "0.1s", "100 ms"}, {Duration, "20000400ns", "20.0004 ms"}, {Duration, "0", "0"},
		{PerSecond, "3k", "3,000"}, {PerSecond, "0.5", "0.5"}, {PerSecond, "3000.25", "3000.25"}, {PerSecond, "10", "10"},
		{Share, "80%", "80 %"}, {Share, "99.9%", "99.9 %"}, {Ratio, "0.9", "0.9"}, {Ratio, "1", "1"}, {Ratio, "0.955", "0.955"},
		{Micros, "20us", "20 µs"}, {Count, "0", "0"}, {Count, "1M", "1,000,000"}, {Bytes, "64MB", "64 MB"}, {PerLock, "2.5", "2.5"},
	} {
		v, ok := c.unit.Parse(c.typed)
		if got := c.unit.Plain(v); !ok || got != c.out {
			t.Errorf("%s: %s, want %s", c.typed, got, c.out)
		}
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		unit *Unit
		v    float64
		want string
	}{
		{PerSecond, 81_196.4, "81,196"}, {Duration, 157e6, "157 ms"}, {Ratio, 0.987, "0.99"}, {Share, 0.8, "80 %"},
		{PerLock, 2.26, "2.26"}, {Micros, 9.54, "9.54 µs"}, {Count, 1234, "1,234"}, {Bytes, 30e6, "30.0 MB"},
		{Bytes, math.NaN(), "–"}, {Count, 0, "0"},
	} {
		if got := c.unit.Format(c.v); got != c.want {
			t.Errorf("%v of unit %s: %q, want %q", c.v, c.unit.Word, got, c.want)
		}
	}
}
