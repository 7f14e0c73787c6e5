// Charts, as files beside the records.

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/svg"
)

// chart returns the image of a chart of some records, and notes the file that it shows: charts/services-overview-keys10.svg for
// the words "overview keys=10" of services.jsonl. The text of the image is what the chart shows.
func (d *document) chart(recs []*results.Record, names, words string) ([]byte, error) {
	fields := strings.Fields(words)
	if len(fields) == 0 {
		return nil, errors.New("which chart? write its name after the file")
	}
	recs, err := having(recs, fields[1:])
	if err != nil {
		return nil, err
	}
	cells, err := results.Group(recs)
	if err != nil {
		return nil, err
	}
	c, err := svg.Find(cells, fields[0])
	if err != nil {
		return nil, err
	}
	stem := strings.NewReplacer(".jsonl", "", ",", "-").Replace(names)
	file := strings.NewReplacer("=", "", ",", "-", "/", "-").Replace(strings.Join(append([]string{stem}, fields...), "-"))
	d.charts = append(d.charts, made{filepath.Join(d.dir, "charts", file+".svg"), c.SVG})
	link, err := d.link(d.charts[len(d.charts)-1].file)
	if err != nil {
		return nil, err
	}
	alt := strings.NewReplacer("[", "(", "]", ")", "\\", "").Replace(c.Alt)
	return fmt.Appendf(nil, "![%s](%s)\n", alt, link), nil
}

// link returns the path of a file from the document.
func (d *document) link(file string) (string, error) {
	from, err := filepath.Abs(d.beside) // without which Rel cannot leave a ..
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(from, to)
	return filepath.ToSlash(path), err
}
