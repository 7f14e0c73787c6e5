package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// seconds returns a series of that many locks in each second, after a warm-up of another rate.
func seconds(locks ...int64) (series []results.Interval) {
	for i, n := range append([]int64{7, 7, 7, 7}, locks...) {
		series = append(series, results.Interval{At: time.Duration(i) * time.Second, Length: time.Second, Warmup: i < 4, Acquired: n})
	}
	return series
}

func TestSteady(t *testing.T) {
	cut := seconds(100, 101, 102, 103, 100, 101, 102, 103)
	cut = append(cut, results.Interval{Length: 100 * time.Millisecond, Acquired: 1}) // its rate would be 10 a second
	twice := seconds(100, 101, 102, 103, 80, 81, 82, 83)
	for i := range twice {
		twice[i].Length *= 2
	}
	twice = append(twice, results.Interval{Length: time.Second, Acquired: 1000}) // half an interval is cut short, too
	for _, c := range []struct {
		name          string
		series        []results.Interval
		first, second float64
		p             float64
		drifts        bool
	}{
		{"too short", seconds(100, 100, 100, 100, 50, 50, 50), 0, 0, 0, false},
		{"nothing", nil, 0, 0, 0, false},
		{"apart, exact", seconds(100, 101, 102, 103, 80, 81, 82, 83), 101.5, 81.5, 2. / 70, true},
		{"faster", seconds(80, 81, 82, 83, 100, 101, 102, 103), 81.5, 101.5, 2. / 70, true},
		{"significant, of no interest", seconds(1000, 1001, 1002, 1003, 1004, 990, 991, 992, 993, 994), 1002, 992, 2. / 252, false},
		{"large, by chance", seconds(100, 60, 100, 60, 100, 60, 60, 100), 80, 80, 1, false},
		{"the middle one of an odd number", seconds(100, 101, 102, 103, 5, 80, 81, 82, 83), 101.5, 81.5, 2. / 70, true},
		{"all alike", seconds(9, 9, 9, 9, 9, 9, 9, 9), 9, 9, 1, false},
		{"nothing at all happens", seconds(0, 0, 0, 0, 0, 0, 0, 0), 0, 0, 1, false},
		{"comes to life", seconds(0, 0, 0, 0, 5, 6, 7, 8), 0, 6.5, 2. / 70, true},
		{"of two seconds", twice, 101.5 / 2, 81.5 / 2, 2. / 70, true},
		{"cut short", cut, 101.5, 101.5, 1, false},
	} {
		s := Steady(c.series)
		if s.FirstRate != c.first || s.SecondRate != c.second || s.Drifts != c.drifts || math.Abs(s.P-c.p) > 0.02 {
			t.Errorf("%s: %+v, want %v and %v, p %.3f, drifts %t", c.name, s, c.first, c.second, c.p, c.drifts)
		}
	}
}

// TestSteadyFalseAlarms draws trials that are steady: of independent seconds no more than one in twenty may be said to
// drift, and with a scatter of 2 % none, since the effect is too small.
func TestSteadyFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alarms := func(scatter float64) (n int) {
		for range 1000 {
			locks := make([]int64, 10)
			for i := range locks {
				locks[i] = int64(10_000 * (1 + scatter*rng.NormFloat64()))
			}
			if Steady(seconds(locks...)).Drifts {
				n++
			}
		}
		return n
	}
	if n := alarms(0.02); n > 1 {
		t.Errorf("%d of 1,000 steady trials of 2 %% scatter are said to drift", n)
	}
	if n := alarms(0.2); n > 60 || n < 20 {
		t.Errorf("%d of 1,000 steady trials of 20 %% scatter are said to drift, want about 50 at the most", n)
	}
}

// TestSteadyP: twice a tail that is half of the distribution may round to more than 1, which no reader of a record accepts.
func TestSteadyP(t *testing.T) {
	for n := minHalf; n <= 7; n++ {
		for half := range 1 << (2 * n) {
			if bits.OnesCount(uint(half)) != n {
				continue
			}
			var rates [2][]int64
			for i := range 2 * n {
				side := half >> i & 1
				rates[side] = append(rates[side], int64(100+i))
			}
			if s := Steady(seconds(append(rates[0], rates[1]...)...)); s.P < 0 || s.P > 1 {
				t.Fatalf("%v: p %v", rates, s.P)
			}
		}
	}
}
