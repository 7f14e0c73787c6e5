// Charts, as files beside the records.

package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	draw "github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/report"
)

// chart returns the image of a chart of some records, and notes the file that it shows: charts/services-throughput-keys10.svg for
// the words "throughput keys=10" of services.jsonl. The text of the image is what the chart shows.
func (d *document) chart(names, words string) ([]byte, error) {
	recs, err := loadAll(d.dir, names)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(words)
	if len(fields) == 0 {
		return nil, errors.New("which chart? write its name after the file")
	}
	cells, err := chosen(recs, fields[1:])
	if err != nil {
		return nil, err
	}
	all := report.Pictures(cells)
	at := slices.IndexFunc(all, func(c report.Chart) bool { return c.Name == fields[0] })
	if at < 0 {
		return nil, fmt.Errorf("the records make no chart %q", fields[0])
	}
	stem := strings.NewReplacer(".jsonl", "", ",", "-").Replace(names)
	file := strings.NewReplacer("=", "", ",", "-", "/", "-").Replace(strings.Join(append([]string{stem}, fields...), "-"))
	return d.image(file, &all[at])
}

// image notes the file of a chart, and returns what shows it.
func (d *document) image(file string, c *report.Chart) ([]byte, error) {
	file = d.path("charts/" + file + ".svg")
	var svg bytes.Buffer
	if err := draw.SVG(&svg, c); err != nil {
		return nil, err
	}
	d.charts = append(d.charts, made{file, svg.Bytes()})
	from, err := filepath.Abs(d.beside) // without which Rel cannot leave a ..
	to, err2 := filepath.Abs(file)
	link, err3 := filepath.Rel(from, to)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	alt := []string{}
	for _, s := range c.Series {
		alt = append(alt, strings.TrimSpace(s.Name+" "+s.Text))
	}
	text := strings.NewReplacer("[", "(", "]", ")", "\\", "").Replace(c.Title + ": " + strings.Join(alt, "; "))
	return fmt.Appendf(nil, "![%s](%s)\n", text, filepath.ToSlash(link)), nil
}
