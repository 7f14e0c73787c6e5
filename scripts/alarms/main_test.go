package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
)

// The expected bounds are computed from the binomial distribution with integers (Python's math.comb).
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 200, 0, 0.01828}, {1, 200, 0.00013, 0.02754}, {10, 200, 0.02424, 0.09003}, {60, 60, 0.94038, 1}, {30, 60, 0.36806, 0.63194},
	} {
		if low, high := bounds(c.k, c.n); math.Abs(low-c.low) > 1e-5 || math.Abs(high-c.high) > 1e-5 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.5f to %.5f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// Compared pair by pair, trials raise no more false alarms than alpha allows, and a loss is detected despite a drift
// that hides it from a comparison of whole sides.
func TestDrifting(t *testing.T) {
	var out bytes.Buffer
	o := options{trials: 10, drifting: 100, effects: []float64{0.05}}
	if err := drifting(o, rand.New(rand.NewPCG(1, 1)), &out); err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(strings.NewReplacer(" %", "%", "in pairs", "pairs", "as a whole", "whole").Replace(line))
		if len(f) > 3 && strings.HasSuffix(f[0], "%") {
			v, err := strconv.ParseFloat(strings.TrimSuffix(f[3], "%"), 64)
			if err != nil {
				t.Fatal(err)
			}
			found[strings.Join(f[:3], " ")] = v
		}
	}
	for _, drift := range []string{"0.0%", "10.0%", "30.0%"} {
		if v, ok := found[drift+" 0.0% pairs"]; !ok || v > 9.5 { // 5 of 100 and two standard deviations
			t.Errorf("drift %s: %.1f %% false alarms", drift, v)
		}
		if v := found[drift+" 5.0% pairs"]; v < 95 {
			t.Errorf("drift %s: %.1f %% of losses by 5 %% found in pairs", drift, v)
		}
	}
	if v, ok := found["30.0% 5.0% whole"]; !ok || v > 50 {
		t.Errorf("a drift by 30 %% hides nothing from a comparison as a whole: %.1f %%", v)
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestTotals checks the verdicts on known differences.
func TestTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	side := func(at int, level float64) (recs []*results.Record) {
		for i := range 10 {
			recs = append(recs, simulated(at+i, level*(1+0.005*rng.NormFloat64())))
		}
		return recs
	}
	slower := newTotals("memory", 0.1, "default", "locks/s<-1%", "locks/s<-5%")
	for n := range 5 {
		if err := slower.add(side(100*n, 100_000), side(100*n+50, 90_000)); err != nil {
			t.Fatal(err)
		}
	}
	for i, set := range slower.sets {
		if v := slower.verdicts[i]; v[compare.Regressed] != 5 {
			t.Errorf("%s: %v, want 5 regressed", set, v)
		}
	}
	if slower.all == 0 || slower.agree != slower.all || len(slower.needed) != 5 {
		t.Errorf("benchmath agrees on %d of %d figures; %v trials needed", slower.agree, slower.all, slower.needed)
	}
	var out bytes.Buffer
	writeTotals(&out, []*totals{slower})
	if !strings.Contains(out.String(), "5/5 = 100.0 %  [47.8 % – 100.0 %]") {
		t.Error(out.String())
	}
	if err := newTotals("memory", 0, "locks/s<-1").add(side(0, 1000), side(50, 1000)); err == nil {
		t.Error("a malformed threshold is accepted")
	}
}

// slow spins after a release, and returns the result of the lock.
func TestSlow(t *testing.T) {
	d, err := drivers.Lookup("memory")
	if err != nil {
		t.Fatal(err)
	}
	svc, err := d.Open(context.Background(), drivers.Config{Lock: "mutex", Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	s, err := slow{svc, 10}.Session(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &drivers.Lease{Key: "a", TTL: time.Second}
	if held, err := s.Try(context.Background(), l); !held || err != nil {
		t.Fatal(held, err)
	}
	if owned, err := s.Release(context.Background(), l); !owned || err != nil {
		t.Fatal(owned, err)
	}
	if spin(10) == spin(11) {
		t.Error("the compiler has removed the work")
	}
}

func TestOptions(t *testing.T) {
	if e, err := parseEffects("3, 5,10"); err != nil || fmt.Sprint(e) != "[0.03 0.05 0.1]" {
		t.Error(e, err)
	}
	for _, s := range []string{"", "0", "50", "x", "3,,5", "NaN"} {
		if _, err := parseEffects(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

// A slow-down that differs from the intended one is marked.
func TestAsked(t *testing.T) {
	for _, c := range []struct {
		effect, ratio float64
		want          string
		off           bool
	}{
		{0, 0.8, "x, nothing added: locks/s changed by -20.00 %", false},
		{0.1, 0.91, "x, meant to be slower by 10 %: locks/s changed by -9.00 %", false},
		{0.1, 0.74, "x, meant to be slower by 10 %: locks/s changed by -26.00 %", true},
		{0.1, 0.97, "x, meant to be slower by 10 %", true},
		{0.1, 1.1, "x, meant to be slower by 10 %", true},
	} {
		var b strings.Builder
		writeTotals(&b, []*totals{{driver: "x", effect: c.effect, ratios: []float64{c.ratio}, scatters: []float64{0.1}}})
		if !strings.Contains(b.String(), c.want) || strings.Contains(b.String(), "not the slow-down") != c.off {
			t.Errorf("%+v: %s", c, b.String())
		}
	}
}

// TestSeries runs real trials of the in-process lock in rounds.
func TestSeries(t *testing.T) {
	o := options{trials: 2, duration: 20 * time.Millisecond, warmup: time.Millisecond, clients: 4, keys: 2}
	m, err := newMachine(context.Background(), "memory", o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	seen := map[string]bool{}
	n := 0
	rng := rand.New(rand.NewPCG(1, 1))
	err = m.series(context.Background(), 3, []int{0, 5, 10}, rng, io.Discard, func(sides [][]*results.Record) error {
		n++
		for _, side := range sides {
			for _, r := range side {
				seen[r.ID] = true
			}
		}
		return newTotals("memory", 0, "default").add(sides[0], sides[2])
	})
	if err != nil || n != 3 || len(seen) != 18 {
		t.Errorf("%d comparisons of %d trials, %v", n, len(seen), err)
	}
}
