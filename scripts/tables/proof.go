// What lockbench prove has seen.

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
)

// proof returns a table with a row a hazard and a column a lock, of the words "hazards=overrun,failover locks=rueidis/set-nx".
func (d *document) proof(name, words string) ([]byte, error) {
	r, err := read(d.path(name), safety.Read)
	if err != nil {
		return nil, err
	}
	var names, locks []string
	for word := range strings.FieldsSeq(words) {
		switch key, list, _ := strings.Cut(word, "="); key {
		case "hazards":
			names = strings.Split(list, ",")
		case "locks":
			locks = strings.Split(list, ",")
		default:
			return nil, fmt.Errorf("%q is neither hazards= nor locks=", word)
		}
	}
	head := []string{""}
	for _, lock := range locks {
		head = append(head, strings.Replace(lock, "/", "<br>`", 1)+"`")
	}
	text := line(head...) + "|:--|" + strings.Repeat(":-:|", len(locks)) + "\n"
	for _, name := range names {
		cells := []string{"`" + name + "`"}
		for _, lock := range locks {
			c, err := cellOf(r, name, strings.Replace(lock, "/", " ", 1))
			if err != nil {
				return nil, err
			}
			cells = append(cells, report.ProofMark(c))
		}
		text += line(cells...)
	}
	return []byte(text), nil
}

// seen reads "HAZARD DRIVER LOCK VERDICT" and returns the command of that cell and what was seen. It is an error if the verdict is
// another one, since the text around it is no longer true then.
func (d *document) seen(name, words string) ([]byte, error) {
	r, err := read(d.path(name), safety.Read)
	if err != nil {
		return nil, err
	}
	w := strings.Fields(words)
	if len(w) != 4 {
		return nil, fmt.Errorf("%q: want HAZARD DRIVER LOCK VERDICT", words)
	}
	c, err := cellOf(r, w[0], w[1]+" "+w[2])
	if err != nil {
		return nil, err
	}
	if string(c.Verdict) != w[3] {
		return nil, fmt.Errorf("%s: the verdict is %q", words, c.Verdict)
	}
	return fmt.Appendf(nil, "`-hazard %s -driver %s -lock %s` | %s", w[0], w[1], w[2], report.ProofSeen(c)), nil
}

func cellOf(r *safety.Report, hazard, lock string) (*safety.Cell, error) {
	i := slices.IndexFunc(r.Cells, func(c safety.Cell) bool { return c.Hazard == hazard && c.Driver+" "+c.Lock == lock })
	if i < 0 {
		return nil, fmt.Errorf("%s was not held against %s", lock, hazard)
	}
	return &r.Cells[i], nil
}
