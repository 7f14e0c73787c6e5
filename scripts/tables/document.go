// A document: its figures, and the parts between comments.

package main

import (
	"bytes"
	"errors"
	"fmt"
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

// document is a file that is filled in.
type document struct {
	dir    string // of the records
	beside string // the document's own directory, from which links lead
	charts []made // that it shows
}

var (
	section    = regexp.MustCompile(`(?s)(<!-- (\w+) (\S+)([^>]*?) -->\n)(.*?)(<!-- end -->)`)
	definition = regexp.MustCompile(`(?m)^\[([\w.-]+)\]: (\S+) "(.*)"$`)
	reference  = regexp.MustCompile(`\[[^\]\[]*\]\[([\w.-]+)\]`)
)

// fill returns the text with all parts and figures as the records have them.
func (d *document) fill(text []byte) ([]byte, error) {
	var errs []error
	text = section.ReplaceAllFunc(text, func(old []byte) []byte {
		m := section.FindSubmatch(old)
		made, err := d.part(string(m[2]), string(m[3]), strings.TrimSpace(string(m[4])), string(m[5]))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m[3], err))
			return old
		}
		return slices.Concat(m[1], []byte(made), m[6])
	})
	figures, used := map[string]string{}, map[string]bool{}
	for _, m := range definition.FindAllSubmatch(text, -1) {
		figure, err := figure(filepath.Join(d.beside, string(m[2])), string(m[3]))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m[1], err))
		}
		figures[string(m[1])] = figure
	}
	text = reference.ReplaceAllFunc(text, func(old []byte) []byte {
		name := string(reference.FindSubmatch(old)[1])
		used[name] = true
		if figures[name] == "" {
			errs = append(errs, fmt.Errorf("no figure is called %s", name))
		}
		return fmt.Appendf(nil, "[%s][%s]", figures[name], name)
	})
	for name := range figures {
		if !used[name] {
			errs = append(errs, fmt.Errorf("no sentence has the figure %s", name))
		}
	}
	return text, errors.Join(errs...)
}

// part returns what belongs between two comments. Old is what is there now.
func (d *document) part(kind, name, words, old string) (string, error) {
	switch kind {
	case "chart":
		return d.chart(name, words)
	case "command":
		line, err := command(d.path(name))
		return fenced(line), err
	case "output":
		return d.output(name, words)
	case "plan":
		return d.plan(name)
	case "proof":
		return d.proof(name, words)
	case "seen":
		return d.seen(name, old)
	case "table":
		return d.table(name, words)
	}
	return "", fmt.Errorf("no part is called %q", kind)
}

// path returns where a recorded file is.
func (d *document) path(name string) string { return filepath.Join(d.dir, name) }

// output returns what lockbench prints for the cells that words choose.
func (d *document) output(name, words string) (string, error) {
	cells, err := chosen(d.path(name), words)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = draw.Terminal(&b, report.Run(cells, nil), draw.Options{})
	return fenced(b.String()), err
}

// table returns the table of a report of the cells that words choose, with the columns that a narrow terminal has, too.
func (d *document) table(name, words string) (string, error) {
	cells, err := chosen(d.path(name), words)
	if err != nil {
		return "", err
	}
	t := report.AllRows(cells)
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if t.Columns[i].Drop == 0 {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for k := range t.Rows {
			t.Rows[k].Cells = slices.Delete(t.Rows[k].Cells, i, i+1)
		}
	}
	var b bytes.Buffer
	err = draw.Markdown(&b, &report.Document{Title: "table", Blocks: []report.Block{{Table: t}}})
	_, text, _ := strings.Cut(b.String(), "\n\n")
	return text, err
}

// plan returns the answer of a plan that was recorded, below its command.
func (d *document) plan(name string) (string, error) {
	a, err := read(d.path(name), capacity.ReadAnswer)
	if err != nil {
		return "", err
	}
	line, err := command(d.path(name))
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = draw.Terminal(&b, report.Plan(a), draw.Options{Width: 110}) // as wide as the command
	answer, _, _ := strings.Cut(b.String(), "\n\n")
	return fenced("$ " + line + "\n" + answer), err
}

// chart returns the image of a chart of the cells that words choose, and notes the file that it shows:
// charts/services-throughput-hold1ms.svg for the words "throughput hold=1ms" of services.jsonl. The text of the image is
// what the chart shows, of many series the first and the last.
func (d *document) chart(name, words string) (string, error) {
	which, words, _ := strings.Cut(words, " ")
	cells, err := chosen(d.path(name), words)
	if err != nil {
		return "", err
	}
	all := report.Pictures(cells)
	at := slices.IndexFunc(all, func(c report.Chart) bool { return c.Name == which })
	if at < 0 {
		return "", fmt.Errorf("the records make no chart %q", which)
	}
	stem := strings.TrimSuffix(name, ".jsonl") + " " + strings.TrimSpace(which+" "+words)
	file := d.path("charts/" + strings.NewReplacer(" ", "-", "=", "", ",", "-", "/", "-").Replace(stem) + ".svg")
	var svg bytes.Buffer
	if err := draw.SVG(&svg, &all[at]); err != nil {
		return "", err
	}
	d.charts = append(d.charts, made{file, svg.Bytes()})
	from, err := filepath.Abs(d.beside) // without which Rel cannot leave a ..
	to, err2 := filepath.Abs(file)
	link, err3 := filepath.Rel(from, to)
	var series []string
	for _, s := range all[at].Series {
		series = append(series, strings.TrimSpace(s.Name+" "+s.Text))
	}
	if n := len(series); n > 5 {
		series = append(series[:3:3], "…", series[n-1])
	}
	text := strings.NewReplacer("[", "(", "]", ")", "\\", "").Replace(all[at].Title + ": " + strings.Join(series, "; "))
	return fmt.Sprintf("![%s](%s)\n", text, filepath.ToSlash(link)), errors.Join(err, err2, err3)
}

func fenced(text string) string { return "```\n" + strings.TrimRight(text, "\n") + "\n```\n" }

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
		return "", errors.New("commands.txt does not have its command")
	}
	line, _, _ = strings.Cut(line, "\n")
	// A flag and its value stay on one line.
	line = value.ReplaceAllString(line, "$1"+format.Unbroken+"$2")
	return strings.ReplaceAll(strings.Join(format.Wrap("", line, 110), " \\\n    "), format.Unbroken, " "), nil
}
