// What other commands have written as JSON, drawn again by lockbench report.

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
)

// drawnAgain are the commands, by a name that is among the first in their JSON and in no record.
var drawnAgain = map[string]func(p *program, o *options, file string) error{
	`"hazards":`: drawAgain("prove", proofs, safety.Read),
	`"alpha":`:   drawAgain("compare", comparisons(report.ComparisonOptions{}), export.ReadComparison),
	`"slo":`:     drawAgain("plan", answers, capacity.ReadAnswer),
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

// drawAgain returns what writes a result that a command has written as JSON in formats of that command, and exits as it did.
func drawAgain[T any](command string, k kind[T], read func(io.Reader) (T, error)) func(p *program, o *options, file string) error {
	return func(p *program, o *options, file string) error {
		if opt := o.get("fail-on"); opt.text != "" {
			return usageErrorf("%s: there are no trials to judge in what lockbench %s has written", opt.written(), command)
		}
		out, err := k.printer(p, o, file)
		if err != nil {
			return err
		}
		found, err := readFrom(p, file, read)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return out.end(found)
	}
}
