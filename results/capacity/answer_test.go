package capacity

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
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

func near(got, want, by float64) bool { return math.Abs(got-want) <= by*want }

// TestAnalyse has 3,000 locks/s of 5 ms on 100 keys by Zipf's law: the hottest key gets 23.4 % of them, for which no
// lock has time. The hold that would make it possible does, and little more does not.
func TestAnalyse(t *testing.T) {
	wish := func(hold time.Duration, shares []float64) Analysis {
		q := asked(p99Under20ms, 3000, 1)
		c := &q.Candidates[0]
		q.Shares, c.Plan.Keys, c.Plan.KeyDist, c.Plan.Hold = shares, 100, spec.Must(spec.ParseKeys("zipf:1.1")), hold
		return Analyse(q)
	}
	a := wish(5*time.Millisecond, zipf(100, 1.1))
	if a.Load != "keys 100, key-dist zipf:1.1, hold 5ms" || !near(a.Hottest, 0.234, 0.01) || !near(a.Busy, 3.51, 0.01) || !near(a.Stable, 856, 0.01) ||
		!near(a.Ceiling, 582, 0.05) || !near(a.Impossible.Share, 3.51, 0.01) {
		t.Errorf("%+v", a)
	}
	fits := func(a Analysis) bool { return a.Ceiling >= 3000 }
	if !fits(wish(a.FitsHold*999/1000, zipf(100, 1.1))) || fits(wish(a.FitsHold*101/100, zipf(100, 1.1))) {
		t.Errorf("a hold of %v", a.FitsHold)
	}
	if a := wish(0, []float64{1}); a.Ceiling != spec.MaxRate || a.Stable != 0 || a.Impossible.Code != "" {
		t.Errorf("without a hold: %+v", a)
	}
}

// TestWaiting: arrivals that try once make no queue, however busy their key is.
func TestWaiting(t *testing.T) {
	for tryOnly, want := range map[float64]Analysis{0: {Busy: 1.5, Stable: 400}, 0.5: {Busy: 0.75, Stable: 800}, 1: {}} {
		q := asked(p99Under20ms, 600, 1)
		c := &q.Candidates[0]
		q.Shares, c.Plan.Hold, c.Plan.TryOnly = []float64{0.5, 0.5}, 5*time.Millisecond, tryOnly
		a := Analyse(q)
		if !near(a.Busy, want.Busy, 1e-9) || !near(a.Stable, want.Stable, 1e-9) || (a.Impossible.Code != "") != (want.Busy > 1) {
			t.Errorf("%v try once: %+v", tryOnly, a)
		}
	}
}

// TestResources has a server that needs 4 ms of its one core for a lock: that is used up long before the key is.
func TestResources(t *testing.T) {
	m := mm1
	m.serverCPU = 4 * time.Millisecond
	q := asked(p99Under20ms, 100, 1)
	q.Shares, q.Candidates[0].Plan.Keys = zipf(10, 0), 10
	a, _ := run(t, q, m)
	r := a.Candidates[0].Resources
	if len(r) < 2 || r[0].Name != "server CPU" || r[1].Name != "hottest key" {
		t.Fatalf("%+v", r)
	}
	if cpu := r[0]; !near(cpu.Demand.Mid, 4e-3, 0.01) || cpu.Units != 1 || !near(cpu.Full.Mid, 250, 0.01) {
		t.Errorf("%+v", cpu)
	}
	if key := r[1]; !near(key.Full.Mid, 10_000, 0.2) || key.Full.Low > 10_000 || key.Full.High < 10_000 {
		t.Errorf("%+v", key)
	}
}

