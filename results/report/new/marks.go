package report

import (
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

func marks(c *results.Cell) (all []Mark) {
	for _, f := range view.Flags(c) {
		tone := Plain
		if f.Doubt {
			tone = Warn
		}
		all = append(all, Mark{f.Name, strings.TrimPrefix(strings.TrimPrefix(f.Word, f.Name), " "), f.Means, tone})
	}
	return all
}

func doubtsOf(c *results.Cell) []string { return view.Doubts(c) }
