package draw

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/report"
)

// TestNamesDoNotCollide: lines that end near each other have their names apart, and all of them in the legend.
func TestNamesDoNotCollide(t *testing.T) {
	p := report.Panel{Y: report.Axis{Unit: report.Nanoseconds, Log: true, Least: 1e3, Most: 1e6}}
	for i := range 6 {
		p.Series = append(p.Series, report.Series{Name: fmt.Sprint("line ", i), Colour: i, Points: []report.Point{{X: 0.5, Y: 2e5}, {X: 3, Y: 2e3}}})
	}
	c := newChart(report.Chart{X: report.Axis{Unit: report.Nines, Most: 3}, Panels: []report.Panel{p}})
	places := regexp.MustCompile(`class="direct[^>]* y="([\d.]+)"`).FindAllStringSubmatch(string(c.Panels[0].SVG), -1)
	if len(places) != 6 || len(c.Legend) != 6 {
		t.Fatalf("%d names and %d in the legend of 6 lines", len(places), len(c.Legend))
	}
	last := math.Inf(-1)
	for _, place := range places {
		y, err := strconv.ParseFloat(place[1], 64)
		if err != nil || y-last < nameStep-0.2 || y < 0 || y > chartHeight+10 {
			t.Errorf("names at %g and %g of %d: %v", last, y, chartHeight, err)
		}
		last = y
	}
}

// TestGaps: a line is broken where its value is not known, and a point by itself is a dot.
func TestGaps(t *testing.T) {
	nan := math.NaN()
	line := report.Series{Area: true}
	for i, y := range []float64{1, 2, nan, 3, nan, nan, 4, 5} {
		line.Points = append(line.Points, report.Point{X: float64(i), Y: y})
	}
	c := newChart(report.Chart{
		X: report.Axis{Most: 8}, From: 0, To: 2,
		Panels: []report.Panel{{Y: report.Axis{Most: 5}, Series: []report.Series{line}, Signs: []report.Signs{{Kind: 4, Points: []report.Point{{X: 3, Y: 3}}}}}},
	})
	svg := string(c.Panels[0].SVG)
	for class, want := range map[string]int{"curve s1": 2, "area s1": 3, "mark s1": 1, "sign violation": 1, "band": 1} {
		if got := strings.Count(svg, `class="`+class+`"`); got != want {
			t.Errorf("%d of class %q, want %d", got, class, want)
		}
	}
	if len(c.Legend) != 0 {
		t.Errorf("a legend of one line: %v", c.Legend)
	}
}

// TestSameDrawingTwice: a page and a file have the same marks, in shares of the width and in units.
func TestSameDrawingTwice(t *testing.T) {
	rows := report.Intervals{Look: report.Spans, Axis: report.Axis{Unit: report.Nanoseconds, Log: true, Least: 1e3, Most: 1e6},
		Rows: []report.Interval{{Name: "one", Low: 1e3, Mid: 1e5, High: 1e6}}}
	page, file := drawing{height: rowHeight}, drawing{height: rowHeight, left: 100, top: 50, width: 200}
	for _, d := range []*drawing{&page, &file} {
		d.row(rows, rows.Rows[0], rowScale(rows))
	}
	for _, test := range []struct{ svg, want string }{
		{page.String(), `<circle class="to same" cx="66.67%" cy="15.0" r="5.0"/>`},
		{file.String(), `<circle class="to same" cx="233.3" cy="65.0" r="5.0"/>`},
	} {
		if !strings.Contains(test.svg, test.want) {
			t.Errorf("no %s in %s", test.want, test.svg)
		}
	}
}
