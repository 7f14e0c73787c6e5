// What lockbench prove has seen.

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
)

// proof returns a table with a row a hazard and a column a lock, of the words "hazards=overrun,failover locks=rueidis/set-nx".
func (d *document) proof(name, words string) (string, error) {
	r, err := read(d.path(name), safety.Read)
	if err != nil {
		return "", err
	}
	rows, columns, _ := strings.Cut(strings.TrimPrefix(words, "hazards="), " locks=")
	locks := strings.Split(columns, ",")
	head := []string{""}
	for _, lock := range locks {
		head = append(head, strings.Replace(lock, "/", "<br>`", 1)+"`")
	}
	text := line(head...) + "|:--|" + strings.Repeat(":-:|", len(locks)) + "\n"
	for hazard := range strings.SplitSeq(rows, ",") {
		cells := []string{"`" + hazard + "`"}
		for _, lock := range locks {
			c, err := cellOf(r, hazard, strings.Replace(lock, "/", " ", 1))
			if err != nil {
				return "", err
			}
			mark, _ := report.ProofMark(c)
			cells = append(cells, mark)
		}
		text += line(cells...)
	}
	return text, nil
}

// row is a line of a table whose last column is what its command, in the one before, has seen.
var row = regexp.MustCompile("(?m)^(.* \\| `-hazard (\\S+) -driver (\\S+) -lock (\\S+)` \\|).*$")

// seen returns a table with its last column filled in. It is an error if a lock did not fail, since the table says that it does.
func (d *document) seen(name, table string) (string, error) {
	r, err := read(d.path(name), safety.Read)
	if err != nil {
		return "", err
	}
	table = row.ReplaceAllStringFunc(table, func(old string) string {
		m := row.FindStringSubmatch(old)
		c, missing := cellOf(r, m[2], m[3]+" "+m[4])
		if missing == nil && c.Verdict != safety.Fails {
			missing = fmt.Errorf("%s %s %s: the verdict is %q", m[2], m[3], m[4], c.Verdict)
		}
		if missing != nil {
			err = missing
			return old
		}
		return m[1] + " " + report.ProofSeen(c) + " |"
	})
	return table, err
}

// line returns a line of a table of Markdown.
func line(cells ...string) string {
	text := "|"
	for _, c := range cells {
		text += strings.TrimRight(" "+c, " ") + " |"
	}
	return text + "\n"
}

func cellOf(r *safety.Report, hazard, lock string) (*safety.Cell, error) {
	i := slices.IndexFunc(r.Cells, func(c safety.Cell) bool { return c.Hazard == hazard && c.Driver+" "+c.Lock == lock })
	if i < 0 {
		return nil, fmt.Errorf("%s was not held against %s", lock, hazard)
	}
	return &r.Cells[i], nil
}
