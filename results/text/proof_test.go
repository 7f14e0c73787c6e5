package text

import (
	"bytes"
	"slices"
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
			{Number: 1, Name: "holder-dies", After: "the death of its holder", About: "the holder dies, and its key stays taken for ever"},
			{Number: 3, Name: "overrun", After: "an overrun", About: "the holder works for longer than its lease, and another client is granted the key meanwhile"},
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
		{"unlisted", func(*safety.Report) {}, "‼ Of 5 locks 2 can have two holders at once, 1 can stay taken for ever, and 0 showed neither; 2"},
		{"open", func(r *safety.Report) { r.Cells[6].Listed = true }, "? Of 5 locks 2 can"},
		{"control", func(r *safety.Report) {
			overrun := slices.Clone(r.Cells[4:])
			h := r.Hazards[1]
			h.Control, h.Wrong = "rueidis set-nx has to fail it", true
			r.Hazards, r.Cells = r.Hazards[:1], r.Cells[:4]
			r.Judge(h, overrun)
			r.Cells[1].Verdict, r.Cells[1].Never = safety.Fails, true // a real failure of another hazard is not hidden
		}, "‼ Of 5 locks 0 can have two holders at once, 2 can stay taken"},
		{"sound", func(r *safety.Report) { r.Cells = r.Cells[:3] }, "✓ Of 3 locks"},
		{"one", func(r *safety.Report) { r.Cells = []safety.Cell{r.Cells[0], r.Cells[4]} }, "✓ rueidis setnx: no two holders seen; stuck for ever after the death of its holder."},
		{"missing", func(r *safety.Report) {
			r.Asked.Hazards = []string{"holder-dies"}
			r.Cells = []safety.Cell{r.Cells[3], r.Cells[5]}
			r.Cells[0].Missing = "the package mariadb-server"
		}, "? mysql row-lock: not tested. rueidis set-nx: two holders"},
		{"nothing", func(r *safety.Report) { r.Cells = r.Cells[2:4] }, "? Nothing was tested: holder-dies: because"},
		{"baseline", func(r *safety.Report) {
			base := proofReport()
			base.Cells[0].Verdict, base.Cells[5].Verdict, base.Cells[7].Verdict = safety.Survives, safety.Survives, safety.Survives
			base.Cells[1].Verdict, base.Cells[6].Failed = safety.Fails, 2
			r.Against("safety.json", base)
		}, "‼ Of 5 locks"},
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
