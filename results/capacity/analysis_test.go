package capacity

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// zipf returns the shares of keys with Zipf's distribution.
func zipf(n int, exponent float64) (shares []float64) {
	sum := 0.0
	for i := range n {
		shares = append(shares, math.Pow(float64(i+1), -exponent))
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// wish is 3,000 locks/s of 5 ms on 100 keys by Zipf's law: the hottest key gets 23.4 % of them, for which no lock has time.
func wish(rate float64) *Question {
	q := asked(p99Under20ms, rate, 1)
	c := &q.Candidates[0]
	c.Shares = zipf(100, 1.1)
	c.Plan.Keys, c.Plan.KeyDist, c.Plan.Hold = 100, spec.Must(spec.ParseKeys("zipf:1.1")), 5*time.Millisecond
	return q
}

func near(got, want, by float64) bool { return math.Abs(got-want) <= by*want }

func TestAnalyse(t *testing.T) {
	q := wish(3000)
	a := Analyse(q, &q.Candidates[0], 0)
	if a.Load != "zipf:1.1 on 100 keys, hold 5 ms" || !near(a.Hottest, 0.234, 0.01) || !near(a.Busy, 3.51, 0.01) || !near(a.Stable, 856, 0.01) ||
		!near(a.Ceiling, 582, 0.01) || !strings.Contains(a.Impossible, "351 %") {
		t.Errorf("%+v", a)
	}
	// Each of the two that would make it possible does, and little more does not.
	shorter := wish(3000)
	for _, c := range []struct {
		factor   float64
		possible bool
	}{{0.999, true}, {1.01, false}} {
		shorter.Candidates[0].Plan.Hold = time.Duration(c.factor * float64(a.FitsHold))
		if n := Analyse(shorter, &shorter.Candidates[0], 0); (n.Impossible == "") != c.possible {
			t.Errorf("with a hold of %v: %q", shorter.Candidates[0].Plan.Hold, n.Impossible)
		}
	}
	even := wish(3000)
	n := int(math.Ceil(1 / a.FitsShare))
	even.Candidates[0].Shares = zipf(n, 0)
	if b := Analyse(even, &even.Candidates[0], 0); b.Impossible != "" {
		t.Errorf("with %d equal keys: %s", n, b.Impossible)
	}
	even.Candidates[0].Shares = zipf(n-2, 0)
	if b := Analyse(even, &even.Candidates[0], 0); b.Impossible == "" {
		t.Errorf("with %d equal keys it is possible", n-2)
	}
}

func TestAnalyseRoundTrip(t *testing.T) {
	q := wish(0)
	free, far := Analyse(q, &q.Candidates[0], 0), Analyse(q, &q.Candidates[0], time.Millisecond)
	if far.Ceiling >= free.Ceiling || !near(far.Stable, free.Stable*5/6, 1e-6) || far.Impossible != "" {
		t.Errorf("%+v, and with a round trip of 1 ms %+v", free, far)
	}
	if a := Analyse(q, &q.Candidates[0], 25*time.Millisecond); !strings.Contains(a.Impossible, "round trip") || a.Ceiling != 0 {
		t.Errorf("%+v", a)
	}
	q.Candidates[0].Plan.Hold = 0
	if a := Analyse(q, &q.Candidates[0], 0); a.Ceiling != spec.MaxRate || a.Stable != spec.MaxRate || a.Impossible != "" {
		t.Errorf("without a hold: %+v", a)
	}
}

// TestAnalyseRough: a ceiling is a fact only for the loads that the formulas are for.
func TestAnalyseRough(t *testing.T) {
	closed := asked(p99Under20ms, 900, 1)
	closed.Candidates[0].Plan.Classes = []spec.Class{
		{Name: "online", Load: spec.Load{Rate: rate("100"), Hold: time.Millisecond}},
		{Name: "batch", Load: spec.Load{Clients: 4, Hold: time.Millisecond}},
	}
	if a := Analyse(closed, &closed.Candidates[0], 0); !strings.Contains(a.Rough, "closed loops") {
		t.Errorf("beside closed loops: rough: %q", a.Rough)
	}
	for _, c := range []struct {
		name   string
		change func(*spec.Load)
		want   string
	}{
		{"a fixed hold", func(l *spec.Load) {}, ""},
		{"exponential", func(l *spec.Load) { l.HoldDist = spec.Must(spec.ParseTimes("exp:1ms")) }, ""},
		{"zipf", func(l *spec.Load) { l.KeyDist = spec.Must(spec.ParseKeys("zipf:1.1")) }, ""},
		{"lognormal", func(l *spec.Load) { l.HoldDist = spec.Must(spec.ParseTimes("lognormal:1ms:9ms")) }, "neither fixed nor exponential"},
		{"own keys", func(l *spec.Load) { l.KeyDist = spec.Must(spec.ParseKeys("own")) }, "keys of their own"},
		{"in order", func(l *spec.Load) { l.KeyDist = spec.Must(spec.ParseKeys("sequential")) }, "fixed order"},
		{"bursts", func(l *spec.Load) { l.Burst = time.Second }, "bursts"},
		{"tries", func(l *spec.Load) { l.TryOnly = 0.5 }, "do not wait"},
		{"deaths", func(l *spec.Load) { l.Crash = 0.1 }, "dead holders"},
		{"constant", func(l *spec.Load) { l.Arrival = spec.Constant }, "not random"},
	} {
		q := asked(p99Under20ms, 900, 1) // which is beyond the ceiling of M/D/1 and M/M/1 alike
		c.change(&q.Candidates[0].Plan.Load)
		a := Analyse(q, &q.Candidates[0], 0)
		if c.want == "" && a.Rough != "" || !strings.Contains(a.Rough, c.want) {
			t.Errorf("%s: rough: %q", c.name, a.Rough)
		}
		if ruledOut := a.Impossible != ""; ruledOut && a.Rough != "" {
			t.Errorf("%s: %s by a rough guess", c.name, a.Impossible)
		}
	}
}

// TestAnalyseApproximate has holds for which the formula is an approximation: only the utilisation law rules a rate out.
func TestAnalyseApproximate(t *testing.T) {
	q := asked(p99Under20ms, 900, 1)
	l := &q.Candidates[0].Plan.Load
	l.HoldDist = spec.Must(spec.ParseTimes("lognormal:500us:5ms"))
	l.Hold, _ = l.HoldDist.Moments()
	stable := 1 / l.Hold.Seconds()
	for _, c := range []struct {
		rate     float64
		possible bool
	}{{0.95 * stable, true}, {1.05 * stable, false}} {
		q.Rate = c.rate
		if a := Analyse(q, &q.Candidates[0], 0); (a.Impossible == "") != c.possible || a.Ceiling >= 0.95*stable {
			t.Errorf("at %v/s of %v: %+v", q.Rate, stable, a)
		}
	}
}
