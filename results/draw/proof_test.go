package draw

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
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
		{"unlisted", func(*safety.Report) {}, "‼ Against holder-dies and overrun, of 5 locks 2 can have two holders at once, 1 can get"},
		{"open", func(r *safety.Report) { r.Cells[6].Listed = true }, "? Against holder-dies and overrun, of 5 locks 2 can"},
		{"control", func(r *safety.Report) {
			overrun := slices.Clone(r.Cells[4:])
			h := r.Hazards[1]
			h.Control, h.Wrong = "rueidis set-nx has to fail it", true
			r.Hazards, r.Cells = r.Hazards[:1], r.Cells[:4]
			r.Judge(h, overrun)
			r.Cells[1].Verdict, r.Cells[1].Never = safety.Fails, true // a real failure of another hazard is not hidden
		}, "‼ Against holder-dies, of 5 locks 0 can have two holders at once, 2 can get stuck"},
		{"sound", func(r *safety.Report) { r.Cells = r.Cells[:3] }, "✗ Against holder-dies, of 3 locks 0 can have two holders at once, 1 can get"},
		{"one", func(r *safety.Report) { r.Cells = []safety.Cell{r.Cells[0], r.Cells[4]} }, "✗ rueidis setnx: no two holders seen; stuck after the death"},
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
		}, "‼ Against holder-dies and overrun, of 5 locks"},
		{"hostile", func(r *safety.Report) { r.Cells[0].Why, r.Cells[7].Why = "a\x1b[31m\nb", "a\x1b[31m\nb" }, "‼"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := proofReport()
			c.change(r)
			var short, whole, colored bytes.Buffer
			for _, err := range []error{
				Terminal(&short, report.Proof(r), Options{}), Terminal(&whole, report.Proof(r), Options{Verbose: true}), Terminal(&colored, report.Proof(r), Options{Color: true}),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if first, _, _ := strings.Cut(short.String(), "\n"); !strings.HasPrefix(first, c.first) {
				t.Errorf("the first line is %q", first)
			}
			for _, text := range []string{short.String(), whole.String()} {
				pagetest.Width(t, text, defaultWidth)
				if strings.ContainsAny(text, "\x00\x1b\t") {
					t.Error("control characters in the output")
				}
			}
			pagetest.Golden(t, "proof-"+c.name+".txt", short.String())
			pagetest.Golden(t, "proof-"+c.name+"-v.txt", whole.String())
		})
	}
}

// TestProofPage: each mark of the matrix leads to its story, which has a lane for each client that held the key.
func TestProofPage(t *testing.T) {
	const evil = "<script>alert(1)</script>\x00\u202e"
	ms := time.Millisecond
	r := &safety.Report{
		Schema: safety.Version, Spent: time.Second,
		Hazards: []safety.Hazard{{Number: 3, Name: "overrun", About: "a holder overruns"}, {Number: 9, Name: "other", About: evil, Control: evil}},
		Cells: []safety.Cell{
			{Hazard: "overrun", Driver: "rueidis", Lock: "set-nx", Verdict: safety.Fails, Attempts: 2, Failed: 2, Why: "both", Command: "lockbench prove", Story: []safety.Event{
				{At: 1 * ms, Client: "A", Kind: safety.Granted, Fence: 7}, {At: 5 * ms, Kind: safety.Fault, Text: "late"},
				{At: 6 * ms, Client: "B", Kind: safety.Granted}, {At: 8 * ms, Client: "A", Kind: safety.Lets}, {At: 9 * ms, Client: "B", Kind: safety.Lets},
			}},
			{Hazard: "overrun", Driver: "etcd", Lock: "lease", Verdict: safety.Survives, Attempts: 1, Bound: safety.Bound(1), Story: []safety.Event{{Client: "A", Kind: safety.Granted}}},
			{Hazard: "overrun", Driver: "d", Lock: evil, Verdict: safety.NotApplicable, Why: evil},
			{Hazard: "other", Driver: "d", Lock: evil, Verdict: safety.Stalled, Why: evil, Story: []safety.Event{{Client: evil, Kind: safety.Granted, Text: evil}}},
		},
	}
	var out, again bytes.Buffer
	if err := Page(&out, report.Proof(r)); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	pagetest.Alone(t, page, "matrix", "means", "summary", "hazards")
	if n := strings.Count(page, `href="#cell-`); n != 3 || strings.Count(page, `id="cell-`) != 3 {
		t.Errorf("%d links to stories", n)
	}
	if held, faults := strings.Count(page, `class="held"`), strings.Count(page, `class="fault"`); held != 4 || faults != 1 {
		t.Errorf("%d holds and %d faults are drawn", held, faults)
	}
	pagetest.Appear(t, page, `class="verdict bad alarm"`,
		`class="verdict good once"><a href="#cell-2" title="etcd lease, overrun: survives 1 attempt (a fault in fewer than 95 % of them could be missed)"`, "In a dashed frame",
		`<section id="means">`, "what to do", "nothing is shown", "fails all of 2", "fence 7", "lockbench prove")
	if n := strings.Count(page, ` once"`); n != 1 {
		t.Errorf("%d cells are of one attempt", n)
	}
	if err := Page(&again, report.Proof(r)); err != nil || again.String() != page {
		t.Error("two pages of one report differ")
	}
	if Page(&again, nil) == nil {
		t.Error("a page of no report")
	}
}
