package safety

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestBound: of 20 attempts none fails with a probability of 5 % if 14 % of all do, and of 59 if 5 % do.
func TestBound(t *testing.T) {
	for n, want := range map[int]float64{0: 1, 1: 0.95, 20: 0.1391, 59: 0.0495} {
		if got := Bound(n); math.Abs(got-want) > 1e-4 {
			t.Errorf("%d attempts: %v, want %v", n, got, want)
		}
		if n > 0 && math.Abs(math.Pow(1-Bound(n), float64(n))-0.05) > 1e-9 {
			t.Errorf("%d attempts: the bound has not the probability that it says", n)
		}
	}
}

// TestTake: the story is that of the first attempt that fails, and attempts that do not count are counted apart.
func TestTake(t *testing.T) {
	story := func(text string) []Event { return []Event{{Kind: Finding, Text: text}} }
	var c Cell
	c.Take(Attempt{Left: Stalled, Why: "slow", Events: story("stalled")})
	if c.Verdict != Stalled || c.Left != 1 || c.Attempts != 0 {
		t.Fatalf("%+v", c)
	}
	c.Take(Attempt{Events: story("survived"), Recovery: time.Second})
	c.Take(Attempt{Events: story("failed"), Failure: "both held it", Overlap: time.Millisecond})
	c.Take(Attempt{Events: story("failed again"), Failure: "both", Overlap: 3 * time.Millisecond, Never: true})
	c.Take(Attempt{Left: NotExercised, Why: "no fault"})
	if c.Attempts != 3 || c.Failed != 2 || c.Left != 2 || c.Longest != 3*time.Millisecond || !c.Never || c.Recovery != time.Second {
		t.Errorf("%+v", c)
	}
	if c.Why != "both held it" || c.Story[0].Text != "failed" {
		t.Errorf("why %q, story %v", c.Why, c.Story)
	}
	c.Take(Attempt{Left: Invalid, Why: "the judges disagree", Events: story("disagreement")})
	if c.Verdict != Invalid || c.Why != "the judges disagree" {
		t.Errorf("%+v", c)
	}
	c.Take(Attempt{Events: story("slow"), Recovery: time.Hour})
	if c.Take(Attempt{Left: Invalid, Events: story("again")}); c.Story[0].Text != "disagreement" {
		t.Errorf("story %v", c.Story)
	}
}

func TestWriteStory(t *testing.T) {
	c := Cell{Hazard: "overrun", Driver: "d", Lock: "l", Verdict: Fails, Why: "both", Command: "lockbench prove", Story: []Event{
		{At: 1500 * time.Microsecond, Client: "A", Kind: Granted, Fence: 7}, {At: 2 * time.Millisecond, Kind: Fault, Text: "late"},
	}}
	var b strings.Builder
	if err := WriteStory(&b, &c); err != nil {
		t.Fatal(err)
	}
	want := `overrun: d l: fails: both
lockbench prove

     1.500 ms  A      granted, fence 7
     2.000 ms         fault: late
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
