package draw

import (
	"fmt"
	"math"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

func ms(v float64) string { return format.Duration(time.Duration(v)) }

// sample has every kind of block, and every kind of chart.
func sample() *report.Document {
	saturated := report.Mark{Code: "saturated", Line: "lockbench was the bottleneck", Tone: report.Warn}
	drifts := report.Mark{Code: "drifts", Args: "2/5", Tone: report.Warn, Line: "rate fell by 12 %"}
	violated := report.Mark{Code: "violated", Args: "3", Tone: report.Bad, Line: "3 grants overlapped"}
	cells := func(texts ...string) (all []report.Cell) {
		for _, text := range texts {
			all = append(all, report.Cell{Text: text})
		}
		return all
	}
	table := &report.Table{
		Columns: []report.Column{{Title: "lock", Left: true}, {Title: "locks\n/s", About: "granted"}, {Title: "p99"},
			{Title: "limit", Left: true}},
		Rows: []report.Row{
			{Group: "64 clients", Cells: cells("rueidis · set-nx · wait queue", "6,933", "34.8 ms", "key")},
			{Cells: cells("mysql · get-lock", "6,046", "40.8 ms", "key"), Marks: []report.Mark{saturated, drifts}},
			{Cells: cells("redsync · library · redlock 5", "1,807", "441 ms", "wait"), Tone: report.Bad,
				Marks: []report.Mark{violated}},
			{Cells: cells("key 1", "12", "–", ""), Part: true},
		},
	}
	table.Rows[1].Cells[2].Tone = report.Good
	risk := report.Row{Cells: cells("risk", "no fencing token")}
	risk.Cells[1].Tone = report.Warn
	facts := &report.Table{Rows: []report.Row{{Cells: cells("limit", "key: held 71 %, moving 12 %")}, risk}}
	d := &report.Document{Command: "lockbench run", Title: "6,933 locks/s · rueidis set-nx", Tone: report.Bad,
		When:   "2026-11-24 00:10 – 00:12 UTC · 64 clients on 10 keys",
		Blocks: []report.Block{{Table: facts}, {Heading: "Locks", Table: table}}}
	for _, ch := range charts() {
		d.Blocks = append(d.Blocks, report.Block{Chart: ch})
	}
	words := []report.Text{{Text: "Plain."}, {Text: "Careful.", Tone: report.Warn}}
	command := []report.Text{{Text: "lockbench run\n  -lock set-nx", Code: true}}
	d.Blocks = append(d.Blocks, report.Block{Heading: "Words", Detail: true, Text: words},
		report.Block{Heading: "Command", Detail: true, Text: command})
	return d
}

func row(name, text string, tone report.Tone, points ...report.Point) report.Series {
	return report.Series{Name: name, Text: text, Tone: tone, Points: points}
}

// charts are one of each kind, and one with signs, a band and nine lines each.
func charts() []*report.Chart {
	nan := math.NaN()
	bars := &report.Chart{Title: "Throughput", Kind: report.Bars,
		X: report.Axis{Name: "locks/s · line: 95 % interval · dotted: at most", Label: format.Three},
		Series: []report.Series{
			row("rueidis · set-nx · queue", "6,933 ± 3 %", report.Plain, report.Point{X: 6933, Low: 6700, High: 7100}),
			row("mysql · get-lock", "6,046", report.Warn, report.Point{X: 6046, Low: 5600, High: 6500}),
			row("redsync · library · redlock 5", "1,807", report.Bad, report.Point{X: 1807}),
			row("etcd · lease · a name that goes on and on and on", "none", report.Plain, report.Point{X: nan}),
		}}
	bars.Series[0].Bound, bars.Series[1].Bound, bars.Series[2].Group = 8800, 6400, "more"
	spans := &report.Chart{Title: "Wait", Kind: report.Spans, X: report.Axis{Name: "p50 → p99", Log: true, Label: ms},
		Series: []report.Series{
			row("rueidis · set-nx · queue", "34.8 ms", report.Good, report.Point{X: 34.8e6, Low: 6.5e6, High: 41e6}),
			row("redsync · library", "–", report.Plain, report.Point{X: nan, Low: 1e6, High: nan}),
		}}
	changes := &report.Chart{Title: "Changes", Kind: report.Changes, Uprights: []report.Line{{At: 1, Name: "no change"}},
		X: report.Axis{Name: "base to head", Log: true, Label: func(v float64) string { return format.Change(v - 1) }},
		Series: []report.Series{
			row("64 clients", "+11 % faster", report.Good, report.Point{X: 1.11, Low: 1.08, High: 1.15}),
			row("512 clients", "−9 % slower", report.Bad, report.Point{X: .91, Low: .88, High: .94}),
			row("8 clients", "+900 %", report.Warn, report.Point{X: 10, Low: 3, High: 40}),
		}}
	lanes := &report.Chart{Title: "Who held the lock", Kind: report.Lanes, X: report.Axis{Name: "time", Label: ms},
		Uprights: []report.Line{{At: 1.1e9, Name: "A is paused"}, {At: 1.5e9, Name: "its lease ends"}},
		Series: []report.Series{
			row("A", "", report.Plain, report.Point{Low: 0.1e9, High: 2.4e9}, report.Point{Low: 4e9, High: 4.6e9}),
			row("B", "", report.Bad, report.Point{Low: 2e9, High: 3.4e9}),
		}}
	lines := &report.Chart{Title: "Throughput over time", X: report.Axis{Name: "time", Label: ms},
		Y: report.Axis{Name: "locks/s", Label: format.Three}, Shade: 2e9,
		Uprights: []report.Line{{At: 6e9, Name: "server stopped"}}}
	nines := &report.Chart{Title: "Wait by percentile", Y: report.Axis{Name: "wait", Log: true, Label: ms},
		X: report.Axis{Name: "share", Ticks: []report.Line{{At: 0.301, Name: "50 %"}, {At: 3, Name: "99.9 %"}}}}
	for s := range 9 {
		rate := report.Series{Name: fmt.Sprint("trial ", s+1), Dashed: s == 2}
		wait := report.Series{Name: fmt.Sprintf("open, Poisson %d,000/s", s+1)}
		for i := range 20 {
			x := float64(i)
			p := report.Point{X: x * 5e8, Y: 7000 + 300*math.Sin(x+float64(s))}
			if s == 0 {
				p.High = p.Y
			}
			rate.Points = append(rate.Points, p)
			wait.Points = append(wait.Points, report.Point{X: x / 6, Y: 1e5 * math.Pow(10, x*(0.1+0.003*float64(s)))})
		}
		rate.Points[12].Y = nan
		if nines.Series = append(nines.Series, wait); s < 3 {
			lines.Series = append(lines.Series, rate)
		}
	}
	fit := &report.Chart{Title: "Wait over rate", X: report.Axis{Name: "arrivals/s", Log: true, Label: format.Three},
		Y: report.Axis{Name: "p99", Log: true, Label: ms}}
	curve, signs := report.Series{Name: "fit"}, report.Series{Name: "measured", Signs: true}
	for x := 100.0; x < 1000; x *= 1.15 {
		y := 2e6 / (1 - x/1100)
		curve.Points = append(curve.Points, report.Point{X: x, Y: y, Low: y * .8, High: y * 1.3})
		signs.Points = append(signs.Points, report.Point{X: x, Y: y * 1.05, Low: y * .95, High: y * 1.1})
	}
	fit.Series = []report.Series{curve, signs}
	return []*report.Chart{bars, spans, changes, lanes, lines, nines, fit}
}
