package draw

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

func terminalOf(t *testing.T, d *report.Document, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Terminal(&out, d, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func markdownOf(t *testing.T, d *report.Document, room int) string {
	t.Helper()
	var out bytes.Buffer
	if err := Markdown(&out, d, room); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextGolden(t *testing.T) {
	pagetest.Golden(t, "sample.txt", terminalOf(t, sample(), Options{}))
	pagetest.Golden(t, "sample-v-60.txt", terminalOf(t, sample(), Options{Width: 60, Verbose: true}))
	pagetest.Golden(t, "sample.md", markdownOf(t, sample(), 0))
}

// wide is a table with more columns than most terminals have room for.
func wide() *report.Document {
	t := &report.Table{Columns: []report.Column{{Title: "lock", Left: true}}}
	row := report.Row{Cells: []report.Cell{{Text: "rueidis · set-nx · wait queue · handover swap · lockers 8"}}}
	for i := range 12 {
		t.Columns = append(t.Columns, report.Column{Title: "figure\n" + strings.Repeat("x", i+1), Drop: i})
		row.Cells = append(row.Cells, report.Cell{Text: "123,456"})
	}
	t.Rows = []report.Row{row, row}
	return &report.Document{Title: "wide", Blocks: []report.Block{{Table: t}}}
}

func TestTerminalFits(t *testing.T) {
	for _, width := range []int{60, 80, 100, 160} {
		for _, d := range []*report.Document{sample(), wide()} {
			text := terminalOf(t, d, Options{Width: width})
			for line := range strings.Lines(text) {
				if format.Width(strings.TrimRight(line, "\n")) > width {
					t.Errorf("wider than %d: %q", width, line)
				}
			}
			if d.Title == "wide" && width < 160 && !strings.Contains(text, "wider: ") {
				t.Errorf("at %d columns nothing names what is left out:\n%s", width, text)
			}
		}
	}
}

func TestTerminalColors(t *testing.T) {
	plain, colored := terminalOf(t, sample(), Options{}), terminalOf(t, sample(), Options{Color: true})
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[31m✗ 6,933") {
		t.Errorf("without colours %q, with %q", plain[:60], colored[:60])
	}
	uncolored := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "").Replace(colored)
	if uncolored != plain {
		t.Error("the text with colours is another one")
	}
}

// A matrix that is too wide goes on below, and loses no column.
func TestMatrix(t *testing.T) {
	m := &report.Table{Columns: []report.Column{{Title: "lock", Left: true}}}
	row := report.Row{Cells: []report.Cell{{Text: "rueidis set-nx"}}}
	for range 40 {
		m.Columns, row.Cells = append(m.Columns, report.Column{Title: "9"}), append(row.Cells, report.Cell{Text: "✗"})
	}
	m.Rows = []report.Row{row}
	text := terminalOf(t, &report.Document{Title: "proof", Blocks: []report.Block{{Table: m}}}, Options{Width: 60})
	if n := strings.Count(text, "✗"); n != 40 || strings.Count(text, "rueidis set-nx") != 3 {
		t.Errorf("%d marks:\n%s", n, text)
	}
}

const nasty = "a|b\n::error::no\x1b[31m <b>&@me [x](y) `z` *s* 版版\u202e"

func hostile() *report.Document {
	cells := []report.Cell{{Text: nasty}, {Text: nasty}}
	marks := []report.Mark{{Code: nasty, Line: nasty}}
	return &report.Document{Title: nasty, When: nasty, Blocks: []report.Block{
		{Heading: nasty, Text: []report.Text{{Text: nasty}, {Text: "```\n" + nasty, Code: true}}},
		{Table: &report.Table{Rows: []report.Row{{Cells: cells, Marks: marks}}}},
		{Table: &report.Table{Columns: []report.Column{{Title: "name", Left: true}, {Title: "text"}}, Rows: []report.Row{{Group: nasty, Cells: cells, Marks: marks}}}},
	}}
}

func TestHostileText(t *testing.T) {
	for name, text := range map[string]string{
		"terminal": terminalOf(t, hostile(), Options{Verbose: true}), "markdown": markdownOf(t, hostile(), 0), "comment": markdownOf(t, hostile(), CommentRoom),
	} {
		if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "::error::") {
			t.Errorf("%s: %q", name, text)
		}
		code := false
		for line := range strings.Lines(text) {
			if name != "terminal" && strings.HasPrefix(line, "````") {
				code = !code
			}
			if name != "terminal" && !code && (strings.Contains(line, "<b>") || strings.Contains(line, "@me") || strings.Contains(line, "[x](y)")) {
				t.Errorf("%s: markup in %q", name, line)
			}
		}
	}
}

// A comment has room for its end, whatever it leaves out.
func TestCommentRoom(t *testing.T) {
	d := sample()
	table := d.Blocks[1].Table
	for range 2000 {
		table.Rows = append(table.Rows, table.Rows[0])
	}
	for _, room := range []int{2_000, 10_000, CommentRoom} {
		text := markdownOf(t, d, room)
		if len(text) > room || !strings.Contains(text, "more in other formats") {
			t.Errorf("%d bytes of %d", len(text), room)
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
			t.Errorf("in %d bytes a fold is not closed", room)
		}
	}
}
