// What other commands have written as JSON, drawn again by lockbench report.

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/safety"
)

// drawnAgain are the commands, by a name that is among the first in their JSON and in no record.
var drawnAgain = map[string]func(p *program, o *options, file string) error{
	`"hazards":`: func(p *program, o *options, file string) error {
		return drawAgain(p, o, file, "prove", proveFormats, safety.Read, func(r *safety.Report, table draw.Options) proven { return proven{r, table} }, exitOfProof)
	},
	`"alpha":`: func(p *program, o *options, file string) error {
		summary, _ := p.env.lookup(summaryVariable)
		return drawAgain(p, o, file, "compare", compareFormats, export.ReadComparison, func(c *compare.Comparison, table draw.Options) compared {
			return compared{Comparison: c, table: table, summary: summary}
		}, func(c *compare.Comparison) error {
			if code := verdictCode(c.Verdict); code != exitOK {
				return exitCode(code)
			}
			return nil
		})
	},
	`"slo":`: func(p *program, o *options, file string) error {
		summary, _ := p.env.lookup(summaryVariable)
		return drawAgain(p, o, file, "plan", planFormats, capacity.ReadAnswer, func(a *capacity.Answer, table draw.Options) planned { return planned{a, table, summary} }, exitOf)
	},
}

// again returns what draws a file again; nil if it is one of records.
func (p *program) again(name string) func(p *program, o *options, file string) error {
	const enough = 4 << 10
	var head []byte
	if name == "-" {
		in := bufio.NewReaderSize(p.stdin, enough)
		head, _ = in.Peek(enough)
		p.stdin = in
	} else {
		head, _ = readFrom(p, name, func(in io.Reader) ([]byte, error) { // an error comes again when it is read
			return bufio.NewReaderSize(in, enough).Peek(enough)
		})
	}
	for key, draw := range drawnAgain {
		if bytes.Contains(head, []byte(key)) {
			return draw
		}
	}
	return nil
}

// drawAgain writes what a command has written as JSON in formats of that command, and exits as it did.
func drawAgain[T, V any](p *program, o *options, file, command string, formats []exporter[V], read func(io.Reader) (T, error), shown func(T, draw.Options) V, exit func(T) error) error {
	if opt := o.get("fail-on"); opt.text != "" {
		return usageErrorf("%s: there are no trials to judge in what lockbench %s has written", opt.written(), command)
	}
	table, err := p.drawOptions(o, o.on("verbose"))
	if err != nil {
		return err
	}
	outputs, err := parseFormats(o, formats, []string{file})
	if err != nil {
		return err
	}
	found, err := readFrom(p, file, read)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := writeOutputs(p, outputs, shown(found, table)); err != nil {
		return err
	}
	return exit(found)
}

func (p *program) drawOptions(o *options, verbose bool) (draw.Options, error) {
	table, err := p.tableOptions(o)
	table.Verbose = verbose
	return table, err
}
