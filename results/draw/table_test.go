package draw

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// narrow returns a table in which a text may go on below, and two numbers may go.
func narrow() report.Table {
	return report.Table{
		Columns: []report.Column{
			{Title: "name", Left: true}, {Title: "least", Drop: 5}, {Title: "limit", Drop: 2}, {Title: "base", Drop: 6}, {Title: "notes", Left: true, Wrap: true},
		},
		Rows: []report.Row{
			{Group: "a load", Cells: []report.Value{{Text: "a-name-of-twenty-five-char"}, {Text: "1"}, {Text: "keys"}, {Text: "80,000 ± 1 %", Brief: "80,000"}, {Text: "saturated paused [1,2]"}}},
			{Cells: []report.Value{{Text: "b"}, {Text: "2"}, {Text: "clients"}, {Text: "72,000 ± 1 %", Brief: "72,000"}, {}}},
		},
	}
}

// TestNarrowTable: brief values come first, then columns go, then texts go on below, and names are cut last and not below what tells
// them apart.
func TestNarrowTable(t *testing.T) {
	for _, c := range []struct {
		width    int
		has, not []string
	}{
		{100, []string{"80,000 ± 1 %", "least", "limit", "saturated paused [1,2]\n"}, []string{"Left out"}},
		{76, []string{"80,000  ", "least", "limit", "saturated paused [1,2]\n"}, []string{"±", "Left out"}},
		{70, []string{"80,000  ", "limit", "saturated paused [1,2]\n", "Left out for lack of room: least."}, []string{"±"}},
		{60, []string{"a-name-of-twenty-five-char", "80,000  ", "limit", "  saturated\n", " [1,2]\n"}, nil},
		{52, []string{"a-name-of-twenty-five-char", "80,000  ", "  saturated paused\n", "Left out for lack of room: least, limit."}, []string{"keys"}},
		{44, []string{"a-name-of-tw…ty-five-char", "80,000  ", "  saturated\n"}, []string{"a-name-of-twenty-five-char"}},
	} {
		var out bytes.Buffer
		if err := Terminal(&out, &report.Document{Blocks: []report.Block{narrow()}}, Options{Width: c.width}); err != nil {
			t.Fatal(err)
		}
		pagetest.Width(t, out.String(), c.width)
		for _, want := range c.has {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%d columns: no %q in\n%s", c.width, want, &out)
			}
		}
		for _, not := range c.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%d columns: %q in\n%s", c.width, not, &out)
			}
		}
	}
}

// TestMarkdownWithoutLimit: what goes into a file is cut nowhere; what goes into a comment is.
func TestMarkdownWithoutLimit(t *testing.T) {
	long := strings.Repeat("word ", 1000) + "end"
	table := narrow()
	table.Rows[0].Cells[0].Text = long
	d := &report.Document{Blocks: []report.Block{report.Paragraph{Text: long}, report.List{{Text: long}}, report.Findings{{Lead: "Lead:", Text: long}}, table}}
	for room, want := range map[int]int{0: 4, CommentRoom: 0} {
		var out bytes.Buffer
		if err := Markdown(&out, d, room); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "word end"); n != want {
			t.Errorf("room %d: %d of 4 texts are whole, want %d", room, n, want)
		}
	}
}
