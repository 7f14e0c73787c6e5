package html

// What the page is made of: the cells, their names, and those of the same load side by side.

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// content is what all parts of the page are drawn from.
type content struct {
	*view.Run
	shared []string // guarantees that all cells claim
}

func newContent(cells []*results.Cell) content {
	v := content{view.NewRun(cells), claims(cells[0])}
	for _, c := range cells[1:] {
		its := claims(c)
		v.shared = slices.DeleteFunc(v.shared, func(claim string) bool { return !slices.Contains(its, claim) })
	}
	return v
}

// claims returns the guarantees that the design of a cell claims.
func claims(c *results.Cell) []string {
	return strings.FieldsFunc(view.Claims(c.First().Traits), func(r rune) bool { return r == ',' || r == ' ' })
}

// ownClaims returns those that not all cells have.
func (v content) ownClaims(c *results.Cell) string {
	return strings.Join(slices.DeleteFunc(claims(c), func(claim string) bool { return slices.Contains(v.shared, claim) }), ", ")
}

// badges returns the words beside a cell's name.
func badges(c *results.Cell) []badge {
	var all []badge
	if c.Violated() {
		all = append(all, badge{"violated", "bad"})
	}
	for _, word := range view.Doubts(c) {
		all = append(all, badge{word, "warn"})
	}
	if c.Beaten() { // which is the estimate's fault
		all = append(all, badge{"beaten", "warn"})
	}
	return all
}

type badge struct{ Text, Class string }

// state returns how a cell is drawn: as broken, in doubt, or plainly.
func state(c *results.Cell) string {
	switch {
	case c.Violated():
		return "bad"
	case len(view.Doubts(c)) > 0:
		return "warn"
	}
	return "good"
}

// cleanFindings takes control characters out of what records may have put into findings.
func cleanFindings(all []view.Finding) []view.Finding {
	for i, f := range all {
		all[i].Lead, all[i].Text = format.Line(f.Lead), format.Line(f.Text)
	}
	return all
}
