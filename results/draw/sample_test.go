package draw

import (
	"fmt"
	"math"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

func ms(v float64) string { return format.Duration(time.Duration(v)) }

func percent(v float64) string { return format.Change(v - 1) }

// sample has every kind of block, and every kind of chart.
func sample() *report.Document {
	saturated := report.Mark{Code: "saturated", Line: "lockbench was the bottleneck", Tone: report.Warn}
	rows := [][]string{{"rueidis · set-nx · wait queue", "6,933", "34.8 ms"}, {"mysql · get-lock", "6,046", "40.8 ms"},
		{"redsync · library · redlock 5", "1,807", "441 ms"}, {"", "", ""}}
	table := &report.Table{Columns: []report.Column{{Title: "lock", Left: true}, {Title: "locks\n/s", About: "granted"}, {Title: "p99"}, {Title: "limit", Left: true}}}
	for i, r := range rows[:3] {
		row := report.Row{Cells: []report.Cell{{Text: r[0]}, {Text: r[1]}, {Text: r[2], Tone: report.Tone(i)}, {Text: "held 71 %"}}}
		switch i {
		case 0:
			row.Group = "64 clients"
		case 1:
			row.Marks = []report.Mark{saturated, {Code: "drifts", Args: "2/5", Tone: report.Warn, Line: "rate fell by 12 %"}}
		case 2:
			row.Tone = report.Bad
			row.Marks = []report.Mark{{Code: "violated", Args: "3", Tone: report.Bad, Line: "3 grants overlapped"}}
		}
		table.Rows = append(table.Rows, row)
	}
	table.Rows = append(table.Rows, report.Row{Part: true, Cells: []report.Cell{{Text: "key 1"}, {Text: "12"}, {Text: "–"}, {Text: ""}}})
	facts := &report.Table{Rows: []report.Row{{Cells: []report.Cell{{Text: "limit"}, {Text: "key: held 71 %, moving 12 %"}}},
		{Cells: []report.Cell{{Text: "risk"}, {Text: "no fencing token", Tone: report.Warn}}, Marks: []report.Mark{saturated}}}}
	d := &report.Document{Command: "lockbench run", Title: "6,933 locks/s · rueidis set-nx", Tone: report.Bad, When: "2026-11-24 00:10 – 00:12 UTC · 64 clients on 10 keys",
		Blocks: []report.Block{{Table: facts}, {Heading: "Locks", Table: table, Chart: sampleChart(report.Bars)}}}
	for _, kind := range []report.Kind{report.Spans, report.Changes, report.Lanes, report.Lines} {
		d.Blocks = append(d.Blocks, report.Block{Chart: sampleChart(kind)})
	}
	d.Blocks = append(d.Blocks, report.Block{Heading: "Percentiles", Detail: true, Text: []report.Text{{Text: "Plain words."}, {Text: "Careful.", Tone: report.Warn}},
		Chart: percentiles()}, report.Block{Detail: true, Chart: fit()},
		report.Block{Heading: "Command", Detail: true, Text: []report.Text{{Text: "lockbench run -driver rueidis\n  -lock set-nx", Code: true}}})
	return d
}

func sampleChart(kind report.Kind) *report.Chart {
	c := &report.Chart{Kind: kind}
	add := func(name, text string, tone report.Tone, points ...report.Point) {
		c.Series = append(c.Series, report.Series{Name: name, Text: text, Tone: tone, Points: points})
	}
	switch kind {
	case report.Bars:
		c.Title, c.X = "Throughput", report.Axis{Name: "locks/s · line: 95 % interval · dotted: at most", Label: format.Three}
		add("rueidis · set-nx · wait queue", "6,933 ± 3 %", report.Plain, report.Point{X: 6933, Low: 6700, High: 7100})
		add("mysql · get-lock", "6,046", report.Warn, report.Point{X: 6046, Low: 5600, High: 6500})
		add("redsync · library · redlock 5", "1,807", report.Bad, report.Point{X: 1807})
		add("etcd · lease · a name that goes on and on, for it has many settings that differ", "none", report.Plain, report.Point{X: math.NaN()})
		c.Series[0].Bound, c.Series[1].Bound = 8800, 6400
	case report.Spans:
		c.Title, c.X = "Wait", report.Axis{Name: "p50 → p99 → max", Log: true, Label: ms}
		add("rueidis · set-nx · wait queue", "34.8 ms", report.Good, report.Point{X: 34.8e6, Low: 6.5e6, High: 41e6})
		add("mysql · get-lock", "40.8 ms", report.Warn, report.Point{X: 40.8e6, Low: 7e6, High: 300e6})
		add("redsync · library · redlock 5", "–", report.Plain, report.Point{X: math.NaN(), Low: 1e6, High: math.NaN()})
	case report.Changes:
		c.Title, c.X = "Changes", report.Axis{Name: "locks/s, base to head", Log: true, Label: percent}
		c.Shade = report.Range{Low: 0, High: 0.95}
		add("64 clients", "+11 % faster", report.Good, report.Point{X: 1.11, Low: 1.08, High: 1.15})
		add("512 clients", "−9 % slower", report.Bad, report.Point{X: .91, Low: .88, High: .94})
		add("1 client", "±2 % same", report.Plain, report.Point{X: 1.001, Low: .98, High: 1.02})
		add("8 clients", "+900 %", report.Warn, report.Point{X: 10, Low: 3, High: 40})
	case report.Lanes:
		c.Title, c.X = "Who held the lock", report.Axis{Name: "time", Label: ms}
		add("A", "", report.Plain, report.Point{Low: 0.1e9, High: 2.4e9}, report.Point{Low: 4e9, High: 4.6e9})
		add("B", "", report.Bad, report.Point{Low: 2e9, High: 3.4e9})
		c.Uprights = []report.Line{{At: 1.1e9, Name: "A is paused"}, {At: 1.5e9, Name: "the lease of A ends"}, {At: 4.4e9, Name: "A goes on"}}
	case report.Lines:
		c.Title, c.X, c.Y = "Throughput over time", report.Axis{Name: "time", Label: ms}, report.Axis{Name: "locks/s", Label: format.Three}
		c.Shade = report.Range{High: 2e9}
		c.Uprights = []report.Line{{At: 6e9, Name: "server stopped"}}
		c.Levels = []report.Line{{At: 8000, Name: "asked for 8,000/s"}}
		for s := range 3 {
			one := report.Series{Name: fmt.Sprint("trial ", s+1), Area: s == 0, Dashed: s == 2}
			for i := range 20 {
				y := 7000 + 300*math.Sin(float64(i+s)) + 40*float64(s)
				if i == 12 && s == 0 {
					y = math.NaN()
				}
				one.Points = append(one.Points, report.Point{X: float64(i) * 5e8, Y: y})
			}
			c.Series = append(c.Series, one)
		}
	}
	return c
}

func percentiles() *report.Chart {
	c := &report.Chart{Title: "Wait by percentile", X: report.Axis{Name: "share of the grants", Ticks: []report.Line{{At: 0.301, Name: "50 %"}, {At: 1, Name: "90 %"}, {At: 2, Name: "99 %"}, {At: 3, Name: "99.9 %"}}},
		Y: report.Axis{Name: "wait", Log: true, Label: ms}}
	for s := range 9 {
		one := report.Series{Name: fmt.Sprintf("open, Poisson %d,000/s", s+1)}
		for n := 0.1; n < 3.5; n += 0.1 {
			one.Points = append(one.Points, report.Point{X: n, Y: 1e5 * math.Pow(10, n*(0.6+0.02*float64(s)))})
		}
		c.Series = append(c.Series, one)
	}
	return c
}

// fit is a line with a band, and signs.
func fit() *report.Chart {
	c := &report.Chart{Title: "Wait over the rate", X: report.Axis{Name: "arrivals/s", Log: true, Label: format.Three}, Y: report.Axis{Name: "p99", Log: true, Label: ms},
		Uprights: []report.Line{{At: 600, Name: "asked"}}, Levels: []report.Line{{At: 1e7, Name: "limit 10 ms"}}}
	line, signs, other := report.Series{Name: "fit"}, report.Series{Name: "measured", Signs: true}, report.Series{Name: "measured again", Signs: true, Tone: report.Bad}
	for x := 100.0; x < 1000; x *= 1.1 {
		y := 2e6 / (1 - x/1100)
		line.Points = append(line.Points, report.Point{X: x, Y: y, Low: y * .8, High: y * 1.3})
	}
	for _, x := range []float64{200, 400, 800} {
		signs.Points = append(signs.Points, report.Point{X: x, Y: 2.1e6 / (1 - x/1100), Low: 1.9e6 / (1 - x/1100), High: 2.3e6 / (1 - x/1100)})
		other.Points = append(other.Points, report.Point{X: x, Y: 1.9e6 / (1 - x/1100)})
	}
	c.Series = []report.Series{line, signs, other}
	return c
}
