package report

// What a proof says before its matrix: what can happen to each lock, whether that was known, and what was not tested.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// proofVerdict returns the mark of the whole (✓, ✗, ‼ or ?), what can happen to the locks and whether that was known, as sentences
// without an end, and what can happen to each lock if they are too many for the verdict to say it.
func proofVerdict(r *safety.Report, answers []proofAnswer) (mark, verdict string, each List) {
	mark = map[safety.Outcome]string{safety.Kept: "✓", safety.Lost: "‼", safety.Inconclusive: "?"}[r.Outcome()]
	if untested := r.Untested(); len(untested) > 0 && untested[0].What == "" {
		return mark, "Nothing was tested: " + untested[0].Why, nil
	}
	const most = 2 // that a verdict names one by one
	var sentences []string
	if said := proofMerged(answers); len(said) <= most {
		for _, one := range said {
			sentences = append(sentences, one.Mark+" "+one.Text)
		}
		verdict = strings.Join(sentences, ". ")
	} else {
		for _, one := range said {
			each = append(each, Item{Mark: one.Mark, Text: one.Text + "."})
		}
		verdict = proofCounts(r, answers)
	}
	sentences = append([]string{verdict}, proofKnown(r)...)
	if kept := proofKept(r, len(answers)); kept != "" && len(sentences) == 1 {
		sentences = []string{kept, verdict}
		if r.Baseline == "" { // what fails is not safe, though it was known
			mark, sentences = "✗", []string{verdict, kept}
		}
	}
	return mark, strings.Join(sentences, ". "), each
}

// proofAnswer is what can happen to one lock: after which faults.
type proofAnswer struct {
	driver, lock             string
	both, stuck, other, open []string
	tested                   int
	admitted                 int // faults that cannot be tested
}

// proofAnswers returns an answer for each lock that is not only a control, in the order of the cells.
func proofAnswers(r *safety.Report) (list []proofAnswer) {
	for _, c := range r.Select(func(c *safety.Cell) bool { return !c.Control }) {
		i := slices.IndexFunc(list, func(a proofAnswer) bool { return a.driver == c.Driver && a.lock == c.Lock })
		if i < 0 {
			i = len(list)
			list = append(list, proofAnswer{driver: c.Driver, lock: c.Lock})
		}
		a, after := &list[i], proofAfter(r, c.Hazard)
		switch {
		case c.Doubted || c.Verdict.Open():
			a.open = append(a.open, c.Hazard)
		case c.Verdict == safety.Fails:
			a.tested++
			if c.Longest > 0 {
				a.both = append(a.both, after)
			}
			if c.Never {
				a.stuck = append(a.stuck, after)
			}
			if c.Longest == 0 && !c.Never {
				a.other = append(a.other, after)
			}
		case c.Verdict == safety.Survives:
			a.tested++
		case c.Verdict == safety.NotApplicable && c.Listed:
			a.admitted++
		}
	}
	return list
}

// proofAfter returns a hazard as what goes before a loss. Reports from before that was kept have its name.
func proofAfter(r *safety.Report, hazard string) string {
	i := slices.IndexFunc(r.Hazards, func(h safety.Hazard) bool { return h.Name == hazard })
	if i < 0 {
		return hazard
	}
	return cmp.Or(r.Hazards[i].After, hazard)
}

// proofMerged returns answers in words, those of drivers for which they are the same together.
func proofMerged(answers []proofAnswer) (list List) {
	type answer struct{ lock, text string }
	var drivers view.Grouped[answer, string]
	for _, a := range answers {
		drivers.Add(answer{a.lock, a.String()}, a.driver)
	}
	for _, one := range drivers.Keys {
		list = append(list, Item{Mark: strings.Join(drivers.Of[one], ", ") + " " + one.lock + ":", Text: one.text})
	}
	return list
}

