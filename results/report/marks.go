package report

import (
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

func marks(c *results.Cell) (all []Mark) {
	if why := c.Partial(); why != "" {
		all = append(all, Mark{"partial", "", why + ", after " + format.Duration(c.First().Elapsed), Warn})
	}
	if c.First().Server.Kind == "embedded" {
		all = append(all, Mark{"embedded", "", view.Meaning("embedded"), Warn})
	}
	if c.Plan().Shared {
		all = append(all, Mark{"shared", "", view.Meaning("shared"), Warn})
	}
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
