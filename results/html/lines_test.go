package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/plot"
)

func TestLabelsDoNotCollide(t *testing.T) {
	var all []series
	for i := range 6 {
		all = append(all, series{fmt.Sprint("line ", i), colour(i), []draw.Point{{X: 0, Y: 0.1}, {X: 1, Y: 0.02}}})
	}
	chart := lines(lineChart{}, plot.Tail(3), plot.LogTime(1e3, 1e6), all, chartHeight)
	svg := string(chart.SVG)
	var last float64
	for i := range strings.Count(svg, `class="direct`) {
		_, rest, _ := strings.Cut(svg, `class="direct`)
		var y float64
		_, at, _ := strings.Cut(rest, ` y="`)
		if _, err := fmt.Sscanf(at, "%f", &y); err != nil {
			t.Fatal(err)
		}
		if i > 0 && y-last < labelStep-0.2 {
			t.Errorf("labels at %g and %g", last, y)
		}
		if y < 0 || y > chartHeight+10 {
			t.Errorf("a label at %g of %d", y, chartHeight)
		}
		svg, last = rest, y
	}
	if len(chart.Legend) != 6 {
		t.Errorf("%d of 6 lines in the legend", len(chart.Legend))
	}
}
