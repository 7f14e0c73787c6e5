// The full tables of the recorded files, each in a page beside its file.

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
)

// pages returns the page of each recorded file in dir.
func pages(dir string) (all []made, err error) {
	runs, err := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	if err != nil {
		return nil, err
	}
	for _, file := range runs {
		path := strings.TrimSuffix(file, ".gz")
		text, err := page(path, filepath.Base(file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, made{strings.TrimSuffix(path, ".jsonl") + ".md", text})
	}
	return all, nil
}

// page returns the tables of a file, below the commands that made it. The file is kept under the name of kept.
func page(path, kept string) ([]byte, error) {
	recs, err := load(path)
	if err != nil {
		return nil, err
	}
	cells, err := chosen(recs, nil)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(path)
	var b bytes.Buffer
	source := fmt.Sprintf("[%s](%s)", kept, kept)
	if kept != name {
		source += ", whose histograms are thinned by [scripts/compress](../compress/main.go)"
	}
	fmt.Fprintf(&b, "# %s\n\nGenerated from %s. See [BENCHMARKS.md](../../BENCHMARKS.md).\n\n", strings.TrimSuffix(name, ".jsonl"), source)
	if name == "designs.jsonl" {
		b.WriteString(designs() + "\n")
	}
	line, err := command(path)
	if err != nil {
		return nil, err
	}
	b.Write(fenced([]byte(line)))
	b.WriteString("\n")
	err = draw.Markdown(&b, report.Run(cells, nil), 0)
	return b.Bytes(), err
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

// designs returns the table. It lists each design once, with the drivers that have it.
func designs() string {
	type row struct {
		drivers.Design
		drivers string
	}
	var rows []*row
	at := map[string]*row{}
	for _, name := range drivers.Names() {
		d, err := drivers.Lookup(name)
		if err != nil {
			continue
		}
		for _, design := range d.Designs() {
			key := design.Name + design.Models
			if r := at[key]; r != nil {
				r.drivers += ", " + name
				continue
			}
			at[key] = &row{design, name}
			rows = append(rows, at[key])
		}
	}
	text := "| lock | drivers | exclusive | owned | expires | session | fenced | fair | re-entrant | renews | models | what is wrong with it |\n" +
		"|:--|:--|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:--|:--|\n"
	for _, r := range rows {
		t, cells := r.Traits, []string{"`" + r.Name + "`", r.drivers}
		for _, has := range []bool{t.Exclusive, t.Owned, t.Expires, t.Session, t.Fenced, t.Fair, t.Reentrant, t.Renews} {
			mark := ""
			if has {
				mark = "✓"
			}
			cells = append(cells, mark)
		}
		text += line(append(cells, r.Models, r.Wrong)...)
	}
	return text
}
