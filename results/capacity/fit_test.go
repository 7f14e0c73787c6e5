package capacity

import (
	"math"
	"slices"
	"testing"
	"time"
)

func millisecondFit() *Fit {
	return NewFit(Objective{Quantile: 0.99, Limit: 20 * time.Millisecond}, []float64{1}, FitPrior{Occupies: time.Millisecond})
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s is %v, want %v within %v of it", what, got, want, tolerance)
	}
}

func ordered(t *testing.T, what string, r Range) {
	t.Helper()
	if !(0 <= r.Low && r.Low <= r.Mid && r.Mid <= r.High) || math.IsInf(r.High, 0) {
		t.Errorf("%s is %+v", what, r)
	}
}

// TestFitPrior: before the first trial S is lognormal about the guess, with a deviation of 0.7, between a third of it
// and 12 times it: the quantiles of a normal distribution that is cut off at −1.569 and 3.550, where it has 5.83 % and
// 0.02 %.
func TestFitPrior(t *testing.T) {
	s := millisecondFit().Occupies()
	within(t, "the lower end", s.Low, 1e6*math.Exp(-0.7*1.3927), 0.02)
	within(t, "the median", s.Mid, 1e6*math.Exp(0.7*0.0729), 0.02)
	within(t, "the upper end", s.High, 1e6*math.Exp(0.7*1.9817), 0.02)
}

func TestFitOrder(t *testing.T) {
	observations := []Observation{{400, 1200, 0}, {600, 1800, 1}, {760, 2300, 40}, {800, 2400, 10}, {900, 2700, 700}, {820, 2460, 90}}
	there, back := millisecondFit(), millisecondFit()
	for i := range observations {
		there.Add(observations[i])
		back.Add(observations[len(observations)-1-i])
	}
	if a, b := there.Interval(), back.Interval(); math.Abs(a.Low/b.Low-1)+math.Abs(a.High/b.High-1) > 1e-6 {
		t.Errorf("in the other order %+v is %+v", a, b)
	}
	if len(there.trials) != len(observations) {
		t.Errorf("%d trials", len(there.trials))
	}
}

// TestJackknife holds the jackknife to its definition: √((n−1)/n × Σ(θᵢ−θ̄)²), where θᵢ is of a fit that never saw
// trial i.
func TestJackknife(t *testing.T) {
	observations := []Observation{{600, 1800, 1}, {760, 2300, 40}, {800, 2400, 10}, {820, 2460, 90}}
	all, logs, sum := millisecondFit(), []float64(nil), 0.0
	for i, o := range observations {
		all.Add(o)
		without := millisecondFit()
		for j, other := range observations {
			if j != i {
				without.Add(other)
			}
		}
		logs = append(logs, math.Log(without.Quantile(0.5)))
		sum += logs[i]
	}
	squares := 0.0
	for _, l := range logs {
		squares += math.Pow(l-sum/4, 2)
	}
	within(t, "the deviation", all.jackknife(), math.Sqrt(3./4*squares), 1e-6)
}

// TestFitExtremes: trials that say little, or what no shape explains.
func TestFitExtremes(t *testing.T) {
	for name, observations := range map[string][]Observation{
		"nothing arrived":      {{100, 0, 0}},
		"never late":           {{100, 300, 0}, {500, 1500, 0}, {1000, 3000, 0}, {1e6, 3e6, 0}},
		"always late":          {{1e-3, 1, 1}, {1, 3, 3}, {100, 300, 300}, {1e6, 3e6, 3e6}},
		"late at low rates":    {{100, 300, 30}, {900, 2700, 0}, {100, 300, 40}, {900, 2700, 0}},
		"one late of millions": {{5, 1e7, 1}, {5, 1e7, 1}, {5, 1e7, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := millisecondFit()
			for _, o := range observations {
				f.Add(o)
			}
			ordered(t, "the interval", f.Interval())
			ordered(t, "S", f.Occupies())
			ordered(t, "the share", f.share(500))
			if rate := f.NextRate(1); rate <= 0 || math.IsInf(rate, 0) {
				t.Errorf("the next rate is %v", rate)
			}
		})
	}
}

// TestFitFixed: a part of the response that is no queueing leaves less time to wait.
func TestFitFixed(t *testing.T) {
	objective := func(ms int) Objective {
		return Objective{Quantile: 0.99, Limit: time.Duration(ms) * time.Millisecond}
	}
	fixed := NewFit(objective(20), []float64{1}, FitPrior{Occupies: time.Millisecond, Fixed: 5 * time.Millisecond})
	short := NewFit(objective(15), []float64{1}, FitPrior{Occupies: time.Millisecond})
	if a, b := fixed.Quantile(0.5), short.Quantile(0.5); a != b {
		t.Errorf("with 5 of 20 ms fixed the rate is %v, and with 15 ms %v", a, b)
	}
	if rate := NewFit(objective(4), []float64{1}, FitPrior{Occupies: time.Millisecond, Fixed: 5 * time.Millisecond}).Quantile(0.5); rate > 50 {
		t.Errorf("with 5 of 4 ms fixed the rate is %v", rate)
	}
}

