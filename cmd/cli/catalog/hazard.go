package catalog

// The page of a hazard: what happens, how each design answers, and the command that shows it.

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/hazards"
)

func (h Hazard) page() []report.Block {
	all := hazards.All()
	story := &all[slices.IndexFunc(all, func(s hazards.Hazard) bool { return s.Name == h.Hazard })]
	about, fails, _ := strings.Cut(h.About, ": ")
	facts := report.Facts{fact("happens", about)}
	if fails != "" {
		facts = append(facts, fact("then", fails))
	}
	var lose, survive, spared []hazards.Lock
	for _, where := range append(drivers.Names(), Quorums...) {
		locks, _ := hazards.Locks(where) // none in a program that lacks the driver
		for _, l := range locks {
			switch {
			case story.Admits(l.Design) && (l.Topology == "" || story.AppliesTo(l)): // what is not tested here is lost all the same
				lose = append(lose, l)
			case !story.AppliesTo(l):
				spared = append(spared, l)
			default:
				if slices.Contains(l.Design.Loses, drivers.HazardHolderDies) { // a lock that is never free again survives much
					l.Design.Name += " (taken for ever once its holder dies)"
				}
				survive = append(survive, l)
			}
		}
	}
	for _, answer := range []struct {
		label string
		locks []hazards.Lock
	}{{"lose", lose}, {"survive", survive}, {"not exposed", spared}} {
		if answer.locks != nil {
			facts = append(facts, fact(answer.label, designsOf(answer.locks)))
		}
	}
	return []report.Block{facts, note("See it on servers that lockbench starts and breaks (-driver and -lock choose designs):"),
		report.Command("lockbench prove -hazard " + string(h.Hazard)),
		note(format.Glue("lockbench help hazards") + " says how that is judged.")}
}

// designsOf lists designs by their drivers, those together that have the same ones.
func designsOf(locks []hazards.Lock) string {
	var where, designs []string
	for _, l := range locks {
		if last := len(where) - 1; last >= 0 && where[last] == l.Where() {
			designs[last] += ", " + l.Design.Name
			continue
		}
		where, designs = append(where, l.Where()), append(designs, l.Design.Name)
	}
	var texts []string
	for i, names := range designs {
		if slices.Contains(designs[:i], names) {
			continue
		}
		with := where[i]
		for j := i + 1; j < len(designs); j++ {
			if designs[j] == names {
				with += ", " + where[j]
			}
		}
		texts = append(texts, with+": "+names)
	}
	return strings.Join(texts, "; ")
}
