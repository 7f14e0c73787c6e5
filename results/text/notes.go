package text

// What stands around a table: what all cells share, remarks on rows, and what explains the rest.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// notes numbers remarks; the same text has the same number.
type notes struct {
	texts   []string
	numbers map[string]int
}

func (n *notes) number(text string) string {
	if n.numbers == nil {
		n.numbers = map[string]int{}
	}
	if n.numbers[text] == 0 {
		n.texts = append(n.texts, text)
		n.numbers[text] = len(n.texts)
	}
	return strconv.Itoa(n.numbers[text])
}

// remarkOn fills the column of notes for one cell and adds what it refers to to the notes below.
func (t *table) remarkOn(c *results.Cell) string {
	var words, refs []string
	ref := func(text string) {
		if number := t.notes.number(text); !slices.Contains(refs, number) {
			refs = append(refs, number)
		}
	}
	if why := c.Partial(); why != "" {
		words = append(words, "partial")
		ref("partial: " + why + ", after " + format.Duration(c.First().Elapsed))
	}
	for _, f := range flags(c) {
		if t.numbers {
			ref(f.Name + ": " + f.Means)
			continue
		}
		words = append(words, f.Word)
	}
	if text := view.OtherWitnesses(c.Safety); text != "" {
		ref(text)
	}
	for _, warning := range c.Warnings {
		if !results.IsHoldWarning(warning) { // all of them together are a note of their own
			ref(warning)
		}
	}
	if c.Duplicates > 0 {
		ref(format.Plural(c.Duplicates, "record") + " that had been read before left out")
	}
	if text := t.particular(c); text != "" {
		ref(text)
	}
	if t.numbers {
		words = nil
	}
	if len(refs) > 0 {
		words = append(words, "["+strings.Join(refs, ",")+"]")
	}
	return strings.Join(words, " ")
}

// flags returns those of c that no column says.
func flags(c *results.Cell) []view.Flag {
	return slices.DeleteFunc(view.Flags(c), func(f view.Flag) bool {
		return f.Name == "saturated" && c.Limit().By == results.ByGenerator
	})
}

// note is a line below a table. Marks that begin with listItem are of items of a list.
type note struct{ mark, text string }

const listItem = "  "

// below explains the table, in paragraphs: the numbered notes and the words in the rows, what is wrong with each design, and
// what else makes rows unlike or takes explaining.
func (t *table) below() (parts [][]note) {
	var marks, other []note
	for i, text := range t.notes.texts {
		marks = append(marks, note{"[" + strconv.Itoa(i+1) + "] ", text})
	}
	if !t.numbers {
		for _, f := range view.AllFlags() {
			if t.any(func(c *results.Cell) bool {
				return slices.ContainsFunc(flags(c), func(of view.Flag) bool { return of.Name == f.Name })
			}) {
				marks = append(marks, note{f.Name + ": ", f.Means + "."})
			}
		}
	}
	say := func(format string, args ...any) { other = append(other, note{"", fmt.Sprintf(format, args...)}) }
	t.sayServers(say)
	t.sayGuarantees(say)
	for _, text := range unlikeHolds(t.Cells) {
		say("%s", text)
	}
	t.sayColumns(say)
	if len(t.left) > 0 {
		say("Left out at this width: %s.", strings.Join(t.left, ", "))
	}
	return slices.DeleteFunc([][]note{marks, t.risks(), other}, func(part []note) bool { return len(part) == 0 })
}

// unlikeHolds names the holds that did not last as long as they were asked to, in one cell or in several that should be alike.
func unlikeHolds(cells []*results.Cell) (texts []string) {
	type span struct{ asked, least, most time.Duration }
	spans := map[string]span{}
	var order []string
	for _, c := range cells {
		p := c.Plan()
		lasted := results.Lasted(&p.Load, c.Latency[results.Hold])
		if len(p.Classes) > 0 || lasted == 0 {
			continue
		}
		asked := view.Drawn(p.HoldTimes())
		s, known := spans[asked]
		if !known {
			order = append(order, asked)
			s = span{p.Hold, lasted, lasted}
		}
		spans[asked] = span{p.Hold, min(s.least, lasted), max(s.most, lasted)}
	}
	for _, asked := range order {
		switch s := spans[asked]; {
		case results.Apart(s.least, s.most):
			texts = append(texts, fmt.Sprintf("Holds of %s lasted %s to %s, so the loads of the rows were not quite alike.",
				asked, format.Duration(s.least), format.Duration(s.most)))
		case results.Apart(s.asked, s.most), results.Apart(s.asked, s.least):
			texts = append(texts, fmt.Sprintf("Holds of %s lasted %s: the figures are those of such holds.", asked, format.Duration(s.most)))
		}
	}
	return texts
}
