package report

// How all documents write figures, names and lists of them.

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

const (
	named    = 2 // names of a line; more are counted
	someRows = 6 // of the worst results, without -v
)

// verdictTones are how verdicts are taken. Others are plain.
var verdictTones = map[compare.Verdict]Tone{
	compare.Regressed: Bad, compare.Missed: Bad, compare.Violated: Bad,
	compare.Inconclusive: Warn, compare.Improved: Good, compare.Passed: Good,
}

// duration writes nanoseconds.
func duration(ns float64) string { return metric.Duration.Format(ns) }

// known formats an amount; what is not more than 0 is not known.
func known(v float64, write func(float64) string) string {
	if !(v > 0) {
		return format.None
	}
	return write(v)
}

// between writes a value with its interval, if it has one: "3,470/s (3,300 to 3,640/s)".
func between(v, low, high float64, write func(float64) string) string {
	if !(low < high) {
		return write(v)
	}
	from, to := write(low), write(high)
	unit := to[strings.LastIndexAny(to, "0123456789")+1:]
	return write(v) + " (" + strings.TrimSuffix(from, unit) + " to " + to + ")"
}

// titled returns a text behind its title; empty if it is, or not known.
func titled(title, text string) string {
	if text == "" || text == format.None {
		return ""
	}
	return title + " " + text
}

// lasting returns a duration behind its title; empty if it is not above 0.
func lasting(title string, d time.Duration) string {
	return titled(title, known(float64(d), metric.Duration.Format))
}

// spread returns the 95 % interval of an estimate or, of trials too few for one, the least and the greatest; that of a
// single one is not known.
func spread(e stats.Estimate) (low, high float64) {
	if e.N > 1 && !e.Known() {
		return e.Min, e.Max
	}
	return e.Low, e.High
}

// scatter returns how far from their median trials are at the most.
func scatter(e stats.Estimate) string {
	low, high := spread(e)
	return strings.TrimPrefix(format.Change(max(high/e.Median-1, 1-low/e.Median)), "+")
}

// whole is a share that goes without saying.
const whole = "all"

// granted returns the share that was granted.
func granted(c *results.Cell) string {
	if share := view.Granted(c); share < 0.99 {
		return format.Percent(share)
	}
	return whole
}

// marks returns how the figures of a cell are to be taken.
func marks(c *results.Cell) (all []Mark) {
	for _, m := range view.Marks(c) {
		if c.Counts.Acquired == 0 && slices.Contains([]string{"saturated", "paused", "starved"}, m.Code) {
			continue // there are no figures that it is about
		}
		args := strings.TrimSpace(strings.TrimPrefix(m.Text, m.Code))
		all = append(all, Mark{m.Code, args, m.Line, map[bool]Tone{true: Warn}[m.Doubt]})
	}
	return all
}

// explain leaves what the first mark means and that of an adapter, and of no other code.
func (t *Table) explain() {
	var first Mark
	for _, r := range t.Rows {
		for i, m := range r.Marks {
			first = cmp.Or(first, m)
			told := m.Code == first.Code && m.Tone == first.Tone && (m.Tone == Warn || m.Code != "saturated") // of a few trials
			if m.Code != "bridge" {
				r.Marks[i].Line = map[bool]string{true: first.Line}[told]
			}
		}
	}
}

// headline returns what was granted to the clients of a cell, how fast, and what is doubtful of that.
func headline(c *results.Cell) string {
	text := "no lock was granted"
	if c.Counts.Acquired > 0 {
		_, bounded := c.Figures().MaxRate()
		text = format.Join(format.Three(c.Rate.Median)+" locks/s"+titled(" ±", scatter(view.Rate(c))),
			strings.TrimSuffix("granted "+granted(c), "granted "+whole), titled("p99", duration(view.P99(c))),
			map[bool]string{true: "no violation seen"}[bounded])
	}
	for _, m := range marks(c) {
		if m.Tone == Warn {
			text = format.Join(text, strings.TrimSpace(m.Code))
		}
	}
	return text
}

// tellMarks adds what the marks of a cell mean, but for what its limit says.
func (t *Table) tellMarks(c *results.Cell) {
	for _, m := range marks(c) {
		if m.Code == "saturated" && c.Limit().By.Busy() || m.Code == "errors" || m.Code == "unknown" ||
			m.Code == "partial" && c.First().StoppedLong() {
			continue // the limit says it, the outcomes, or what follows
		}
		if m.Code == "paused" {
			m.Line = pausedLine(c)
		}
		t.fact(m.Tone, strings.TrimSpace(m.Code+" "+m.Args), m.Line)
	}
}

// pausedLine says for how long lockbench was stopped or, if it never was, had no core.
func pausedLine(c *results.Cell) string {
	pauses, ran := c.Generator.Pauses, "lockbench got no core for "
	if c.Generator.Stopped() {
		pauses = slices.DeleteFunc(slices.Clone(pauses), func(p results.Pause) bool { return p.Starved })
		ran = "lockbench did not run for "
	}
	cause := map[bool]string{true: "all violations came from it"}[view.Cause(c).Code == "paused"]
	return format.Join(ran+format.Duration(results.LengthOf(pauses)), "first at "+format.Duration(pauses[0].At), "latencies include it", cause)
}

// toneOf returns the tone of a row: bad for a broken promise, a warning for figures that are doubtful.
func toneOf(c *results.Cell) Tone {
	switch {
	case c.Violated():
		return Bad
	case c.Breaches() > 0 || view.Doubts(c) != nil:
		return Warn
	}
	return Plain
}

// spaced returns a name as it stands in a line that has dots between its parts.
func spaced(name string) string { return strings.ReplaceAll(name, " · ", " ") }

// design returns the driver of a cell with its lock and topology.
func design(c *results.Cell) string {
	p := c.Plan()
	return strings.TrimSpace(p.Driver + " " + p.Lock + " " + p.Topology)
}

// tell adds a fact for each text that is true of cells, with their designs if it is not true of all.
func (t *Table) tell(v *view.Run, label string, text func(*results.Cell) string) {
	var whose view.Grouped[string, string]
	for _, c := range v.Cells {
		whose.Add(text(c), design(c))
	}
	for _, text := range whose.Keys {
		if text != "" && len(whose.Keys) > 1 {
			text = format.Few(whose.Of[text], named) + ": " + text
		}
		t.fact(Plain, label, text)
	}
}

// dense returns a table without the columns in which nothing is known, or all goes without saying.
func dense(t *Table) *Table {
	for i := len(t.Columns) - 1; i > 0; i-- {
		says := func(r Row) bool { return !slices.Contains([]string{"", format.None, whole}, r.Cells[i].Text) }
		if !slices.ContainsFunc(t.Rows, says) {
			t.Columns = slices.Delete(t.Columns, i, i+1)
			for j := range t.Rows {
				t.Rows[j].Cells = slices.Delete(t.Rows[j].Cells, i, i+1)
			}
		}
	}
	return t
}
