package spec

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestParseInt(t *testing.T) {
	for in, want := range map[string]int{
		"0": 0, "64": 64, "-1": -1, "1_000": 1000, "1_000_000": 1e6, "10k": 10_000, "010": 10, "10K": 10_000, "2M": 2e6, "1_0k": 10_000,
	} {
		if got, err := ParseInt(in); got != want || err != nil {
			t.Errorf("%q is %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "_", "_1", "1_", "1__0", "0x10", "1.5k", "ten", "10m", "1 0", "9223372036854775807k", "99999999999999999999", "-"} {
		if got, err := ParseInt(in); err == nil {
			t.Errorf("%q is taken for %d", in, got)
		}
	}
}

func FuzzParseInt(f *testing.F) {
	for _, seed := range []string{"1", "1_000", "10k", "-5M", "9223372036854775807", "_", "k"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseInt(s)
		if err != nil {
			return
		}
		// The same in floating point, the naive way.
		factor := 1.0
		plain := strings.ReplaceAll(s, "_", "")
		for suffix, by := range map[string]float64{"k": 1e3, "K": 1e3, "M": 1e6} {
			if cut, ok := strings.CutSuffix(plain, suffix); ok {
				plain, factor = cut, by
				break
			}
		}
		want, err := strconv.ParseFloat(plain, 64)
		if err != nil || math.Abs(float64(n)-want*factor) > 1e-6*math.Abs(want*factor) {
			t.Errorf("%q is %d, want %v", s, n, want*factor)
		}
	})
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]time.Duration{"0": 0, "0s": 0, "1.5ms": 1500 * time.Microsecond, "2m": 2 * time.Minute, "250us": 250 * time.Microsecond, "-1s": -time.Second} {
		if got, err := ParseTime(in); got != want || err != nil {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"30", "x", ""} {
		if _, err := ParseTime(in); err == nil || err.Error() != "must be a time with its unit such as 250us, 1.5ms, 30s or 2m" {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"1s", "1.5ms", "30", "1e9", "-3h", "NaN"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseTime(s)
		if err != nil {
			return
		}
		if again, err := ParseTime(d.String()); err != nil || again != d {
			t.Errorf("%q is %v, which reads as %v, %v", s, d, again, err)
		}
	})
}

func TestParseSeed(t *testing.T) {
	if got, err := ParseSeed("18446744073709551615"); got != math.MaxUint64 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	for _, in := range []string{"-1", "", "x", "18446744073709551616"} {
		if got, err := ParseSeed(in); err == nil {
			t.Errorf("%q is taken for %d", in, got)
		}
	}
}

// TestWay: a way of waiting has times of its own if they are not the default, as records of before have it.
func TestWay(t *testing.T) {
	s, _ := Find("wait")
	for text, want := range map[string]string{
		"queue": "queue", "poll": "poll", "poll:10ms": "poll", "poll:5000us": "poll:5ms",
		"backoff": "backoff", "backoff:1ms:100ms": "backoff", "backoff:1ms:2s": "backoff:1ms:2s",
	} {
		var p Plan
		if err := s.Set(&p, text); err != nil || s.Text(&p, &p.Load) != want {
			t.Errorf("%s: %q, %v, want %s", text, s.Text(&p, &p.Load), err, want)
		}
	}
	for _, text := range []string{"poll:", "poll:5", "poll:1ns", "poll:25h", "poll:1ms:2ms", "backoff:1ms", "backoff:2ms:1ms", "queue:1ms"} {
		if err := s.Set(&Plan{}, text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
