package history

// From trials to points.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results/stats"
)

// pause is how long nothing may be measured of a revision before it counts as measured again: within an hour a machine
// is what it was, and a new value would be none of its own.
const pause = time.Hour

// points sorts trials by time and puts those together that were measured at one time. Trials of two revisions may take
// turns. A run that lasts longer than any pause is one point all the same.
func points(trials []trial) (all []Point) {
	slices.SortStableFunc(trials, func(a, b trial) int { return a.started.Compare(b.started) })
	latest := map[string]int{} // by revision
	for _, t := range trials {
		revision := t.conditions.revision
		i, had := latest[revision]
		if had && (all[i].runs[t.run] || t.started.Sub(all[i].end) <= pause) {
			all[i].add(t)
			continue
		}
		latest[revision] = len(all)
		p := Point{Revision: revision, Started: t.started, conditions: t.conditions, runs: map[string]bool{}}
		p.add(t)
		all = append(all, p)
	}
	return all
}

func (p *Point) add(t trial) {
	p.trials = append(p.trials, t)
	p.runs[t.run] = true
	if t.end.After(p.end) {
		p.end = t.end
	}
	p.Trials++
	p.Violations += t.violations
	if t.saturated {
		p.Saturated++
	}
}

// build makes a series of what was collected.
func (b *builder) build() *Series {
	s := &Series{Sample: b.sample, Points: points(b.trials)}
	for i, f := range b.figures {
		l := Line{Figure: f, P: math.NaN()}
		for _, p := range s.Points {
			values := make([]float64, len(p.trials))
			for j, t := range p.trials {
				values[j] = t.values[i]
			}
			l.Values = append(l.Values, stats.Of(values))
		}
		s.Lines = append(s.Lines, l)
	}
	return s
}

// History returns what the records say; the collector is used up. It fails nowhere: no record, no series.
func (c *Collector) History() *History {
	h := &c.history
	slices.SortStableFunc(c.order, func(a, b *builder) int { return cmp.Compare(a.cell, b.cell) })
	for _, b := range c.order {
		h.Series = append(h.Series, b.build())
	}
	h.forget()
	h.Machines = machines(h.Series)
	h.judge()
	slices.SortStableFunc(h.Series, func(a, b *Series) int { return cmp.Compare(b.Loss(), a.Loss()) })
	return h
}

// forget leaves out the lines of figures that no record of their series knows, and notes which those are.
func (h *History) forget() {
	known := map[string]bool{}
	for _, s := range h.Series {
		for _, l := range s.Lines {
			if l.Latest() < 0 {
				s.Unknown = append(s.Unknown, l.Figure)
			} else {
				known[l.Figure.Name] = true
			}
		}
		s.Lines = slices.DeleteFunc(s.Lines, func(l Line) bool { return l.Latest() < 0 })
	}
	for _, s := range h.Series {
		for _, f := range s.Unknown {
			if !known[f.Name] {
				known[f.Name] = true // said once
				h.Unknown = append(h.Unknown, f)
			}
		}
	}
}
