// Command tables fills in the figures of README.md and BENCHMARKS.md from recorded runs, so that no figure is typed, and
// writes the full tables of each recorded file beside it.
//
// A figure is between two comments, the first of which names its file:
//
//	<!-- output front-door.jsonl --> what lockbench prints for the file
//	<!-- command services.jsonl -->  the command that recorded it
//	<!-- plan plan.json -->          the command of a plan, and what it prints
//	<!-- locks services.jsonl crash.jsonl hold=1ms -->
//	                                 which lock to choose: the throughput and waits of the first file, the recovery
//	                                 of the second; see locks.go
//	<!-- proof prove.json.gz hazards=overrun locks=rueidis/set-nx,etcd/lease -->
//	                                 which lock fails which hazard: those named, or all; see proof.go
//	<!-- seen prove.json.gz overrun rueidis set-nx fails -->
//	                                 the command of one cell of it, and what was seen
//	<!-- text overhead.txt -->       the file itself; with the words of a line: the command, and the text from that line
//	<!-- match alarms.txt ^-20.*?(\d+/\d+) -->
//	                                 one figure of such a file
//	<!-- chart services.jsonl overview keys=10 -->
//	                                 a chart, by the name that lockbench report -format svg gives it; see chart.go
//	<!-- bars overhead.txt 512 clients -->
//	                                 a chart of the first figure of each row of a table in such a file, which has that heading
//	<!-- ratio study.jsonl rate wait=queue / driver=redsync; clients=64 keys=10 -->
//	                                 one figure of a cell, divided by that of another; see ratio.go
//	<!-- end -->
//
// An output or a chart may have words such as clients=64 lock=set-nx,fenced after its file, and then shows only the cells whose plan
// has those values. In place of one file there may be several, with commas between them: their records are taken together. Files may
// be compressed: services.jsonl is kept as services.jsonl.gz.
//
// Usage: tables DIR FILE…, with DIR the folder of the recorded files. With -check it writes nothing, and fails if a
// file is not up to date.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/scripts/bench"
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
	all, err := pages(args[0])
	if err != nil {
		return err
	}
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

// left returns an error if dir has a page or a chart that is not among all.
func left(dir string, all []made) error {
	var strays []error
	for _, pattern := range []string{"*.md", "charts/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			if !slices.ContainsFunc(all, func(m made) bool { return m.file == file }) {
				strays = append(strays, fmt.Errorf("%s is of no recorded run: delete it", file))
			}
		}
	}
	return errors.Join(strays...)
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

// document is a file with figures.
type document struct {
	dir    string // of the records
	beside string // the document's own directory, from which links lead
	charts []made // that it shows
}

var section = regexp.MustCompile(`(?s)(<!-- (\w+) (\S+)([^>]*?) -->\n?).*?(<!-- end -->)`)

// fill replaces the text between the markers.
func (d *document) fill(text []byte) ([]byte, error) {
	var failed error
	filled := section.ReplaceAllFunc(text, func(old []byte) []byte {
		m := section.FindSubmatch(old)
		made, err := d.figure(string(m[2]), string(m[3]), strings.TrimSpace(string(m[4])))
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m[3], err))
			return old
		}
		return slices.Concat(m[1], made, m[5])
	})
	return filled, failed
}

// figure returns one figure of a file, or of several. The words are those after the names of the files.
func (d *document) figure(kind, names, words string) ([]byte, error) {
	var b bytes.Buffer
	switch kind {
	case "text":
		text, err := os.ReadFile(filepath.Join(d.dir, names))
		if err == nil && words != "" {
			text, err = from(text, words)
		}
		return fenced(text), err
	case "proof", "seen":
		report, err := proven(filepath.Join(d.dir, names))
		if err != nil {
			return nil, err
		}
		if kind == "seen" {
			return seen(report, words)
		}
		return proof(report, words)
	case "bars":
		return d.bars(names, words)
	case "match":
		return match(filepath.Join(d.dir, names), words)
	case "locks":
		return locks(filepath.Join(d.dir, names), words)
	case "plan":
		text, err := plan(filepath.Join(d.dir, names))
		return fenced(text), err
	case "command":
		line, err := command(filepath.Join(d.dir, names))
		return fenced([]byte(line)), err
	}
	recs, err := loadAll(d.dir, names)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "ratio":
		return ratio(recs, words)
	case "chart":
		return d.chart(recs, names, words)
	}
	if recs, err = having(recs, strings.Fields(words)); err != nil {
		return nil, err
	}
	cells, err := results.Group(recs)
	if err != nil {
		return nil, err
	}
	if kind == "output" {
		err := draw.Terminal(&b, report.Run(cells), draw.Options{})
		return fenced(b.Bytes()), err
	}
	return nil, fmt.Errorf("no figure is called %q; there are locks, output, plan, chart, bars, command, proof, seen, text, match and ratio", kind)
}

// plan returns what lockbench prints for the recorded answer of a plan, below its command.
func plan(path string) ([]byte, error) {
	f, err := bench.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := capacity.ReadAnswer(f)
	if err != nil {
		return nil, err
	}
	line, err := command(path)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBufferString("$ " + line + "\n")
	err = draw.Terminal(b, report.Plan(a), draw.Options{Width: 110}) // as wide as the command
	return b.Bytes(), err
}

// match returns what the only group of a regular expression matches in a file of text, which must match once.
func match(file, expr string) ([]byte, error) {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if found := re.FindAllSubmatch(text, -1); len(found) == 1 && len(found[0]) == 2 {
		return found[0][1], nil
	}
	return nil, fmt.Errorf("%s must match once, and have a group", expr)
}

// from returns the first line of text, which is the command, and the rest from the line that equals words.
func from(text []byte, words string) ([]byte, error) {
	command, _, _ := bytes.Cut(text, []byte("\n"))
	at := bytes.Index(text, []byte("\n"+words+"\n"))
	if at < 0 {
		return nil, fmt.Errorf("no line is %q", words)
	}
	return slices.Concat(command, []byte("\n…\n"), text[at+1:]), nil
}

func fenced(text []byte) []byte {
	return slices.Concat([]byte("```\n"), bytes.TrimRight(text, "\n"), []byte("\n```\n"))
}

// loadAll reads files whose names have commas between them.
func loadAll(dir, names string) (all []*results.Record, err error) {
	for name := range strings.SplitSeq(names, ",") {
		recs, err := load(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
	return all, nil
}

// load reads a file once, because many figures come from the same one.
func load(path string) ([]*results.Record, error) {
	if recs, ok := loaded[path]; ok {
		return recs, nil
	}
	recs, err := bench.Records(path)
	if err == nil {
		loaded[path] = recs
	}
	return recs, err
}

var loaded = map[string][]*results.Record{}
