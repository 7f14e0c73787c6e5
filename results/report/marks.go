package report

import (
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

// marks returns how the figures of a cell are to be taken.
func marks(c *results.Cell) (all []Mark) {
	for _, m := range view.Marks(c) {
		args := strings.TrimSpace(strings.TrimPrefix(m.Text, m.Code))
		all = append(all, Mark{m.Code, args, m.Line, map[bool]Tone{true: Warn}[m.Doubt]})
	}
	return all
}
