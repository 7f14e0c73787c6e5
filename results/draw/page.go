package draw

// Documents as pages of HTML.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// Page writes a document as a page; see Shell. The same document makes the same bytes.
func Page(w io.Writer, d *report.Document) error {
	if d == nil {
		return errors.New("draw: no document")
	}
	var body bytes.Buffer
	if err := documents.ExecuteTemplate(&body, "document", d); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return Shell(w, format.Line(d.Title), template.HTML(body.String()))
}

var documents = template.Must(template.New("").Funcs(template.FuncMap{
	"kind":     func(b report.Block) string { return reflect.TypeOf(b).Name() },
	"class":    func(t report.Tone) string { return classes[t] },
	"line":     format.Line,
	"facts":    func(f report.Facts) report.Facts { return f.Of(report.Page) },
	"code":     func(c report.Code) string { return strings.Join(codeLines(c), "\n") },
	"ofPage":   func(blocks []report.Block) []report.Block { return report.Of(blocks, report.Page) },
	"summary":  func(d *report.Document) []report.Block { return parts(d, false) },
	"sections": func(d *report.Document) []report.Block { return parts(d, true) },
	"marks":    func(t report.Table) int { return len(t.Columns) - 1 },
	"lanes":    newLanes,
	"chart":    newChart,
	"course":   drawCourse,
	"rows":     newIntervals,
	"column":   func(title string) string { return format.Line(OneLine(title)) },
	"fold":     foldTable,
	"foldRows": func(c intervals) [2][]interval { return fold(c.Rows, cmp.Or(c.Most, shownRows)) },
	"row":      rowOf,
	"join":     func(texts []string) string { return strings.Join(texts, " ") },
	"known":    func(t report.Table) report.Table { return columnsOf(t, report.Page, true) },
	"percent":  percent,
	"hundred":  func(share float64) int { return int(100*min(1, max(0, share)) + 0.5) },
	"heading":  heading,
}).ParseFS(files, "document.html"))

// heading returns how a title without a mark is drawn: that of a lock that failed as an alarm, and a long one in smaller letters.
func heading(d *report.Document) string {
	switch {
	case d.Mark != "":
		return ""
	case d.Tone == report.Alarm:
		return "long alarm"
	case len(d.Title) > 100:
		return "long"
	}
	return ""
}

// classes are how tones are drawn.
var classes = [...]string{"same", "good", "warn", "bad", "bad alarm"}

// shownRows is how many rows stand at once.
const shownRows = 30

// fold returns the rows that stand at once, and those that are folded away.
func fold[Row any](rows []Row, shown int) [2][]Row {
	if len(rows) <= shown+4 {
		return [2][]Row{rows}
	}
	return [2][]Row{rows[:shown], rows[shown:]}
}

// foldTable folds the rows of a table, those of a group together if that is possible.
func foldTable(t report.Table) [2][]report.Row {
	folded := fold(t.Rows, shownRows)
	if t.Whole || folded[1] == nil {
		return [2][]report.Row{t.Rows}
	}
	for at := len(folded[0]) + 4; at > 0; at-- {
		if t.Rows[at].Group != "" {
			return [2][]report.Row{t.Rows[:at], t.Rows[at:]}
		}
	}
	return folded
}

// parts returns the sections of a document to which its summary leads, or what belongs to none.
func parts(d *report.Document, sections bool) (list []report.Block) {
	for _, b := range report.Of(d.Blocks, report.Page) {
		if f, is := b.(report.Facts); is && len(f.Of(report.Page)) == 0 {
			continue
		}
		if s, is := b.(report.Section); (is && s.ID != "") == sections {
			list = append(list, b)
		}
	}
	return list
}

// lanes are Lanes with places, as shares of the width, and pixels from the top.
type lanes struct {
	Title   string
	Height  int
	Lanes   []lane
	Moments []moment
}

type lane struct {
	Name  string
	Y     int
	Spans []span
}

type span struct{ X, Width string }

type moment struct{ X, Text string }

const (
	laneHeight = 22 // pixels
	lanesLeft  = 6  // per cent of the width, for the names
)

func newLanes(l report.Lanes) lanes {
	share := func(t time.Duration) float64 { return min(1, max(0, float64(t)/float64(max(1, l.To-l.From)))) }
	percent := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "%" }
	at := func(t time.Duration) string { return percent(lanesLeft + (100-lanesLeft)*share(t-l.From)) }
	out := lanes{Title: l.Title, Height: len(l.Lanes) * laneHeight}
	for i, one := range l.Lanes {
		drawn := lane{Name: one.Name, Y: i * laneHeight}
		for _, s := range one.Spans {
			drawn.Spans = append(drawn.Spans, span{at(s.From), percent((100 - lanesLeft) * max(0.002, share(s.To-s.From)))})
		}
		out.Lanes = append(out.Lanes, drawn)
	}
	for _, m := range l.Moments {
		out.Moments = append(out.Moments, moment{at(m.At), m.Text})
	}
	return out
}

// cell is a place of a table as the page has it.
type cell struct {
	report.Value
	Head   bool // it names the row
	Class  string
	Badges []report.Badge
}

// row is one of a table as the page has it.
type row struct {
	Group, ID, Class string
	Cells            []cell
}

func rowOf(t report.Table, r report.Row) row {
	all := row{Group: r.Group, ID: r.ID}
	if r.Tone != report.Plain {
		all.Class = classes[r.Tone]
	}
	if r.Part {
		all.Class = strings.TrimSpace(all.Class + " part")
	}
	for i, v := range r.Cells {
		c := cell{Value: v, Head: i == 0 && t.Columns[0].Left}
		if i == 0 {
			c.Badges = r.Badges
		}
		if t.Columns[i].Left {
			c.Class = "left"
		}
		if v.Tone != report.Plain {
			c.Class += " verdict " + classes[v.Tone]
		}
		if t.Columns[i].Wrap {
			c.Class += " wrap"
		}
		c.Class = strings.TrimSpace(c.Class)
		all.Cells = append(all.Cells, c)
	}
	return all
}
