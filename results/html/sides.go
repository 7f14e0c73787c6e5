package html

// The two sides of a comparison: what each was, where it ran, and the commands that make it again.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// sideLine is what stands below the headline for a side.
type sideLine struct{ Label, Name, Text string }

func (t *twoSides) lines() []sideLine {
	base := sideLine{"base", format.Line(t.Base.Name), t.about(t.Base, t.trials(0))}
	head := sideLine{"head", format.Line(t.Head.Name), t.about(t.Head, t.trials(1))}
	return []sideLine{base, head}
}

// trials returns those of one side, 0 for the base.
func (t *twoSides) trials(side int) (all []*results.Record) {
	for _, c := range t.Cells {
		all = append(all, [][]*results.Record{c.Base, c.Head}[side]...)
	}
	return all
}

// about returns which revisions a side was, how many trials it had, what was left out of it and when it ran.
func (t *twoSides) about(s compare.Side, trials []*results.Record) string {
	var parts []string
	if len(s.Revisions) > 0 {
		parts = append(parts, format.Few(cleaned(s.Revisions), view.NamedCells))
	}
	parts = append(parts, format.Plural(s.Trials, "trial"))
	if s.Partial > 0 {
		parts = append(parts, fmt.Sprintf("%s that ended early left out", format.Count(s.Partial)))
	}
	if s.Duplicates > 0 {
		parts = append(parts, fmt.Sprintf("%s read before left out", format.Plural(s.Duplicates, "record")))
	}
	if when := during(trials); when != "" {
		parts = append(parts, when)
	}
	return strings.Join(parts, " · ")
}

// during is from the start of the first trial to that of the last; empty if they do not say.
func during(trials []*results.Record) string {
	var first, last time.Time
	for _, r := range trials {
		if first.IsZero() || r.Started.Before(first) {
			first = r.Started
		}
		if r.Started.After(last) {
			last = r.Started
		}
	}
	if first.IsZero() {
		return ""
	}
	return span(first, last)
}

// sidedPlace is a fact about where the sides ran: one line if it holds for both, else one for each.
type sidedPlace struct {
	Label      string
	Both       []string
	Base, Head []string
}

func (t *twoSides) places() (all []sidedPlace) {
	base, head := placesOf(t.trials(0)), placesOf(t.trials(1))
	for _, label := range []string{"server", "machine", "program", "libraries"} {
		b, h := base[label], head[label]
		switch {
		case slices.Equal(b, h) && len(b) > 0:
			all = append(all, sidedPlace{Label: label, Both: b})
		case len(b)+len(h) > 0:
			all = append(all, sidedPlace{Label: label, Base: b, Head: h})
		}
	}
	return all
}

// placesOf returns the different facts about where trials ran, in alphabetical order.
func placesOf(trials []*results.Record) map[string][]string {
	all := map[string][]string{}
	for _, r := range trials {
		for _, item := range view.Place(&results.Cell{Trials: []*results.Record{r}}) {
			if text := strings.Join(item.Lines, " "); text != "" && !slices.Contains(all[item.Label], text) {
				all[item.Label] = append(all[item.Label], text)
			}
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

const shownCommands = 60

// commands returns the command lines that make the cells again, each once, and how many more there are.
func (t *twoSides) commands() (all []command, left int) {
	var texts []string
	names := map[string][]string{}
	add := func(side, name string, trials []*results.Record) {
		if len(trials) == 0 {
			return
		}
		text := strings.TrimSpace(format.Line(trials[0].Plan.Command))
		if text == "" {
			return
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], strings.TrimSuffix(side+": "+name, ": "))
	}
	for i, c := range t.Cells {
		add("base", t.names[i], c.Base)
		add("head", t.names[i], c.Head)
	}
	for i, text := range texts {
		if i == shownCommands {
			return all, len(texts) - i
		}
		all = append(all, command{format.Few(names[text], view.NamedCells), text})
	}
	return all, 0
}
