package draw

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
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

func markdownOf(t *testing.T, d *report.Document) string {
	t.Helper()
	var out bytes.Buffer
	if err := Markdown(&out, d); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTextGolden(t *testing.T) {
	pagetest.Golden(t, "sample.txt", terminalOf(t, sample(), Options{Width: 60, Verbose: true}))
	pagetest.Golden(t, "sample.md", markdownOf(t, sample()))
}

// wide is a table with more columns than most terminals have room for.
func wide() *report.Document {
	t := &report.Table{Columns: []report.Column{{Title: "lock", Left: true}}}
	row := report.Row{Cells: []report.Cell{{Text: "rueidis · set-nx · wait queue\n\nhandover swap · lockers 8"}}}
	for i := range 12 {
		t.Columns = append(t.Columns, report.Column{Title: "figure\n" + strings.Repeat("x", i+1), Drop: i})
		row.Cells = append(row.Cells, report.Cell{Text: "123,456"})
	}
	t.Rows = []report.Row{row, row}
	return &report.Document{Title: "wide", Blocks: []report.Block{{Table: t}}}
}

func TestTerminalFits(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 160} {
		for _, d := range []*report.Document{sample(), wide()} {
			text := terminalOf(t, d, Options{Width: width})
			for line := range strings.Lines(text) {
				if format.Width(strings.TrimRight(line, "\n")) > width {
					t.Errorf("wider than %d: %q", width, line)
				}
			}
			if d.Title == "wide" && width < 160 && !strings.Contains(text, "hidden at ") {
				t.Errorf("at %d columns nothing names what is left out:\n%s", width, text)
			}
		}
	}
}

// TestMore: rows that a screen has no room for are announced, and details are without a word of them.
func TestMore(t *testing.T) {
	d := wide()
	for _, c := range []struct{ heading, want string }{{"Waits", "more with -v\n"}, {"3 more locks", "more with -v: 3 more locks\n"}} {
		d.Blocks = append(d.Blocks, report.Block{Heading: c.heading, Detail: true, Table: d.Blocks[0].Table})
		if text := terminalOf(t, d, Options{}); !strings.HasSuffix(text, c.want) {
			t.Errorf("%s: %q", c.heading, text[len(text)-40:])
		}
	}
}

func TestTerminalColors(t *testing.T) {
	plain, colored := terminalOf(t, sample(), Options{}), terminalOf(t, sample(), Options{Color: true})
	if strings.Contains(plain, "\x1b") || !strings.Contains(colored, "\x1b[31m✗ 6,933") {
		t.Errorf("without colours %q, with %q", plain[:60], colored[:60])
	}
	if regexp.MustCompile("\x1b\\[\\d+m").ReplaceAllString(colored, "") != plain {
		t.Error("the text with colours is another one")
	}
}

// A matrix has a letter for each column, and numbers above them that are read downwards.
func TestMatrix(t *testing.T) {
	m := &report.Table{Columns: []report.Column{{Title: "lock", Left: true}}}
	row := report.Row{Cells: []report.Cell{{Text: "rueidis set-nx"}}}
	for i := range 12 {
		m.Columns = append(m.Columns, report.Column{Title: strconv.Itoa(i + 1)})
		row.Cells = append(row.Cells, report.Cell{Text: "✗"})
	}
	m.Rows = []report.Row{row}
	d := &report.Document{Title: "proof", Blocks: []report.Block{{Table: m}}}
	const want = `proof

lock                     1 11
               12345 67890 12
─────────────────────────────
rueidis set-nx ✗✗✗✗✗ ✗✗✗✗✗ ✗✗
`
	if text := terminalOf(t, d, Options{}); text != want {
		t.Errorf("%s, want\n%s", text, want)
	}
}

// TestNarrow: a table that is too narrow for names and marks breaks them between words.
func TestNarrow(t *testing.T) {
	table := sample().Blocks[1].Table
	for i := range table.Rows {
		table.Rows[i].Cells[1].Tone = report.Good
	}
	d := &report.Document{Title: "narrow", Blocks: []report.Block{{Table: table}}}
	text := terminalOf(t, d, Options{Width: 40})
	const words = "rueidis set-nx wait queue redsync library redlock saturated, drifts 2/5 violated 34.8 6,046"
	for word := range strings.FieldsSeq(words) {
		if !slices.Contains(strings.Fields(text), word) {
			t.Errorf("%s is cut:\n%s", word, text)
		}
	}
	if colored := terminalOf(t, d, Options{Color: true}); !strings.Contains(colored, "\x1b[32m6,046\x1b[0m") {
		t.Errorf("a cell has no colour of its own: %q", colored)
	}
}

