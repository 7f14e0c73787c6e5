package text

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/safety"
)

// proofReport returns a report with a cell of each verdict.
func proofReport() *safety.Report {
	cell := func(hazard, driver, lock string, v safety.Verdict) safety.Cell {
		c := safety.Cell{Hazard: hazard, Driver: driver, Lock: lock, Verdict: v, TTL: 300 * time.Millisecond, Listed: true}
		switch v {
		case safety.Fails:
			c.Attempts, c.Failed, c.Longest = 20, 20, 153*time.Millisecond
			c.Why = "A and B held the key at once, for 153 ms"
		case safety.Survives:
			c.Attempts, c.Bound = 20, safety.Bound(20)
		default:
			c.Why = "because"
		}
		return c
	}
	dead := cell("holder-dies", "rueidis", "setnx", safety.Fails)
	dead.Never, dead.Longest = true, 0
	unlisted := cell("overrun", "planted", "lock", safety.Fails)
	unlisted.Listed = false
	free := cell("holder-dies", "rueidis", "set-nx", safety.Survives)
	free.Recovery, free.Listed = 310*time.Millisecond, false
	return &safety.Report{
		Schema: safety.Version, Spent: 12340 * time.Millisecond,
		Hazards: []safety.Hazard{
			{Number: 1, Name: "holder-dies", About: "the holder dies, and its key stays taken for ever"},
			{Number: 3, Name: "overrun", About: "the holder works for longer than its lease, and another client is granted the key meanwhile"},
		},
		Cells: []safety.Cell{
			dead, free, cell("holder-dies", "planted", "lock", safety.NotApplicable), cell("holder-dies", "mysql", "row-lock", safety.NoServer),
			cell("overrun", "rueidis", "setnx", safety.Survives), cell("overrun", "rueidis", "set-nx", safety.Fails), unlisted,
			cell("overrun", "mysql", "row-lock", safety.Stalled), cell("overrun", "etcd", "lease", safety.NotExercised),
		},
	}
}

func TestProof(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*safety.Report)
		first  string
	}{
		{"unlisted", func(*safety.Report) {}, "‼ 5 designs against 2 hazards in 12.3 s: planted lock by overrun lost what was claimed"},
		{"open", func(r *safety.Report) { r.Cells[6].Listed = true }, "? 5 designs against 2 hazards in 12.3 s: 2 cells are not known"},
		{"control", func(r *safety.Report) { r.Hazards[1].Control = "rueidis set-nx has to fail it" }, "? 5 designs against 2 hazards in 12.3 s: a control is wrong, and nothing is shown"},
		{"sound", func(r *safety.Report) { r.Cells = r.Cells[:6] }, "✓ 4 designs against 2 hazards in 12.3 s: no design loses what it does not admit"},
		{"baseline", func(r *safety.Report) {
			base := proofReport()
			base.Cells[0].Verdict, base.Cells[5].Verdict, base.Cells[7].Verdict = safety.Survives, safety.Survives, safety.Survives
			base.Cells[1].Verdict = safety.Fails
			r.Against("safety.json", base)
		}, "‼ 5 designs against 2 hazards in 12.3 s: rueidis setnx by holder-dies and rueidis set-nx by overrun"},
		{"hostile", func(r *safety.Report) { r.Cells[0].Why, r.Cells[7].Why = "a\x1b[31m\nb", "a\x1b[31m\nb" }, "‼"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := proofReport()
			c.change(r)
			var short, whole, colored bytes.Buffer
			for _, err := range []error{Proof(&short, r, Options{}), Proof(&whole, r, Options{Verbose: true}), Proof(&colored, r, Options{Color: true})} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if first, _, _ := strings.Cut(short.String(), "\n"); !strings.HasPrefix(first, c.first) {
				t.Errorf("the first line is %q", first)
			}
			for _, text := range []string{short.String(), whole.String()} {
				checkWidth(t, text, defaultWidth)
				if strings.ContainsAny(text, "\x00\x1b\t") {
					t.Error("control characters in the output")
				}
			}
			golden(t, "proof-"+c.name+".txt", short.String())
			golden(t, "proof-"+c.name+"-v.txt", whole.String())
		})
	}
}
