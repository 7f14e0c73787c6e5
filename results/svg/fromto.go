package svg

// The step from one value of a setting to the other.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// fromTo draws the step of locks a second from one value of a setting to the other.
func fromTo(v *view.Run, s spec.Setting) (Chart, bool) {
	axis := view.AxisOf(s)
	var values []string
	valueOf := func(c *results.Cell) string { return cmp.Or(axis.Value(c), s.Zero, "default") }
	for _, c := range v.Cells {
		if value := valueOf(c); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	if len(values) != 2 {
		return Chart{}, false
	}
	all, left := over(v, s, func(c *results.Cell) (float64, bool) { return float64(slices.Index(values, valueOf(c))), true })
	all = slices.DeleteFunc(all, func(l lineOf) bool { return len(l.cells) != 2 || l.values[0] == l.values[1] })
	if len(all) == 0 {
		return Chart{}, false
	}
	slices.SortStableFunc(all, func(a, b lineOf) int { return cmp.Compare(b.cells[0].Rate.Median, a.cells[0].Rate.Median) })
	names := namesOf(all, s)
	if len(all) == 1 {
		names[0] = "locks/s"
	}
	notes := newNotes()
	p := panel{ends: [2]string{values[0], values[1]}}
	rows := section{}
	least, most := math.Inf(1), 0.0
	var said []string
	for i, l := range all {
		from, to := l.cells[0], l.cells[1]
		least, most = math.Min(least, math.Min(from.Rate.Median, to.Rate.Median)), math.Max(most, math.Max(from.Rate.Median, to.Rate.Median))
		bad := from.Violated() || to.Violated()
		rows.name(names[i], bad)
		change := changeWords(from.Rate, to.Rate)
		sign := notes.of(from)
		if other := notes.of(to); other != sign {
			sign += other
		}
		p.marks = append(p.marks, mark{from: from.Rate.Median, to: to.Rate.Median, low: math.NaN(), bad: bad, label: change + sign})
		said = append(said, fmt.Sprintf("%s %s → %s (%s%s)", names[i], format.Three(from.Rate.Median), format.Three(to.Rate.Median), change, saidOf(to)))
	}
	p.scale = plot.Log(least, most, plot.RateLabel)
	rows.panels = []panel{p}
	title := fmt.Sprintf("Locks per second: %s %s → %s", strings.ReplaceAll(s.Name, "-", " "), values[0], values[1])
	c := newCanvas(title, aboutCells(cellsOf(all)), "Logarithmic scale; dots are medians of "+trialsText(v)+".")
	drawAll(c, []section{rows})
	notes.draw(c, nil, 0)
	c.leftOut(left, 0)
	return c.chart(s.Name, title, title+". "+strings.Join(said, "; ")+"."), true
}

// changeWords says how many more or fewer locks there are; trials whose ranges overlap show no difference.
func changeWords(from, to results.Spread) string {
	ratio := to.Median / from.Median
	overlap := from.Min < from.Max && to.Min <= from.Max && from.Min <= to.Max
	switch {
	case overlap || math.Abs(ratio-1) < 0.02:
		return "no difference"
	case ratio < 1:
		return format.Percent(1-ratio) + " fewer"
	case ratio < 2:
		return format.Percent(ratio-1) + " more"
	}
	return strconv.FormatFloat(ratio, 'f', 1, 64) + " times as many"
}
