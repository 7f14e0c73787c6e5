package draw

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// columnsOf returns a table with the columns that are meant for a depth; if told to, without those of which nothing is known.
func columnsOf(t report.Table, d report.Depth, only bool) report.Table {
	return keeping(t, func(col int) bool {
		c := t.Columns[col]
		return (c.Depth == 0 || c.Depth&d != 0) &&
			(!only || slices.ContainsFunc(t.Rows, func(r report.Row) bool { return r.Cells[col].Text != format.None && r.Cells[col].Text != "" }))
	})
}

// keeping returns a table with those of its columns for which keep holds.
func keeping(t report.Table, keep func(col int) bool) report.Table {
	out := t
	out.Columns, out.Rows = nil, slices.Clone(t.Rows)
	for i := range out.Rows {
		out.Rows[i].Cells = nil
	}
	for col, c := range t.Columns {
		if !keep(col) {
			continue
		}
		out.Columns = append(out.Columns, c)
		for i, r := range t.Rows {
			out.Rows[i].Cells = append(out.Rows[i].Cells, r.Cells[col])
		}
	}
	return out
}

// gridOf returns a table as texts, which clean makes harmless.
func gridOf(t report.Table, clean func(string) string) (g Grid) {
	for _, c := range t.Columns {
		g.Head, g.Right = append(g.Head, c.Title), append(g.Right, !c.Left)
	}
	for _, r := range t.Rows {
		var row []string
		for _, v := range r.Cells {
			row = append(row, clean(v.Text))
		}
		if r.Part {
			row[0] = "  " + row[0]
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// MiddleCut cuts what does not fit into the room out of the middle of a text.
func MiddleCut(text string, room int) string {
	whole := []rune(text)
	for n := len(whole); format.Width(text) > room && n > 0; n-- {
		text = string(whole[:n/2]) + "…" + string(whole[len(whole)-(n-1)/2:])
	}
	return text
}

// table writes a table. What is too wide loses first the names beside it, if there are lines for them, then columns, and then the
// middle of its longest texts.
func (t *terminal) table(indent string, b report.Table) error {
	b = columnsOf(b, t.depth, false)
	if b.Within {
		indent += "  "
	}
	room := t.Width - format.Width(indent)
	below := slices.ContainsFunc(b.Rows, func(r report.Row) bool { return r.Below != "" })
	named := gridOf(b, format.Line)
	if below {
		named.Head[0] = ""
		for i, r := range b.Rows {
			named.Rows[i][0] = strings.TrimSpace(r.Mark + " " + named.Rows[i][0])
		}
	}
	g, beside := named, named.Width() <= room
	var left []string
	for g.Width() > room {
		if below && !beside {
			for i := range g.Rows {
				g.Rows[i][0] = "  "
			}
		}
		worst := 0
		for i, c := range b.Columns {
			if c.Drop > b.Columns[worst].Drop {
				worst = i
			}
		}
		if g.Width() <= room || b.Columns[worst].Drop == 0 || b.Columns[worst].Drop <= wrapFirst && g.wrapped(b) <= room {
			break
		}
		drop := b.Columns[worst].Drop // those that say the same of different things go together
		if g.brief(b, drop) {
			continue
		}
		left = append(left, OneLine(g.Head[worst]))
		columns := b.Columns
		keep := func(col int) bool { return columns[col].Drop != drop }
		g, b = g.Keeping(keep), keeping(b, keep)
	}
	if over := g.Width() - room; over > 0 && !below {
		g, b = g.wrap(over, b)
		for _, shortest := range []int{20, 14} { // names that are shorter can hardly be told apart
			g.cut(g.Width()-room, shortest, b)
		}
	}
	lines, err := g.Text()
	if err != nil {
		return err
	}
	head := 2
	for _, title := range g.Head {
		head = max(head, 2+strings.Count(title, "\n"))
	}
	grouped := len(b.Rows) > 0 && b.Rows[0].Group != ""
	for _, line := range lines[:head-1] {
		if line != "" {
			t.add(bold, indent+line)
		}
	}
	if !grouped { // or the title of a group is the rule
		t.add("", indent+lines[head-1])
	}
	for i, line := range lines[head:] {
		r := b.Rows[i]
		if r.Group != "" {
			if i > 0 {
				t.apart()
			}
			t.add(bold, rule(indent, r.Group, min(max(g.Width(), 40), room))...)
		}
		for _, above := range r.Above {
			t.para(bold, indent, above)
		}
		switch {
		case beside || !below:
			t.add(colors[r.Tone], indent+line)
			if r.Below != "" {
				t.para("", indent+"    ", r.Below)
			}
		default:
			t.para(colors[r.Tone], indent+r.Mark+" ", format.Join(r.Cells[0].Text, r.Below))
			t.add("", indent+line)
		}
	}
	if len(left) > 0 {
		const few = 4
		if more := len(left) - few; more > 0 && t.depth == report.Short {
			left = append(left[:few:few], "and "+format.Count(more)+" more")
		}
		t.para("", indent, "Left out for lack of room: "+strings.Join(left, ", ")+".")
	}
	return nil
}

// rule returns a title with a line drawn through its rest, or its lines if it takes several.
func rule(indent, title string, width int) []string {
	lines := format.Wrap(indent+Ruled+Ruled+" ", format.Clean(title), width)
	last := &lines[len(lines)-1]
	if rest := width - format.Width(*last) - 1; rest > 0 {
		*last += " " + strings.Repeat(Ruled, rest)
	}
	return lines
}

// brief puts what stands for texts in their place, in the columns that would go, and reports whether there was any: they stay then.
func (g Grid) brief(t report.Table, drop int) (some bool) {
	for col := range t.Columns {
		c := &t.Columns[col]
		if c.Drop != drop {
			continue
		}
		for i, r := range t.Rows {
			if short := format.Line(r.Cells[col].Brief); short != "" {
				g.Rows[i][col], c.Drop, some = short, 0, true
			}
		}
	}
	return some
}

// wrapFirst is the greatest Drop of the columns that stay if texts that may go on below make room enough.
const wrapFirst = 2

// wrapping returns the column whose texts may go on below, and how narrow it may be: no word is cut. Without one it is negative.
func wrapping(g Grid, t report.Table) (col, least int) {
	col = slices.IndexFunc(t.Columns, func(c report.Column) bool { return c.Wrap })
	if col < 0 {
		return col, 0
	}
	for _, row := range g.Rows {
		for _, word := range strings.Fields(row[col]) {
			least = max(least, format.Width(word))
		}
	}
	return col, max(least, format.Width(OneLine(g.Head[col])))
}

// wrapped returns how wide the grid is if texts go on below where they may.
func (g Grid) wrapped(t report.Table) int {
	col, least := wrapping(g, t)
	if col < 0 {
		return g.Width()
	}
	return g.Width() - g.Widest(col) + least
}

// wrap takes so many columns of the terminal out of the texts that may go on below, in rows of their own.
func (g Grid) wrap(over int, t report.Table) (Grid, report.Table) {
	col, least := wrapping(g, t)
	if col < 0 {
		return g, t
	}
	room := max(least, g.Widest(col)-over)
	rows, of := g.Rows, t.Rows
	g.Rows, t.Rows = nil, nil
	for i, row := range rows {
		for j, line := range linesOf(row[col], room) {
			wrapped, source := slices.Clone(row), of[i]
			if j > 0 {
				wrapped, source.Above, source.Group = make([]string, len(row)), nil, ""
			}
			wrapped[col] = line
			g.Rows, t.Rows = append(g.Rows, wrapped), append(t.Rows, source)
		}
	}
	return g, t
}

// linesOf breaks a text between words, into lines that are no wider than room where that can be.
func linesOf(text string, room int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		switch last := &lines[len(lines)-1]; {
		case *last == "":
			*last = word
		case format.Width(*last)+1+format.Width(word) <= room:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// cut takes so many columns of the terminal out of the texts that are aligned left and do not go on below, the widest first and
// none below the shortest.
func (g Grid) cut(over, shortest int, t report.Table) {
	for over > 0 {
		widest, at := shortest, -1
		for col := range g.Head {
			if w := g.Widest(col); !g.Right[col] && !t.Columns[col].Wrap && w > widest {
				widest, at = w, col
			}
		}
		if at < 0 {
			return
		}
		room := max(shortest, widest-over)
		for _, row := range g.Rows {
			row[at] = MiddleCut(row[at], room)
		}
		over -= widest - room
	}
}
