package report

// What stands around a table: what all cells share, remarks on rows, and what explains the rest.

import (
	"fmt"
	"regexp"
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

func (n *notes) number(text string) int {
	if n.numbers == nil {
		n.numbers = map[string]int{}
	}
	if n.numbers[text] == 0 {
		n.texts = append(n.texts, text)
		n.numbers[text] = len(n.texts)
	}
	return n.numbers[text]
}

// ranges lists numbers in their order, three or more in a row as a range: "1,4–6".
func ranges(numbers []int) string {
	slices.Sort(numbers)
	var parts []string
	for i := 0; i < len(numbers); {
		n := 1 // in a row
		for i+n < len(numbers) && numbers[i+n] == numbers[i]+n {
			n++
		}
		if n > 2 {
			parts = append(parts, fmt.Sprintf("%d–%d", numbers[i], numbers[i]+n-1))
		} else {
			n = 1
			parts = append(parts, strconv.Itoa(numbers[i]))
		}
		i += n
	}
	return strings.Join(parts, ",")
}

// remarkOn fills the column of notes for one cell and adds what it refers to to the notes below.
func (t *cellTable) remarkOn(c *results.Cell) string {
	var words []string
	var refs []int
	ref := func(text string) {
		if number := t.notes.number(text); !slices.Contains(refs, number) {
			refs = append(refs, number)
		}
	}
	if why := c.Partial(); why != "" {
		words = append(words, "partial")
		ref("partial: " + why + ", after " + format.Duration(c.First().Elapsed))
	}
	for _, f := range view.Flags(c) {
		words = append(words, f.Word)
	}
	if text := view.OtherWitnesses(c); text != "" {
		ref(text)
	}
	for _, warning := range merged(c.Warnings) {
		if !results.IsHoldWarning(warning) && !marked(warning) { // all holds together are a note of their own
			ref(warning)
		}
	}
	if c.Duplicates > 0 {
		ref(format.Plural(c.Duplicates, "record") + " that had been read before left out")
	}
	if text := t.particular(c); text != "" {
		ref(text)
	}
	if len(refs) > 0 {
		words = append(words, "["+ranges(refs)+"]")
	}
	return strings.Join(words, " ")
}

// amount is a number in a text: 12, 0.003, 1,204.
var amount = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)

// merged returns warnings of a cell with those as one that differ in their numbers only, such as those of each node and trial, with
// the least and the most of each number: "node 1 to 5 of 5 did not answer 2 to 31 requests".
func merged(warnings []string) (all []string) {
	var alike view.Grouped[string, string]
	for _, w := range warnings {
		alike.Add(amount.ReplaceAllLiteralString(w, "0"), w)
	}
	for _, words := range alike.Keys {
		all = append(all, spanned(alike.Of[words]))
	}
	return all
}

// spanned returns the first of texts that differ in their numbers only, with the least and the most of each.
func spanned(texts []string) string {
	least := amount.FindAllString(texts[0], -1)
	most := slices.Clone(least)
	for _, text := range texts[1:] {
		for i, n := range amount.FindAllString(text, -1) {
			if size(n) < size(least[i]) {
				least[i] = n
			}
			if size(n) > size(most[i]) {
				most[i] = n
			}
		}
	}
	at := -1
	return amount.ReplaceAllStringFunc(texts[0], func(string) string {
		if at++; least[at] == most[at] {
			return least[at]
		}
		return least[at] + " to " + most[at]
	})
}

// size returns the value of an amount, or 0 if the text is not a number, like the address 127.0.0.1.
func size(amount string) float64 {
	v, _ := strconv.ParseFloat(strings.ReplaceAll(amount, ",", ""), 64)
	return v
}

// below explains the table: what came of the presets, the marks in the rows, what is wrong with each design, and what changes how the rows are
// read. What else is true of the designs and the columns comes last, if all is asked for, or a line that says what that would be.
func (t *cellTable) below(all bool) []Block {
	const mostTasks = 8 // that come first
	tasks, later := t.tasks(), Section{}
	if len(t.Cells) > mostTasks {
		tasks, later = later, tasks
	}
	blocks := slices.Concat([]Block{tasks}, t.marks(), []Block{t.risks()}, t.caveats())
	var more []string
	for _, also := range []struct {
		what   string
		blocks []Block
	}{
		{"what came of each task", []Block{later}},
		{"the servers", []Block{t.designs()}},
		{"what each design guarantees", []Block{t.guarantees()}},
		{"what columns mean", t.meanings()},
	} {
		switch {
		case empty(Section{Blocks: also.blocks}):
		case all:
			blocks = append(blocks, also.blocks...)
		default:
			more = append(more, also.what)
		}
	}
	if more != nil {
		blocks = append(blocks, Paragraph{Text: "-v: " + format.And(more)})
	}
	return slices.DeleteFunc(blocks, empty)
}

// marks returns the numbered notes, and what the words in the rows mean.
func (t *cellTable) marks() []Block {
	var list, words List
	for i, text := range t.notes.texts {
		list = append(list, Item{Mark: "[" + strconv.Itoa(i+1) + "]", Text: text})
	}
	for _, f := range view.AllFlags() {
		if t.any(func(c *results.Cell) bool {
			return slices.ContainsFunc(view.Flags(c), func(of view.Flag) bool { return of.Name == f.Name })
		}) {
			words = append(words, Item{Mark: f.Name + ":", Text: f.Means + "."})
		}
	}
	return []Block{list, words}
}

// unlikeHolds names the holds that did not last as long as they were asked to, in one cell or in several that should be alike.
func unlikeHolds(cells []*results.Cell) (texts []string) {
	type asked struct {
		text string
		hold time.Duration
	}
	var holds view.Grouped[asked, time.Duration]
	for _, c := range cells {
		p := c.Plan()
		if lasted := results.Lasted(&p.Load, c.Latency[results.Hold]); len(p.Classes) == 0 && lasted != 0 {
			holds.Add(asked{view.Drawn(p.HoldTimes()), p.Hold}, lasted)
		}
	}
	for _, of := range holds.Keys {
		switch least, most := slices.Min(holds.Of[of]), slices.Max(holds.Of[of]); {
		case results.Apart(least, most):
			texts = append(texts, fmt.Sprintf("Holds of %s lasted %s to %s, so the loads of the rows were not quite alike.",
				of.text, format.Duration(least), format.Duration(most)))
		case results.Apart(of.hold, most), results.Apart(of.hold, least):
			texts = append(texts, fmt.Sprintf("Holds of %s lasted %s: the figures are those of such holds.", of.text, format.Duration(most)))
		}
	}
	return texts
}
