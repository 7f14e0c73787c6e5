// Command tables fills in the figures of README.md and BENCHMARKS.md from recorded runs, so that no figure is typed.
//
// A figure is between two comments, the first of which names its file:
//
//	<!-- output front-door.jsonl --> what lockbench prints for the file
//	<!-- command services.jsonl -->  the command that recorded it
//	<!-- plan plan.json -->          the command of a plan, and what it prints
//	<!-- locks services.jsonl crash.jsonl hold=1ms -->
//	                                 which lock to choose: the throughput and waits of the first file, the recovery
//	                                 of the second
//	<!-- libraries languages.jsonl languages.json.gz -->
//	                                 the lock libraries under several loads, and what each fails in that proof
//	<!-- proof prove.json.gz hazards=overrun locks=rueidis/set-nx,etcd/lease -->
//	                                 which lock fails which hazard
//	<!-- seen prove.json.gz overrun rueidis set-nx fails -->
//	                                 the command of one cell of it, and what was seen
//	<!-- match overhead.txt ^rueidis +64 .* (\S+) -->
//	                                 one figure of a file of text
//	<!-- chart services.jsonl throughput keys=10 -->
//	                                 a chart, by the name that lockbench report -format svg gives it; see chart.go
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
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
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

// figures are the kinds of figures. Each is made of the files that a comment names, and of the words after them.
var figures = map[string]func(d *document, names, words string) ([]byte, error){
	"chart": (*document).chart, "command": (*document).command, "libraries": (*document).libraries, "locks": (*document).locks,
	"match": (*document).match, "output": (*document).output, "plan": (*document).plan, "proof": (*document).proof,
	"ratio": (*document).ratio, "seen": (*document).seen,
}

// figure returns one figure.
func (d *document) figure(kind, names, words string) ([]byte, error) {
	if figure, ok := figures[kind]; ok {
		return figure(d, names, words)
	}
	return nil, fmt.Errorf("no figure is called %q; there are %s", kind, format.And(slices.Sorted(maps.Keys(figures))))
}

// path returns where a recorded file is.
func (d *document) path(name string) string { return filepath.Join(d.dir, name) }

// output returns what lockbench prints for the cells that words choose.
func (d *document) output(names, words string) ([]byte, error) {
	recs, err := loadAll(d.dir, names)
	if err != nil {
		return nil, err
	}
	cells, err := chosen(recs, strings.Fields(words))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = draw.Terminal(&b, report.Run(cells, nil), draw.Options{})
	return fenced(b.Bytes()), err
}

func (d *document) command(name, _ string) ([]byte, error) {
	line, err := command(d.path(name))
	return fenced([]byte(line)), err
}

// plan returns the answer of a plan that was recorded, below its command.
func (d *document) plan(name, _ string) ([]byte, error) {
	a, err := read(d.path(name), capacity.ReadAnswer)
	if err != nil {
		return nil, err
	}
	line, err := command(d.path(name))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = draw.Terminal(&b, report.Plan(a), draw.Options{Width: 110}) // as wide as the command
	answer, _, _ := bytes.Cut(b.Bytes(), []byte("\n\n"))
	return fenced(slices.Concat([]byte("$ "+line+"\n"), answer, []byte("\n"))), err
}

// match returns what the only group of a regular expression matches in a file of text, which must match once.
func (d *document) match(name, expr string) ([]byte, error) {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		return nil, err
	}
	if found := re.FindAllSubmatch(text, -1); len(found) == 1 && len(found[0]) == 2 {
		return found[0][1], nil
	}
	return nil, fmt.Errorf("%s must match once, and have a group", expr)
}

// line returns a line of a table of Markdown.
func line(cells ...string) string {
	text := "|"
	for _, c := range cells {
		text += strings.TrimRight(" "+c, " ") + " |"
	}
	return text + "\n"
}

func fenced(text []byte) []byte {
	return slices.Concat([]byte("```\n"), bytes.TrimRight(text, "\n"), []byte("\n```\n"))
}

// value is a flag and its value.
var value = regexp.MustCompile(`( -[^\s=]+) ([^-])`)

// command returns the command that recorded a file, wrapped as a shell takes it.
func command(path string) (string, error) {
	dir, name := filepath.Split(path)
	all, err := os.ReadFile(filepath.Join(dir, "commands.txt"))
	if err != nil {
		return "", err
	}
	_, line, found := strings.Cut("\n"+string(all), "\n"+name+": ")
	if !found {
		return "", fmt.Errorf("commands.txt does not have its command")
	}
	line, _, _ = strings.Cut(line, "\n")
	// A flag and its value stay on one line.
	line = value.ReplaceAllString(line, "$1"+format.Unbroken+"$2")
	return strings.ReplaceAll(strings.Join(format.Wrap("", line, 110), " \\\n    "), format.Unbroken, " "), nil
}