func (a proofAnswer) String() string {
	if a.tested == 0 {
		return "not tested"
	}
	both, stuck := "no two holders seen", "not seen stuck"
	if len(a.both) > 0 {
		both = "two holders after " + format.Or(a.both)
	}
	if len(a.stuck) > 0 {
		stuck = "stuck after " + format.Or(a.stuck)
	}
	text := both + "; " + stuck
	if len(a.other) > 0 {
		text += "; a wrong answer or a long wait after " + format.Or(a.other)
	}
	if a.admitted > 0 {
		text += "; admits " + format.Count(a.admitted) + " more, not tested"
	}
	if len(a.open) > 0 {
		text += "; not known of " + format.And(a.open)
	}
	return text
}

// proofCounts answers for many locks at once.
func proofCounts(r *safety.Report, answers []proofAnswer) string {
	var both, stuck, neither, untested int
	for _, a := range answers {
		switch {
		case a.tested == 0:
			untested++
		case len(a.both)+len(a.stuck) == 0:
			neither++
		}
		both += min(1, len(a.both))
		stuck += min(1, len(a.stuck))
	}
	against := format.And(r.Coverage().Shown)
	if n := len(r.Coverage().Shown); n > 2 {
		against = format.Plural(n, "hazard")
	}
	if against != "" { // or no control has failed as it should
		against = "against " + against + ", "
	}
	text := fmt.Sprintf("%sof %s %d can have two holders at once, %d can get stuck (not free again in the test), and %d showed neither", against, format.Plural(len(answers), "lock"), both, stuck, neither)
	if untested > 0 {
		text += fmt.Sprintf("; not tested: %d", untested)
	}
	return format.Upper(text)
}

// proofKept says that no lock loses more than was known, which is not that it is safe; empty if none loses anything.
func proofKept(r *safety.Report, locks int) string {
	switch fails := r.Select(func(c *safety.Cell) bool { return c.Verdict == safety.Fails && !c.Control }); {
	case r.Baseline != "":
		return "Nothing is worse than in " + format.Line(r.Baseline)
	case len(fails) > 0 && locks == 1:
		return "It fails no more than its design admits (lockbench list " + fails[0].Driver + ")"
	case len(fails) > 0:
		return "None fails more than its design admits (lockbench list DRIVER)"
	}
	return ""
}

// proofKnown says which losses were not known, and what was named and is not known.
func proofKnown(r *safety.Report) (parts []string) {
	const most = 3
	if alarms := r.Select((*safety.Cell).Alarm); len(alarms) > 0 {
		var names []string
		for _, c := range alarms {
			names = append(names, c.Driver+" "+c.Lock+" after "+proofAfter(r, c.Hazard))
		}
		text := "Not admitted: "
		if r.Baseline != "" {
			text = "Worse than in " + format.Line(r.Baseline) + ": "
		}
		parts = append(parts, text+format.Few(names, most))
	}
	untested := r.Untested()
	if len(untested) > 0 {
		var texts []string
		for _, u := range untested {
			texts = append(texts, u.What+" ("+strings.TrimPrefix(u.Why, u.What+": ")+")")
		}
		parts = append(parts, "Not tested: "+format.FewClauses(texts, most))
	}
	said := func(c *safety.Cell) bool { // that nothing is known of its hazard
		return !c.Unknown() || slices.ContainsFunc(untested, func(u safety.Reason) bool { return u.What == c.Hazard })
	}
	if unknown := slices.DeleteFunc(r.Select((*safety.Cell).Unknown), said); len(unknown) > 0 {
		parts = append(parts, "Not known: "+format.Few(cellNames(unknown), most))
	}
	return parts
}