// TestByChance has candidates that are each above the rate with the same probability: one alone is believed, many are
// not.
func TestByChance(t *testing.T) {
	claims := map[int]int{}
	for _, candidates := range []int{1, 10} {
		for seed := range uint64(10) {
			q := asked(p99Under20ms, 0.9*truth, candidates)
			q.Seed, q.Candidates = seed, append([]Candidate{}, q.Candidates[:1]...)
			a, trials := run(t, q, mm1)
			many := asked(p99Under20ms, 0.9*truth, candidates)
			many.Seed = seed
			track := replay(q, trials).tracks[0]
			track.q = many
			if v, why := track.judge(); v == Sustains {
				claims[candidates]++
			} else if a.Verdict == Sustains && why != (Reason{Code: Chance, N: 10}) {
				t.Errorf("%s: %+v", v, why)
			}
		}
	}
	if claims[10] >= claims[1] {
		t.Errorf("claims by the number of candidates: %v of 10", claims)
	}
}

func TestOverall(t *testing.T) {
	for _, c := range []struct{ best, last, want Verdict }{
		{Sustains, RulesOut, Sustains}, {Sustains, Violated, Violated}, {RulesOut, RulesOut, RulesOut},
		{Undecided, RulesOut, Undecided}, {RulesOut, Failed, Undecided}, {Failed, Failed, Undecided},
	} {
		if got := overall(c.best, c.last); got != c.want {
			t.Errorf("%s to %s: %s, want %s", c.best, c.last, got, c.want)
		}
	}
}

// TestAnswer: an answer can be written at any time, and says what changes how its figures are read.
func TestAnswer(t *testing.T) {
	m := mm1
	m.partial, m.saturated, m.cores, m.serverCPU = 2, 1e-3, 2, time.Microsecond
	q := asked(p99Under20ms, 500, 2)
	a, trials := run(t, q, m, mm1)
	codes := map[Code]int64{}
	for _, w := range a.Warnings {
		codes[w.Code] += w.N
	}
	if _, shared := codes[SharedHost]; !shared || codes[LeftOut] < 1 {
		t.Errorf("%+v", a.Warnings)
	}
	for n := range trials[1] {
		if _, err := json.Marshal(replay(q, [][]*results.Record{trials[0], trials[1][:n]}).Answer(results.Env{})); err != nil {
			t.Error(err)
		}
	}
	first := [][]*results.Record{trials[0][:1], trials[1][:1]} // of which the second has its turn later
	first[1-NewSearch(q).next.index] = nil
	if one := replay(q, first).Answer(results.Env{}); one.Candidates[1].Why.Code != Untried {
		t.Errorf("%s, which was not tried, is before %s", one.Candidates[0].Name, one.Candidates[1].Name)
	}
	empty := NewSearch(q).Answer(results.Env{})
	if empty.Verdict != Undecided || empty.Candidates[0].Why.Code != Untried || empty.Warnings != nil {
		t.Errorf("%+v", empty)
	}
}

// TestOldAnswer: the reasons of an older lockbench were texts.
func TestOldAnswer(t *testing.T) {
	a, err := ReadAnswer(strings.NewReader(`{"schema":1,"slo":"response.p99<20ms","rate":300,"verdict":"undecided","analysis":[{"load":"x","impossible":"it is"}],
		"candidates":[{"name":"a","why":"so","remedy":"no","points":[{"rate":5,"left_out":"busy"}]}],"warnings":["look out"],"advice":"none"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := a.Candidates[0]
	if a.Asked != 300 || c.Why.Text != "so" || c.Points[0].Left.Text != "busy" || a.Warnings[0].Text != "look out" || a.Analysis[0].Impossible.Text != "it is" {
		t.Errorf("%+v", a)
	}
}

// TestInterval has the answers of Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I,
// method 3.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		k, n      int64
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {29, 29, 0.8830, 1}} {
		r := tally{c.k, c.n}.interval()
		if !near(1+r.Low, 1+c.low, 1e-4) || !near(1+r.High, 1+c.high, 1e-4) || r.Mid != float64(c.k)/float64(c.n) {
			t.Errorf("%d of %d: %+v, want %v to %v", c.k, c.n, r, c.low, c.high)
		}
	}
}
