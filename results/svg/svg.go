// Package svg draws charts of runs, each as one SVG file for a page that shows it as an image: README files, issues, slides.
//
// A chart is 600 units wide, and its letters are 15 of these high or more, so that it can be read on a telephone. Its colours
// follow the reader's theme (prefers-color-scheme), it brings its own background, and it needs no font, script or other file. The
// same cells make the same bytes.
package svg

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

// Chart is one file.
type Chart struct {
	Name  string // of the file, without its ending
	Title string
	Alt   string // what the chart shows, for those who do not see it
	SVG   []byte
}

// Names are those of the charts that there are. Those from clients on are over a setting, and any other that has numbers or two
// values makes one too.
var Names = []string{"overview", "throughput", "latency", "recovery", "percentiles", "clients", "rate", "durability"}

// Charts returns those that the cells have the data for, in the order of Names. The cells are as results.Group makes them.
func Charts(cells []*results.Cell) (all []Chart) {
	if len(cells) == 0 {
		return nil
	}
	v := view.NewRun(cells)
	for _, draw := range []func(*view.Run) (Chart, bool){overview, throughput, latency, recovery, percentiles} {
		if c, ok := draw(v); ok {
			all = append(all, c)
		}
	}
	return append(all, overSettings(v)...)
}

// Find returns the chart of that name; the error says which there are.
func Find(cells []*results.Cell, name string) (Chart, error) {
	all := Charts(cells)
	i := slices.IndexFunc(all, func(c Chart) bool { return c.Name == name })
	if i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return Chart{}, fmt.Errorf("the records make no chart %q; they make %s", name, strings.Join(names, ", "))
}

// known reports whether v can be drawn.
func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
