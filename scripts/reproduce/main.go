// Command reproduce tells whether what lockbench prove has shown can be shown again.
//
// It runs the commands of some cells that fail, chosen at random from what prove -format json wrote, and tells how many fail again in
// the same way: the key comes free again, or never.
//
//	go run ./cmd/lockbench prove -quiet -format json=proof.json
//	go run ./scripts/reproduce -n 20 proof.json
//
// With several files it tells which cells have not the same verdict in all of them:
//
//	go run ./scripts/reproduce monday.json tuesday.json
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/scripts/bench"
)

func main() {
	bench.Main("reproduce", func(ctx context.Context) error {
		n := flag.Int("n", 20, "how many cells")
		seed := flag.Uint64("seed", rand.Uint64()>>32, "of their choice (default: a random one)")
		flag.Parse()
		switch flag.NArg() {
		case 0:
			return errors.New("name a file of lockbench prove -format json, or several")
		case 1:
			return run(ctx, os.Stdout, flag.Arg(0), *n, *seed)
		}
		return differ(os.Stdout, flag.Args())
	})
}

func read(file string) (*safety.Report, error) {
	report, err := bench.Read(file, safety.Read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return report, nil
}

// run runs the commands of n cells of a report.
func run(ctx context.Context, out io.Writer, file string, n int, seed uint64) error {
	report, err := read(file)
	if err != nil {
		return err
	}
	failing := slices.DeleteFunc(report.Cells, func(c safety.Cell) bool { return c.Verdict != safety.Fails })
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(failing), func(i, j int) { failing[i], failing[j] = failing[j], failing[i] })
	failing = failing[:min(n, len(failing))]
	same := 0
	for _, c := range failing {
		now, err := again(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Command, err)
		}
		if now.Verdict == c.Verdict && now.Never == c.Never {
			same++
			continue
		}
		fmt.Fprintf(out, "%s: %s, %s: %s\n", c.Command, c.Why, now.Verdict, now.Why)
	}
	fmt.Fprintf(out, "seed %d: %d of %d cells that fail did so again by their commands, of %s\n", seed, same, len(failing), file)
	return nil
}

// again runs the command of a cell, and returns what becomes of it.
func again(ctx context.Context, c safety.Cell) (safety.Cell, error) {
	out, err := bench.Run(bench.Command(ctx, append(strings.Fields(c.Command)[1:], "-format", "json")...))
	if err != nil {
		return c, err
	}
	report, err := safety.Read(bytes.NewReader(out))
	if err != nil {
		return c, err
	}
	i := slices.IndexFunc(report.Cells, func(now safety.Cell) bool { return name(now) == name(c) })
	if i < 0 {
		return c, errors.New("it has no such cell")
	}
	return report.Cells[i], nil
}

func name(c safety.Cell) string { return c.Hazard + " " + c.Driver + " " + c.Lock }

// differ tells which cells have more than one verdict in several reports, and how many alarms and wrong controls the
// reports have.
func differ(out io.Writer, files []string) error {
	cells := map[string]map[safety.Verdict]int{}
	alarms, wrong := 0, 0
	for _, file := range files {
		report, err := read(file)
		if err != nil {
			return err
		}
		for _, c := range report.Cells {
			if cells[name(c)] == nil {
				cells[name(c)] = map[safety.Verdict]int{}
			}
			cells[name(c)][c.Verdict]++
		}
		alarms += len(report.Select((*safety.Cell).Alarm))
		for _, h := range report.Hazards {
			if h.Control != "" {
				wrong++
			}
		}
	}
	differ, open := 0, 0
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		known, counts := 0, ""
		for _, v := range slices.Sorted(maps.Keys(cells[name])) {
			n := cells[name][v]
			counts += fmt.Sprintf(" %s (%s)", v, format.Plural(n, "time"))
			if v.Open() {
				open += n
			} else {
				known++
			}
		}
		if known > 1 {
			differ++
		}
		if len(cells[name]) > 1 {
			fmt.Fprintf(out, "%s:%s\n", name, counts)
		}
	}
	fmt.Fprintf(out, "%s of %s: %s, %s; %d differ, %s without a verdict\n", format.Plural(len(files), "run"), format.Plural(len(cells), "cell"),
		format.Plural(alarms, "alarm"), format.Plural(wrong, "wrong control"), differ, format.Plural(open, "time"))
	return nil
}