// proofEffort says what was tested.
func proofEffort(r *safety.Report, locks int) string {
	v := r.Coverage()
	text := fmt.Sprintf("%s against %d of %s", format.Plural(locks, "lock"), len(v.Shown), format.Plural(len(r.Hazards), "hazard"))
	if spent := r.Spent.Round(100 * time.Millisecond); spent > 0 {
		text += " in " + format.Duration(spent)
	}
	needs := "what is not installed"
	if only := proofMissing(r).Keys; len(only) == 1 {
		needs, _, _ = strings.Cut(only[0], " (") // the names that other systems give it
	}
	for _, part := range []struct {
		names     []string
		one, many string
	}{
		{v.Wrong, "has a wrong control", "have wrong controls"},
		{v.Unsure, "has no control that could be tested", "have no control that could be tested"},
		{v.Open, "could not be tested", "could not be tested"},
		{v.Missing, "needs " + needs, "need " + needs},
	} {
		if len(part.names) > 0 {
			text += "; " + format.Verb(len(part.names), part.one, part.many) + " (" + format.Few(part.names, 3) + ")"
		}
	}
	if len(v.Idle) > 0 {
		text += "; " + format.Verb(len(v.Idle), "does not apply", "do not apply")
	}
	if r.Partial != "" {
		text += ". It is partial: " + format.Line(r.Partial)
	}
	return text
}

// proofMissing returns the cells by what they need that is not installed.
func proofMissing(r *safety.Report) (cells view.Grouped[string, *safety.Cell]) {
	for _, c := range r.Select(func(c *safety.Cell) bool { return c.Missing != "" && !c.Control }) {
		cells.Add(c.Missing, c)
	}
	return cells
}

// proofAdvice says what is missing, and what to do about it.
func proofAdvice(r *safety.Report) (lines []string) {
	missing := proofMissing(r)
	for _, what := range missing.Keys {
		cells := missing.Of[what]
		lines = append(lines, fmt.Sprintf("Install %s for %s more: %s", what, format.Plural(len(cells), "cell"), format.Few(cellNames(cells), 2)))
	}
	for _, h := range r.Hazards {
		if h.Control == "" {
			continue
		}
		line := h.Name + ": " + proofControl(&h)
		if h.Wrong {
			line += ". Try it alone (-hazard " + h.Name + "): if its control is wrong again, this lockbench does not know this server"
		}
		lines = append(lines, line)
	}
	stalled := func(c *safety.Cell) bool { return c.Verdict == safety.Stalled && !c.Control }
	if cells := r.Select(stalled); len(cells) > 0 {
		lines = append(lines, "The machine was too slow for "+format.Plural(len(cells), "cell")+": try -ttl 2s, or fewer at a time (-driver, -hazard)")
	}
	admitted := func(c *safety.Cell) bool { return c.Verdict == safety.Fails && c.Listed && !c.Doubted && !c.Control }
	if r.Baseline == "" && len(r.Select(admitted)) > 0 {
		lines = append(lines, "Another bug that shows in the same way as an admitted loss (✗) is not told from it. Keep a report (-format json=FILE) and "+
			"hold later ones against it (-baseline FILE): then more failures than before are an alarm")
	}
	return lines
}

// proofControl says why a hazard shows nothing; see safety.Hazard.Control.
func proofControl(h *safety.Hazard) string {
	if h.Wrong {
		return "nothing is shown, since a control is wrong: " + h.Control
	}
	return "nothing is shown, since its controls could not be tested: " + h.Control
}

func cellNames(cells []*safety.Cell) (names []string) {
	for _, c := range cells {
		names = append(names, c.Driver+" "+c.Lock+" by "+c.Hazard)
	}
	return names
}

// proofChanges says what differs from the baseline, a line each.
func proofChanges(r *safety.Report) (lines []string) {
	if r.Baseline == "" {
		return nil
	}
	for _, change := range []struct {
		is   func(*safety.Cell) bool
		text string
	}{
		{func(c *safety.Cell) bool { return c.Alarm() && c.Before == safety.Survives }, "fails, and survived before: "},
		{func(c *safety.Cell) bool { return c.Unknown() && c.Before != "" }, "is not known, and was before: "},
		{(*safety.Cell).Mended, "survives, and failed before: "},
	} {
		if names := cellNames(r.Select(change.is)); len(names) > 0 {
			lines = append(lines, change.text+format.And(names))
		}
	}
	for _, c := range r.Select(func(c *safety.Cell) bool { return c.More != "" }) {
		lines = append(lines, "fails more than before: "+cellNames([]*safety.Cell{c})[0]+": "+c.More)
	}
	return lines
}
