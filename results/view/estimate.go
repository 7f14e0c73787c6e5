package view

import (
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// HalfWidth returns how far the interval reaches from the median at the most.
func HalfWidth(e stats.Estimate) string {
	if !(e.Low <= e.High) || e.Median <= 0 {
		return format.None
	}
	return strings.TrimPrefix(format.Change(max(e.High/e.Median-1, 1-e.Low/e.Median)), "+")
}
