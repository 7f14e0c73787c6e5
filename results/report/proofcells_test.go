package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/safety"
)

// TestProofTellsApart: what a design admits is not called safe, a lock that was not asked for is called a control, and what cannot be
// tested here has another mark than what cannot happen.
func TestProofTellsApart(t *testing.T) {
	cell := func(lock string, verdict safety.Verdict, listed, control bool) safety.Cell {
		c := safety.Cell{Hazard: "failover", Driver: "rueidis", Lock: lock, Verdict: verdict, Listed: listed, Control: control, TTL: 300 * time.Millisecond}
		if verdict == safety.Fails {
			c.Attempts, c.Failed, c.Longest = 1, 1, time.Second
			c.Story = []safety.Event{{Kind: safety.Fault, Text: "the primary dies"}}
		}
		return c
	}
	r := &safety.Report{Hazards: []safety.Hazard{{Name: "failover", About: "x"}}, Cells: []safety.Cell{
		cell("set-nx", safety.Fails, true, false), cell("setnx", safety.Fails, true, true),
	}}
	d := Proof(r)
	if d.Title != "rueidis set-nx: two holders after failover; not seen stuck. It fails no more than its design admits (lockbench list rueidis)." {
		t.Errorf("the title is %q", d.Title)
	}
	text := strings.ReplaceAll(fmt.Sprint(d.Blocks), "\u00a0", " ")
	for _, want := range []string{"rueidis set-nx and rueidis setnx (control)", "{rueidis setnx (control) ", "The TTL is 300 ms."} {
		if !strings.Contains(text, want) {
			t.Errorf("nowhere %q", want)
		}
	}
	for want, c := range map[string]safety.Cell{"□": cell("a", safety.NotApplicable, true, false), "·": cell("a", safety.NotApplicable, false, false)} {
		if got := ProofMark(&c); got != want || !strings.Contains(proofMarks, want) {
			t.Errorf("listed %t: %s", c.Listed, got)
		}
	}
}

// TestProofCounts says against what, if anything was shown.
func TestProofCounts(t *testing.T) {
	answers := []proofAnswer{{tested: 1, both: []string{"a pause"}}, {}}
	if got := proofCounts(&safety.Report{}, answers); !strings.HasPrefix(got, "Of 2 locks 1 can") || !strings.HasSuffix(got, "; not tested: 1") {
		t.Errorf("without a hazard that was shown: %s", got)
	}
}
