package capacity

import (
	"math"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

func TestAt(t *testing.T) {
	hold := spec.Load{Hold: 5 * time.Millisecond, Clients: 3}
	open := func(rate_ string, arrival string) spec.Load {
		l := hold
		l.Rate, l.Arrival = rate(rate_), arrival
		return l
	}
	thinking := hold
	thinking.Think = 15 * time.Millisecond
	burst := spec.Load{Clients: 10, Burst: 2 * time.Second}
	own := hold
	own.KeyDist = spec.Must(spec.ParseKeys("own"))
	type want struct {
		clients int
		rate    string
		arrival string
	}
	for _, c := range []struct {
		name    string
		plan    spec.Plan
		fixed   bool
		want    []want // of each group
		opened  bool
		offered float64
	}{
		{"one load", spec.Plan{Load: hold}, false, []want{{49, "1000", spec.Poisson}}, false, 1000},
		{"one load with a rate, at constant distances", spec.Plan{Load: open("7", spec.Constant)}, false, []want{{49, "1000", spec.Constant}}, false, 1000},
		{"fixed clients", spec.Plan{Load: hold}, true, []want{{3, "1000", spec.Poisson}}, false, 1000},
		{"a client a key", spec.Plan{Load: own, Keys: 8}, false, []want{{8, "1000", spec.Poisson}}, false, 1000},
		{"bursts", spec.Plan{Load: burst}, false, []want{{2000, "", ""}}, false, 1000},
		{
			"two open classes and one in the background",
			spec.Plan{Classes: []spec.Class{{Load: open("30", spec.Constant)}, {Load: thinking}, {Load: open("10", "")}}}, false,
			[]want{{41, "750", spec.Constant}, {3, "", ""}, {21, "250", spec.Poisson}}, false, 1000,
		},
		{
			"closed classes, of which one asks four times as often",
			spec.Plan{Classes: []spec.Class{{Load: hold}, {Load: thinking}}}, false,
			[]want{{42, "800", spec.Poisson}, {18, "200", spec.Poisson}}, true, 1000,
		},
	} {
		if _, opened := arrivalShares(&c.plan); opened != c.opened {
			t.Errorf("%s: opened %v", c.name, opened)
		}
		q := asked(p99Under20ms, 0, 1)
		q.FixedClients, q.Candidates[0].Plan = c.fixed, c.plan
		p := q.at(c.plan, 1000)
		sum := 0
		for i, g := range p.Groups() {
			sum += g.Clients
			if got := (want{g.Clients, g.Rate.String(), g.Arrival}); got != c.want[i] {
				t.Errorf("%s: group %d: %+v, want %+v", c.name, i, got, c.want[i])
			}
			if g.Open() && g.Think != 0 {
				t.Errorf("%s: group %d thinks", c.name, i)
			}
		}
		if p.Clients != sum || Offered(&p) != c.offered {
			t.Errorf("%s: %d clients of %d, %v/s", c.name, p.Clients, sum, Offered(&p))
		}
	}
}

func TestHolds(t *testing.T) {
	times := func(text string) spec.Load {
		d := spec.Must(spec.ParseTimes(text))
		mean, _ := d.Moments()
		if d.Kind == "" {
			d = spec.Times{}
		}
		return spec.Load{Hold: mean, HoldDist: d}
	}
	for _, c := range []struct {
		plan      spec.Plan
		mean, scv float64
	}{
		{spec.Plan{Load: times("5ms")}, 5e-3, 0},
		{spec.Plan{Load: times("exp:5ms")}, 5e-3, 1},
		{spec.Plan{Load: times("uniform:1ms:9ms")}, 5e-3, 64.0 / 12 / 25},
		{spec.Plan{Load: spec.Load{Hold: time.Millisecond, HoldDist: spec.Times{Kind: spec.TimesFile, Path: "x"}}}, 1e-3, 1},
		// Half of 1 ms, half of 3 ms: mean 2 ms, variance 1 ms².
		{spec.Plan{Classes: []spec.Class{
			{Load: spec.Load{Hold: time.Millisecond, Rate: rate("10")}}, {Load: spec.Load{Hold: 3 * time.Millisecond, Rate: rate("10")}},
		}}, 2e-3, 0.25},
	} {
		if mean, scv := holds(&c.plan); math.Abs(mean-c.mean) > 1e-9 || math.Abs(scv-c.scv) > 1e-9 {
			t.Errorf("%s: %v and %v, want %v and %v", describe(&c.plan), mean, scv, c.mean, c.scv)
		}
	}
}

// TestRareClass has a class that is one in ten thousand arrivals, at the lowest rate.
func TestRareClass(t *testing.T) {
	plan := spec.Plan{Keys: 1, Classes: []spec.Class{{Load: spec.Load{Rate: rate("1")}}, {Load: spec.Load{Rate: rate("9999")}}}}
	q := asked("response.p99<1s", 0, 1)
	p := q.at(plan, minRate)
	if got := p.Classes[0].Rate.Mean(0); got != spec.MinRate {
		t.Errorf("%v/s", got)
	}
}

func TestThreeDigits(t *testing.T) {
	for level, want := range map[float64]float64{0: 0, 0.12345: 0.123, 1.2355: 1.23, 99.95: 99.9, 582.7: 582, 12_345: 12_300, 1e6: 1e6, 7: 7} {
		if got := threeDigits(level); got != want || threeDigits(got) != got {
			t.Errorf("%v: %v, want %v", level, got, want)
		}
	}
}
