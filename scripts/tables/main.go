// Command tables fills in README.md and BENCHMARKS.md from recorded runs, so that no figure is typed.
//
// A figure in a sentence is a link to its record. Lines at the end of the document say which figure a name stands for:
//
//	It made [8 %][herd.rate] of the locks/s.
//
//	[herd.rate]: scripts/recorded/herd.jsonl.gz "locks/s lock=herd / lock=sequential; clients=257; at most 0.2"
//
// Function figure explains what is between the quotes. Other parts are between comments, the first of which names their records:
//
//	<!-- output front-door.jsonl --> what lockbench prints
//	<!-- command services.jsonl -->  the command that recorded the file
//	<!-- plan plan.json -->          the command of a plan, and its answer
//	<!-- chart services.jsonl throughput hold=1ms -->
//	                                 a chart, by the name that lockbench report -format svg gives it
//	<!-- table services.jsonl hold=1ms -->
//	                                 the table of a report
//	<!-- proof prove.json.gz hazards=overrun locks=rueidis/set-nx,etcd/lease -->
//	                                 which lock fails which hazard
//	<!-- seen prove.json.gz -->      what the proof has seen, in the last column of a table that has commands
//	<!-- end -->
//
// Words such as clients=64 lock=set-nx,fenced choose the cells whose plan has those values.
//
// Usage: tables DIR FILE…, with DIR the folder of the records. With -check it writes nothing, and fails if a file is not
// up to date.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "fail if a file is not up to date, and write nothing")
	flag.Parse()
	if err := run(*check, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tables:", err)
		os.Exit(1)
	}
}

func run(check bool, args []string) error {
	if len(args) < 2 {
		return errors.New("usage: tables [-check] DIR FILE…")
	}
	var all []made
	for _, file := range args[1:] {
		old, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		d := document{dir: args[0], beside: filepath.Dir(file)}
		text, err := d.fill(old)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(append(all, d.charts...), made{file, text})
	}
	for _, m := range all {
		if err := m.update(check); err != nil {
			return err
		}
	}
	return left(args[0], all)
}

// left returns an error if dir has a chart that is not among all.
func left(dir string, all []made) error {
	files, err := filepath.Glob(filepath.Join(dir, "charts", "*"))
	for _, file := range files {
		if !slices.ContainsFunc(all, func(m made) bool { return m.file == file }) {
			err = errors.Join(err, fmt.Errorf("%s is of no recorded run: delete it", file))
		}
	}
	return err
}

// made is a file as it should be.
type made struct {
	file string
	text []byte
}

// update writes the file unless it is up to date.
func (m made) update(check bool) error {
	old, err := os.ReadFile(m.file)
	switch {
	case err == nil && bytes.Equal(m.text, old):
		return nil
	case check:
		return fmt.Errorf("%s is out of date: run make tables", m.file)
	}
	if err := os.MkdirAll(filepath.Dir(m.file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(m.file, m.text, 0o644)
}
