package draw

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/report"
)

// TestFoldsAreWhole: however little room there is, each fold that opens is closed, and what is left out is counted.
func TestFoldsAreWhole(t *testing.T) {
	d := &report.Document{Title: "t"}
	for range 40 {
		d.Blocks = append(d.Blocks, report.Section{Title: strings.Repeat("s", 50), Folded: true, Blocks: []report.Block{report.Paragraph{Text: strings.Repeat("x", 300)}}})
	}
	for room := longText; room < longText+4000; room += 37 {
		var b strings.Builder
		if err := Markdown(&b, d, room); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") || !strings.Contains(text, "for which there is no room here") || len(text) > room {
			t.Fatalf("room %d: %d bytes:\n%s", room, len(text), text)
		}
	}
}
