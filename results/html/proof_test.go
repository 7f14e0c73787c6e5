package html

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/safety"
)

// TestProof: each mark of the matrix leads to its story, which has a lane for each client that held the key.
func TestProof(t *testing.T) {
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
	if err := WriteProof(&out, r); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	checkAlone(t, page, "summary", "matrix", "hazards")
	if n := strings.Count(page, `href="#cell-`); n != 3 || strings.Count(page, `id="cell-`) != 3 {
		t.Errorf("%d links to stories", n)
	}
	if held, faults := strings.Count(page, `class="held"`), strings.Count(page, `class="fault"`); held != 4 || faults != 1 {
		t.Errorf("%d holds and %d faults are drawn", held, faults)
	}
	appear(t, page, "what to do", "nothing is shown", `class="verdict bad alarm"`,
		`class="verdict good once"><a href="#cell-2" title="etcd lease, overrun: survives 1 (≤ 95 %), in 1 attempt"`, "In a dashed frame",
		"fails all of 2", "fence 7", "lockbench prove")
	if n := strings.Count(page, ` once"`); n != 1 {
		t.Errorf("%d cells are of one attempt", n)
	}
	if err := WriteProof(&again, r); err != nil || again.String() != page {
		t.Error("two pages of one report differ")
	}
	if WriteProof(&again, nil) == nil {
		t.Error("a page of no report")
	}
}
