package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/safety"
)

const ms = time.Millisecond

// planted returns a report with a cell of each verdict: a failure that is not admitted, one that is, a lock that survives what it
// admits, one that is not known.
func planted() *safety.Report {
	cell := func(hazard, driver, lock string, v safety.Verdict) safety.Cell {
		c := safety.Cell{Hazard: hazard, Driver: driver, Lock: lock, Verdict: v, TTL: 300 * ms, Listed: true, Why: "because"}
		switch v {
		case safety.Fails:
			c.Attempts, c.Failed, c.Longest = 20, 20, 153*ms
			c.Why, c.Command = "A and B held the key at once", "lockbench prove -hazard "+hazard
			c.Story = []safety.Event{
				{At: 1 * ms, Client: "A", Kind: safety.Granted, Fence: 7}, {At: 5 * ms, Kind: safety.Fault, Text: "late"},
				{At: 6 * ms, Client: "B", Kind: safety.Granted}, {At: 8 * ms, Client: "A", Kind: safety.Lets},
				{At: 9 * ms, Client: "B", Kind: safety.Lets},
			}
		case safety.Survives:
			c.Attempts, c.Bound, c.Why = 20, safety.Bound(20), ""
		}
		return c
	}
	dead := cell("holder-dies", "rueidis", "setnx", safety.Fails)
	dead.Never, dead.Longest, dead.Failed, dead.Story = true, 0, 3, nil
	unlisted := cell("overrun", "own", "lock", safety.Fails)
	unlisted.Listed = false
	free := cell("holder-dies", "rueidis", "set-nx", safety.Survives)
	free.Recovery, free.Listed, free.Gaps, free.Tried = 310*ms, false, 3, 2
	control := cell("overrun", "memory", "none", safety.Fails)
	control.Control = true
	return &safety.Report{
		Spent: 12340 * ms, Env: results.Env{Lockbench: "v0.1.0", CPUs: 2, GOMAXPROCS: 2, OS: "linux", Arch: "amd64"},
		Hazards: []safety.Hazard{
			{Number: 1, Name: "holder-dies", About: "a holder dies: its lock stays for ever"},
			{Number: 3, Name: "overrun", About: "a holder keeps the lock beyond its lease"},
		},
		Cells: []safety.Cell{
			dead, free, cell("holder-dies", "own", "lock", safety.NotApplicable), cell("holder-dies", "mysql", "row-lock", safety.NoServer),
			cell("overrun", "rueidis", "setnx", safety.Survives), cell("overrun", "rueidis", "set-nx", safety.Fails), unlisted,
			cell("overrun", "mysql", "row-lock", safety.Stalled), cell("overrun", "etcd", "lease", safety.NotExercised), control,
		},
	}
}

