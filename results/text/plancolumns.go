package text

// The columns of the ranked table of a plan.

import (
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// planColumn is a column of the ranked table.
type planColumn struct {
	head string // see grid.head
	drop int    // the greatest goes first where there is no room; 0: it stays
	text func(c *capacity.CandidateAnswer) string
}

// planColumns are all columns but the name, in their order.
var planColumns = []planColumn{
	{"sustains\n/s", 0, func(c *capacity.CandidateAnswer) string {
		switch {
		case c.AtLeast && c.Sustains.Low > 0:
			return "≥ " + format.Three(c.Sustains.Low)
		case c.Sustains.Mid <= 0:
			return format.None
		}
		return format.Three(c.Sustains.Mid)
	}},
	{"95 %\ninterval", 0, func(c *capacity.CandidateAnswer) string {
		if c.AtLeast {
			return format.None
		}
		return view.Interval(c.Sustains, format.Three)
	}},
	{"head-\nroom", 0, func(c *capacity.CandidateAnswer) string {
		if c.Headroom <= 0 {
			return format.None
		}
		return metric.Ratio.Format(c.Headroom)
	}},
	{"clients\n/conns", 4, func(c *capacity.CandidateAnswer) string {
		if c.Clients <= 0 {
			return format.None
		}
		if c.Conns <= 0 {
			return format.Count(c.Clients)
		}
		return format.Count(c.Clients) + " / " + format.Count(c.Conns)
	}},
	{"commands\n/lock", 3, func(c *capacity.CandidateAnswer) string { return cost(c.Cost.Commands, metric.PerLock) }},
	{"CPU\n/lock", 2, func(c *capacity.CandidateAnswer) string { return cost(c.Cost.ServerCPUUs, metric.Micros) }},
	{"late: pred.\n/measured", 1, func(c *capacity.CandidateAnswer) string {
		switch {
		case c.Predicted.IsZero() && c.Measured.IsZero():
			return format.None
		case c.Predicted.IsZero():
			return format.None + " / " + format.Percent(c.Measured.Mid)
		case c.Measured.IsZero():
			return format.Percent(c.Predicted.Mid) + " / " + format.None
		}
		return strings.TrimSuffix(format.Percent(c.Predicted.Mid), " %") + " / " + format.Percent(c.Measured.Mid)
	}},
}

// cost formats an amount of which 0 and less are not known.
func cost(v float64, u *metric.Unit) string {
	if v <= 0 {
		return format.None
	}
	return u.Format(v)
}
