package html

// Loads in steps: what each rate took, and whether it took the same the second time.

import (
	"math"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/plot"
	"github.com/lockbench/lockbench/results/view"
)

// rateStep is a cell whose rate goes in steps.
type rateStep struct {
	Name  string
	Chart lineChart // without an SVG if no step had grants enough for a quantile
	Table table
	Twice bool // each step was made twice
}

func (v content) rateSteps() (all []rateStep) {
	for i, c := range v.Cells {
		for _, r := range c.Trials {
			if len(r.Steps) > 0 {
				all = append(all, drawSteps(v.Names[i], r))
				break
			}
		}
	}
	return all
}

func drawSteps(name string, r *results.Record) rateStep {
	parts := view.Passes(r)
	most, least, worst := 0.0, math.Inf(1), 0.0
	for _, s := range r.Steps {
		most = math.Max(most, s.Rate)
		for _, q := range []float64{0.5, 0.99} {
			if t := view.StepQuantile(s, q); t > 0 {
				least, worst = math.Min(least, t), math.Max(worst, t)
			}
		}
	}
	x, y := plot.Linear(most, 5, plot.RateLabel), plot.LogTime(least, worst)
	var all []series
	st := rateStep{Name: name, Twice: len(parts) == 2}
	st.Table = table{Caption: "Steps of " + name,
		Head: heads("asked/s", "pass", "granted/s", "p50", "p99", "longest", "dropped", "queue at its end")}
	for pass, steps := range parts {
		suffix, stroke := "", ""
		if st.Twice {
			suffix = [2]string{", there", ", back"}[pass]
			stroke = [2]string{"", dashed}[pass]
		}
		for _, line := range []struct {
			q           float64
			name, class string
		}{{0.99, "p99", "s2"}, {0.5, "p50", "s1"}} {
			s := series{name: line.name + suffix, class: line.class + stroke}
			for _, step := range steps {
				if t := view.StepQuantile(step, line.q); !math.IsNaN(t) {
					s.points = append(s.points, draw.Point{X: x.At(step.Rate), Y: y.At(t)})
				}
			}
			all = append(all, s)
		}
		for _, s := range steps {
			st.Table.Rows = append(st.Table.Rows, tableRow{Name: format.Three(s.Rate), Cells: texts(
				strings.TrimPrefix(suffix, ", "), format.Three(float64(s.Acquired)/math.Max(s.Length.Seconds(), 1e-9)),
				metric.Duration.Format(view.StepQuantile(s, 0.5)), metric.Duration.Format(view.StepQuantile(s, 0.99)), format.Duration(s.Max),
				format.Count(s.Dropped), format.Count(s.Queue))})
		}
	}
	if worst > 0 {
		st.Chart = lines(lineChart{Title: "Response by arrivals a second, " + name,
			Finding: "The longest p99 of a step is " + metric.Duration.Format(worst) + "."}, x, y, all, chartHeight)
	}
	return st
}