// TestProof: the title begins with what the exit code tells, and the facts with its reason.
func TestProof(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*safety.Report)
		title  string
		tone   Tone
		facts  []string
	}{
		{"many", func(*safety.Report) {}, "1 failure not admitted · 2 of 5 locks can have two holders at once · 1 can get stuck", Bad,
			[]string{"not admitted | own lock after overrun", "not known | mysql row-lock after overrun (stalled) and etcd lease",
				"next | lockbench prove -hazard overrun"}},
		{"unknown", func(r *safety.Report) { r.Cells[6].Listed = true }, "2 not known · 2 of 5 locks can", Warn,
			[]string{"not known | mysql", "next | -ttl 2s"}},
		{"wrong control", func(r *safety.Report) {
			overrun := slices.Clone(r.Cells[4:])
			h := r.Hazards[1]
			h.Control, h.Wrong = "rueidis set-nx has to fail it", true
			r.Hazards, r.Cells = r.Hazards[:1], r.Cells[:4]
			r.Judge(h, overrun)
		}, "5 not known · 1 of 5 locks can get stuck", Warn,
			[]string{"wrong control | overrun: rueidis set-nx has to fail it (bad)", "next | lockbench prove -hazard overrun"}},
		{"untested control", func(r *safety.Report) {
			r.Hazards[0].Control, r.Cells = "no server", r.Cells[:3]
			r.Cells[1].Verdict = safety.Fails // a real failure is shown even so
		}, "1 failure not admitted", Bad, []string{"control untested | holder-dies: no server"}},
		{"admitted", func(r *safety.Report) { r.Cells = r.Cells[:3] }, "1 of 3 locks can get stuck",
			Bad, []string{"next | keep it (-format json=FILE)"}},
		{"holds", func(r *safety.Report) { r.Cells = r.Cells[1:2] }, "rueidis set-nx: no failure seen",
			Good, []string{"survives | holder-dies"}},
		{"partial", func(r *safety.Report) { r.Cells, r.Partial = r.Cells[1:2], "interrupted" }, "rueidis set-nx:", Good,
			[]string{"partial | interrupted (warn)"}},
		{"one", func(r *safety.Report) { r.Cells = []safety.Cell{r.Cells[0], r.Cells[4]} },
			"rueidis setnx can get stuck", Bad,
			[]string{"stuck | holder-dies", "survives | overrun"}},
		{"missing", func(r *safety.Report) {
			r.Asked.Hazards = []string{"holder-dies"}
			r.Cells = []safety.Cell{r.Cells[3], r.Cells[5]}
			r.Cells[0].Missing = "the package mariadb-server"
		}, "1 not known · 1 of 2 locks", Warn,
			[]string{"not tested | holder-dies (because)", "not installed | the package mariadb-server"}},
		{"nothing", func(r *safety.Report) { r.Cells = r.Cells[2:4] }, "Nothing was tested: holder-dies: because", Warn, nil},
		{"baseline", func(r *safety.Report) {
			base := planted()
			base.Cells[0].Verdict, base.Cells[5].Failed, base.Cells[7].Verdict = safety.Survives, 2, safety.Survives
			base.Cells[1].Verdict = safety.Fails
			r.Against("safety.json", base)
		}, "2 worse than in safety.json · 2 of 5 locks", Bad,
			[]string{"worse | rueidis setnx after holder-dies (survived before); rueidis set-nx after overrun (20 of 20 attempts fail, and 2",
				"not known | mysql row-lock after overrun (stalled) (warn)", "better | rueidis set-nx after holder-dies (failed before) (good)"}},
		{"not worse", func(r *safety.Report) {
			r.Cells = r.Cells[:3]
			r.Against("safety.json", planted())
		}, "nothing worse than in safety.json · 1 of 3 locks", Good, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := planted()
			c.change(r)
			d := Proof(r)
			if !strings.HasPrefix(d.Title, c.title) || d.Tone != c.tone {
				t.Errorf("title %q, tone %v", d.Title, d.Tone)
			}
			text := dump(d)
			if _, lines := firstScreen(d); lines > screenLines {
				t.Errorf("%d lines", lines)
			}
			for _, fact := range c.facts {
				if !strings.Contains(text, "\n"+fact) {
					t.Errorf("no fact %q in %s", fact, text)
				}
			}
			if c.name == "many" || c.name == "one" {
				golden(t, "proof-"+c.name, d)
			}
		})
	}
}

// TestProofMarks: what cannot be tested here is not what cannot happen, and a doubted cell is not known.
func TestProofMarks(t *testing.T) {
	for _, c := range []struct {
		cell safety.Cell
		mark string
	}{
		{safety.Cell{Verdict: safety.Fails, Listed: true}, "✗"},
		{safety.Cell{Verdict: safety.Fails}, "‼"},
		{safety.Cell{Verdict: safety.Fails, Listed: true, Before: safety.Survives}, "‼"},
		{safety.Cell{Verdict: safety.Fails, Doubted: true}, "?"},
		{safety.Cell{Verdict: safety.Survives}, "✓"},
		{safety.Cell{Verdict: safety.Survives, Listed: true}, "○"},
		{safety.Cell{Verdict: safety.NotApplicable, Listed: true}, "□"},
		{safety.Cell{Verdict: safety.NotApplicable}, "·"},
		{safety.Cell{Verdict: safety.NoServer}, "–"},
		{safety.Cell{Verdict: safety.Stalled}, "?"},
		{safety.Cell{Verdict: safety.Invalid}, "?"},
	} {
		if got, _ := ProofMark(&c.cell); got != c.mark {
			t.Errorf("%+v: %s", c.cell, got)
		}
	}
	if got := ProofTally(planted().Cells[4:9]); got != "fails 2 · survives 1 · not exercised 1 · stalled 1" {
		t.Error(got)
	}
}
