package export

// The two custom formats of github-action-benchmark, customBiggerIsBetter and customSmallerIsBetter:
// https://github.com/benchmark-action/github-action-benchmark#examples

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// actionEntry is one point of one chart. Value is a number, though range and extra are texts.
type actionEntry struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Range string  `json:"range,omitempty"`
	Extra string  `json:"extra,omitempty"`
}

// charted are the figures that get a chart of the action: it draws and judges each, and a page of them all would be read
// by nobody. Nothing is there that is 0 when all is well, since the action divides by what it had before.
var charted = []string{
	"locks/s", "jain",
	"response.p50", "response.p99", "acquire.p50", "acquire.p99", "handoff.p50", "recovery.p50",
	"commands/lock", "round-trips/lock", "server-cpu/lock", "client-cpu/lock", "allocs/lock",
}

// chartName returns what tells the plan from others, those settings included that benchstat has in its tables, unless they are the
// default.
func chartName(r *results.Record) string {
	name := planName(r)
	for _, s := range settings {
		if v := s.Text(&r.Plan, &r.Plan.Load); s.Constant && s.Axis && v != "" && v != s.Default {
			name += "/" + s.Name + "=" + oneWord(v)
		}
	}
	return strings.ReplaceAll(name, "/", " ")
}

// Action writes the figures of which more is better (metric.Higher), or less (metric.Lower), as the action wants them in a file
// of their own. Each is the median over the whole trials of a cell; the range is half the distance between the lowest and
// the highest of them. A chart goes on from run to run by its name, which is the plan of the cell whatever other cells
// there are. Cells that ended early have no point.
func Action(w io.Writer, cells []*results.Cell, better metric.Better) error {
	entries := []actionEntry{}
	for _, c := range cells {
		if c.Partial() != "" {
			continue
		}
		name := chartName(c.First())
		for _, f := range metric.All() {
			if f.Better != better || !slices.Contains(charted, f.Name) {
				continue
			}
			e := stats.Of(f.Values(c.Trials))
			if e.N == 0 || math.IsInf(e.Median, 0) {
				continue
			}
			entry := actionEntry{
				Name: plain(name + ": " + f.Name), Unit: f.Unit.Axis, Value: e.Median / f.Unit.AxisScale,
				Extra: fmt.Sprintf("%s\n%s", format.Plural(e.N, "trial"), plain(c.First().Plan.Command)),
			}
			if e.N > 1 {
				entry.Range = "± " + strconv.FormatFloat((e.Max-e.Min)/2/f.Unit.AxisScale, 'g', 3, 64)
			}
			if c.Generator.Saturated {
				entry.Extra += "\nsaturated generator: " + plain(c.Generator.Why)
			}
			entry.Extra = strings.TrimSuffix(entry.Extra, "\n")
			entries = append(entries, entry)
		}
	}
	return encode(w, entries)
}