// TestWords: a column of words that is too wide is wrapped, wherever it stands.
func TestWords(t *testing.T) {
	table := &report.Table{Columns: []report.Column{{Title: "at"}, {Title: "what", Left: true}}}
	for i := range 2 {
		cells := []report.Cell{{Text: "3 ms"}, {Text: strings.Repeat("many words ", 9)}}
		table.Rows = append(table.Rows, report.Row{Group: []string{"first", "then"}[i], Cells: cells})
	}
	d := &report.Document{Title: "words", Blocks: []report.Block{{Table: table}}}
	text := terminalOf(t, d, Options{Width: 50})
	for line := range strings.Lines(text) {
		if format.Width(line) > 51 {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(text, "words"); n != 19 || !strings.Contains(text, "── then ──") {
		t.Errorf("%d words:\n%s", n, text)
	}
}

// TestNotes: a mark that means several things names the rows of each.
func TestNotes(t *testing.T) {
	table := &report.Table{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		marks := []report.Mark{{Code: "saturated", Line: "no"}, {Code: "drifts", Args: name, Line: "up"}}
		if name == "b" {
			marks[1].Line = "down"
		}
		table.Rows = append(table.Rows, report.Row{Cells: []report.Cell{{Text: name}}, Marks: marks})
	}
	var got []string
	for _, m := range notes(table) {
		got = append(got, code(m)+": "+m.Line)
	}
	want := "saturated: no; drifts (a, c and 2 more): up; drifts (b): down"
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

const nasty = "aNameThatIsAsLongAsALineOf40ColumnsHas::error::no a|b\n::error::no\x1b[31m " +
	"<b>&@me [x](y) `z` *s* 版版\u202e"

// commands are those that GitHub obeys in the output of a step.
var commands = regexp.MustCompile(`(?m)^\s*(::error::|##\[)`)

func hostile() *report.Document {
	cells := []report.Cell{{Text: nasty}, {Text: nasty}}
	marks := []report.Mark{{Code: nasty, Line: nasty}}
	return &report.Document{Title: nasty, When: nasty, Blocks: []report.Block{
		{Heading: nasty, Text: []report.Text{{Text: nasty}, {Text: "```\n" + nasty, Code: true}}},
		{Table: &report.Table{Rows: []report.Row{{Cells: cells, Marks: marks}}}},
		{Table: &report.Table{Columns: []report.Column{{Title: nasty, Left: true}, {Title: "text"}},
			Rows: []report.Row{{Group: nasty, Cells: cells, Marks: marks}}}},
	}}
}

func TestHostileText(t *testing.T) {
	for name, text := range map[string]string{
		"terminal": terminalOf(t, hostile(), Options{Width: 40, Verbose: true}),
		"markdown": markdownOf(t, hostile()),
	} {
		if strings.ContainsAny(text, "\x1b\u202e") || commands.MatchString(text) {
			t.Errorf("%s: %q", name, text)
		}
		for line := range strings.Lines(text) {
			code := strings.HasPrefix(line, "    ")
			if name != "terminal" && !code && regexp.MustCompile(`<b>|@me|[^\\]\[x`).MatchString(line) {
				t.Errorf("%s: markup in %q", name, line)
			}
		}
	}
}

// A comment has room for its end, whatever it leaves out.
func TestCommentRoom(t *testing.T) {
	for at := range 2 {
		d := sample()
		d.Blocks[1].Detail = at > 0
		table := d.Blocks[1].Table
		for range 2000 {
			table.Rows = append(table.Rows, table.Rows[0])
		}
		text := markdownOf(t, d)
		if len(text) > commentRoom || !strings.Contains(text, "more in other formats") {
			t.Errorf("%d bytes of %d", len(text), commentRoom)
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
			t.Error("a fold is not closed")
		}
	}
}