// TestFitPredicts holds the share, S and the noise of finished searches to those of the machine.
func TestFitPredicts(t *testing.T) {
	n, trials := uint64(20), 24
	m := newMachine(0.05, 0)
	truth := m.truth()
	share, service := 0, 0
	var noise []float64
	for seed := range n {
		m.start(seed)
		f := m.search(trials)
		if r := f.share(truth); r.Low <= m.late && m.late <= r.High {
			share++
		}
		if r := f.Occupies(); r.Low <= 1e6 && 1e6 <= r.High {
			service++
		}
		noise = append(noise, f.grid.noise(f.posterior()))
		if f.share(0.5*truth).Mid > f.share(truth).Mid || f.share(truth).Mid > f.share(2*truth).Mid {
			t.Error("the share falls with the rate")
		}
	}
	if share < 17 || service < 17 {
		t.Errorf("of %d searches %d predict the share, and %d hold S", n, share, service)
	}
	slices.Sort(noise)
	if mid := noise[n/2]; mid < 0.02 || mid > 0.08 {
		t.Errorf("a noise of 5 %% is taken for %v", mid)
	}
}

// TestFitNoise: the more the machine scatters, the wider the interval.
func TestFitNoise(t *testing.T) {
	width, noise := []float64{}, []float64{}
	for _, sd := range []float64{0, 0.15} {
		m := newMachine(sd, 0)
		w, s := 0.0, 0.0
		for seed := range uint64(8) {
			m.start(seed)
			f := m.search(24)
			r := f.Interval()
			w += (r.High - r.Low) / r.Mid
			s += f.grid.noise(f.posterior())
		}
		width, noise = append(width, w), append(noise, s)
	}
	if width[1] < 1.5*width[0] || noise[1] < 2*noise[0] {
		t.Errorf("with more noise the widths go from %v to %v, and the noise from %v to %v", width[0], width[1], noise[0], noise[1])
	}
}

// TestSustainable checks the rates of the grid by its shares.
func TestSustainable(t *testing.T) {
	for name, prior := range map[string]FitPrior{
		"one by one": {Occupies: time.Millisecond},
		"bursts":     {Occupies: time.Millisecond, Burst: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFit(Objective{Quantile: 0.99, Limit: 20 * time.Millisecond}, []float64{0.4, 0.3, 0.3}, prior)
			g := f.grid
			// With the largest c² the rate of bursts falls too steeply to be interpolated; no lock is like that.
			for place := 7; place < len(g.rate)*(len(priorC2)-1)/len(priorC2); place += 251 {
				within(t, "the share at the sustainable rate", g.shares(g.rate[place])[place], 0.01, 0.05)
			}
		})
	}
}

// TestLateOfBursts has bursts a second apart. How many of a burst come to a key is roughly normal; where its mean is
// just as many as are served in time, the mean number of late ones is its deviation/√(2π).
func TestLateOfBursts(t *testing.T) {
	root := math.Sqrt(2 * math.Pi)
	for _, c := range []struct {
		shares                    []float64
		rate, service, wait, late float64
		c2                        float64
	}{
		{[]float64{0.5, 0.5}, 1000, 0.001, 0.1, 0.8, 0},   // 500 at each key, and 100 of them are in time
		{[]float64{0.5, 0.5}, 1000, 0.001, 0.1, 0.8, 1},   // however that scatters
		{[]float64{0.75, 0.25}, 400, 0.001, 0.2, 0.25, 0}, // 300 at one key, and 200 of them are in time; and all 100 at the other
		{[]float64{1}, 100, 0.005, 0.5, 10 / root / 100, 0},
		{[]float64{1}, 100, 0.005, 0.5, math.Sqrt(200) / root / 100, 1},
		{[]float64{1}, 1, 0.5, 0.5, (1 - 2/math.E) / root, 0}, // one, unless there are two and more
		{[]float64{0.5, 0.5}, 1000, 0.004, 0.1, 1, 0},         // overloaded
	} {
		b := bursts{poisson{newKeys(c.shares), c.wait}, 1}
		within(t, "the share of late ones", b.late(c.rate, c.service, c.c2), c.late, 1e-6)
	}
}

func TestKernel(t *testing.T) {
	for _, sd := range []float64{0.5, 1, 2.5, 5, 12} {
		k := newKernel(sd)
		sum, variance := 0.0, 0.0
		for i, w := range k {
			at := float64(i - len(k)/2)
			sum += w
			variance += w * at * at
		}
		within(t, "the sum of weights", sum, 1, 1e-9)
		within(t, "their deviation", math.Sqrt(variance), sd, 0.1)
	}
}

// TestChance adds up the probabilities of all numbers of late arrivals.
func TestChance(t *testing.T) {
	const n = 2000
	for _, packed := range []float64{1.5, 20, 200} {
		for _, late := range []float64{0.001, 0.01, 0.1, 0.3} {
			sum, mean := 0.0, 0.0
			for k := range int64(0.15*n) + 1 {
				c := newChance(Observation{1, n, k}, packed, 0.15)
				p := c.of(late)
				sum += p
				mean += p * float64(k)
			}
			above := newChance(Observation{1, n, n}, packed, 0.15)
			within(t, "the sum", sum+above.of(late), 1, 0.02)
			if above.of(late) < 1e-6 {
				within(t, "the mean", mean, late*n, 1e-3)
			}
		}
	}
}

// shares returns the share of late arrivals in the long run at a rate, for each place.
func (g *grid) shares(rate float64) []float64 {
	n := g.places()
	out := make([]float64, len(g.rate))
	exact := make([]float64, len(g.service))
	at := 0
	for _, c2 := range g.shape.scatter() {
		for i, service := range g.service {
			exact[i] = g.shape.late(rate, service, c2)
		}
		for j := range g.kernels {
			g.noisy(out[at:at+n], exact, g.kernels[j])
			at += n
		}
	}
	return out
}

// share returns it with its 95 % interval.
func (f *Fit) share(rate float64) Range {
	values := f.grid.shares(rate)
	return median(f.posterior(), values, orderOf(values))
}
