package text

// The lines of a page.

import (
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

type grid = draw.Grid

// The few colours in use, as ANSI escape codes.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	green  = "\x1b[32m"
	normal = "\x1b[0m"
)

// page collects lines and writes them at once.
type page struct {
	width   int
	color   bool
	verbose bool // see Options
	lines   []string
	items   *[]view.Item // nil, or: takes what has a label in place of lines; see Facts
}

func (p *page) add(color string, lines ...string) {
	for _, line := range lines {
		if p.color && color != "" && line != "" {
			line = color + line + normal
		}
		p.lines = append(p.lines, line)
	}
}

func (p *page) blank() { p.lines = append(p.lines, "") }

// para adds a wrapped paragraph that hangs from head.
func (p *page) para(color, head, text string) {
	p.add(color, format.Wrap(head, format.Clean(text), p.width)...)
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(p.lines, "\n")+"\n")
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	return nil
}
