package capacity

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// TestResources has a server that needs 4 ms of its one core for a lock: that is used up long before the key is.
func TestResources(t *testing.T) {
	m := mm1
	m.serverCPU = 4 * time.Millisecond
	q := asked("response.p99<20ms", 100, 1)
	q.Candidates[0].Shares = zipf(10, 0)
	q.Candidates[0].Plan.Keys = 10
	a, _ := run(t, q, m)
	r := a.Candidates[0].Resources
	if len(r) < 3 || r[0].Name != "server CPU" || r[1].Name != "hottest key" {
		t.Fatalf("%+v", r)
	}
	cpu := r[0]
	if !near(cpu.Demand.Mid, 4e-3, 0.01) || cpu.Units != 1 || !near(cpu.Full.Mid, 250, 0.01) || !near(cpu.Used.Mid, 0.4, 0.01) {
		t.Errorf("%+v", cpu)
	}
	if key := r[1]; !near(key.Full.Mid, 10_000, 0.2) || key.Full.Low > 10_000 || key.Full.High < 10_000 {
		t.Errorf("%+v", key)
	}
	if !strings.HasPrefix(a.Breaks, "The server CPU of lock 1 is used up first, at 250/s") {
		t.Error(a.Breaks)
	}
}

// TestHolm has candidates that are each above the rate with the same probability: one alone is believed, many are not.
func TestHolm(t *testing.T) {
	for _, c := range []struct {
		candidates int
		low        float64
		want       Verdict
	}{{1, 501, Sustains}, {10, 501, Undecided}, {10, 600, Sustains}} {
		q := asked(p99Under20ms, 500, c.candidates)
		s := NewSearch(q)
		var list []CandidateAnswer
		for _, track := range s.tracks {
			track.fits, track.known = make([]*Fit, 1), Range{Low: c.low, Mid: 700, High: 1000}
			list = append(list, CandidateAnswer{Verdict: Sustains, Sustains: track.known})
		}
		s.holm(list)
		for _, a := range list {
			if a.Verdict != c.want || (a.Why == "") != (c.want == Sustains) {
				t.Errorf("%d candidates from %v/s: %s, %q", c.candidates, c.low, a.Verdict, a.Why)
			}
		}
	}
}

func TestOverall(t *testing.T) {
	for _, c := range []struct {
		list []Verdict
		want Verdict
	}{
		{nil, Undecided},
		{[]Verdict{Sustains, RulesOut, Undecided}, Sustains},
		{[]Verdict{Sustains, Violated}, Violated},
		{[]Verdict{RulesOut, Violated}, Violated},
		{[]Verdict{RulesOut, Dropped}, RulesOut},
		{[]Verdict{RulesOut, Undecided}, Undecided},
		{[]Verdict{RulesOut, Failed}, Undecided},
		{[]Verdict{Failed}, Undecided},
	} {
		var list []CandidateAnswer
		for _, v := range c.list {
			list = append(list, CandidateAnswer{Verdict: v})
		}
		if got := overall(list); got != c.want {
			t.Errorf("%v: %s, want %s", c.list, got, c.want)
		}
	}
}

func TestCommon(t *testing.T) {
	q := asked(p99Under20ms, 0, 2)
	q.Candidates[0].Plan.TTL, q.Candidates[1].Plan.TTL = time.Second, time.Second
	q.Candidates[1].Plan.Wait = "queue"
	q.Candidates[1].Plan.Hold = 2 * time.Millisecond // in the embedded part
	p := common(q.Candidates)
	if p.Driver != "fake" || p.Keys != 1 || p.TTL != time.Second || p.Lock != "" || p.Wait != "" || p.Hold != 0 {
		t.Errorf("%+v", p)
	}
	if q.Candidates[0].Plan.Hold != time.Millisecond {
		t.Error("the candidate itself has changed")
	}
}

func TestWords(t *testing.T) {
	noisyLock := mm1
	noisyLock.noise, noisyLock.partial = 0.25, 2
	q := asked(p99Under20ms, 500, 2)
	q.Candidates[1].LocalLine = true
	a, _ := run(t, q, noisyLock, mm1)
	all := strings.Join(a.Warnings, "\n")
	for _, want := range []string{
		"the server ran on the same 2 cores", "lock 2: clients of one process stand in a local line", "one process alone (-lockers)",
		"the speed of lock 1 differs", "1 trial left out: partial",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	best := a.Candidates[0]
	if !strings.HasPrefix(a.Advice, best.Name+" carries 500/s with response p99 ") || strings.Count(a.Advice, ". ") > 0 || !strings.Contains(a.Unseen, "nothing rarer than once in") {
		t.Errorf("%s\n%s", a.Advice, a.Unseen)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}
	empty := replay(q, nil).Answer(results.Env{})
	if empty.Verdict != Undecided || empty.Candidates[0].Why != "it was not tried" || empty.Unseen != "" {
		t.Errorf("%+v", empty)
	}
}

// TestInterval has the answers of Newcombe, Two-sided confidence intervals for the single proportion, 1998, table I, method 3.
func TestInterval(t *testing.T) {
	for _, c := range []struct {
		k, n      int64
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {29, 29, 0.8830, 1}} {
		r := interval(c.k, c.n, 1)
		if !near(1+r.Low, 1+c.low, 1e-4) || !near(1+r.High, 1+c.high, 1e-4) || r.Mid != float64(c.k)/float64(c.n) {
			t.Errorf("%d of %d: %+v, want %v to %v", c.k, c.n, r, c.low, c.high)
		}
		if packed := interval(3*c.k, 3*c.n, 3); !near(1+packed.Low, 1+r.Low, 1e-9) || !near(1+packed.High, 1+r.High, 1e-9) {
			t.Errorf("%d of %d that come in threes: %+v, want %+v", 3*c.k, 3*c.n, packed, r)
		}
	}
	if r := interval(0, 0, 1); r != (Range{}) {
		t.Errorf("of none: %+v", r)
	}
}
