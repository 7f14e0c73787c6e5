package report

// One cell: its answer, and the facts that a reader needs to believe it and to go on from it.

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// cellAnswer returns how many locks a second, how long the slowest wait, whether the lock excluded, and what is
// doubtful.
func cellAnswer(c *results.Cell) (string, Tone) {
	n, l := c.Counts, c.Latency[view.Waiting(c)]
	switch {
	case c.Violated() && c.Safety.Violations > 0:
		return fmt.Sprintf("mutual exclusion violated: %s of %s came while another client held the lock",
			format.Count(c.Safety.Violations), format.Plural(c.Safety.Grants, "grant")), Bad
	case c.Violated():
		return "mutual exclusion violated: " + witnesses(c), Bad
	case n.Acquired == 0:
		return strings.TrimPrefix(c.Partial()+": no lock was granted", ": "), Warn
	}
	parts := []string{format.Three(c.Rate.Median) + " locks/s", "max " + format.Duration(l.Max)}
	if t := l.Quantile(0.99); !math.IsNaN(t) {
		parts[1] = "p99 " + duration(t)
	}
	if _, bounded := c.Figures().MaxRate(); c.Breaches() > 0 {
		parts = append(parts, "two holders at once, which the design allows")
	} else if bounded {
		parts = append(parts, "no violation seen"+amongOwn(c))
	}
	for _, lost := range []struct {
		n    int64
		what string
	}{{n.Contended, "refused"}, {n.TimedOut, "gave up"}, {n.Failed(), "failed"}} {
		if part := float64(lost.n) / float64(lost.n+n.Acquired); part >= 0.01 {
			parts = append(parts, format.Percent(part)+" "+lost.what)
		}
	}
	return strings.Join(append(parts, doubtsOf(c)...), " · "), max(toneOf(c), limitTone(c))
}

// limitTone warns where it was not the lock that limited the throughput.
func limitTone(c *results.Cell) Tone {
	if by := c.Limit().By; by.Busy() || by == results.ByErrors {
		return Warn
	}
	return Plain
}

// amongOwn says that grants of other runs with the same keys were not checked.
func amongOwn(c *results.Cell) string {
	if !c.Plan().Shared {
		return ""
	}
	return " among its own clients"
}

// cellFacts returns what a reader needs to believe the figures of a cell and to go on. A threshold may have been
// missed.
func cellFacts(c *results.Cell, missed bool) *Table {
	n, wait, t := c.Counts, view.Waiting(c), &Table{}
	waits := map[results.Metric]string{results.Acquire: "waits", results.Response: "answers"}[wait]
	t.fact(Plain, "task", task(c))
	t.fact(limitTone(c), "limited by", limited(c))
	t.fact(Plain, waits, within(c.Latency[wait]))
	t.fact(Plain, "after a death", within(c.Latency[results.Recovery]))
	if n.Offered > 0 {
		t.fact(Warn*Tone(min(1, n.Dropped)), "offered", arrivals(c))
	}
	t.fact(toneOf(c)*Tone(min(1, c.Breaches())), "safety", excluded(c))
	t.fact(max(toneOf(c), Warn), "witnesses", witnesses(c))
	t.fact(Plain, "risk", view.Risk(c))
	t.fact(Plain, "server", serverOf(c))
	t.fact(Warn, "holds", unlikeHolds([]*results.Cell{c}))
	if d := c.Disturbance(); !math.IsNaN(d) {
		before, under := c.Latency[results.ProbeIdle].P50, c.Latency[results.Probe].P50
		t.fact(Plain, "neighbour", "p50 "+format.Duration(before)+" before the load · "+format.Duration(under)+" under it")
	}
	ill := n.Canceled + n.Unknown + n.Refused + n.Lost + n.LostRenewal + n.ReleaseError
	if ill > 0 || task(c) == "" && n.Contended+n.TimedOut > 0 {
		t.fact(Plain, "outcomes", outcomes(n))
	}
	t.fact(Warn, "errors", errorsOf(n))
	label := "marks"
	for _, m := range marks(c) {
		t.fact(m.Tone, label, strings.TrimSuffix(strings.TrimSpace(m.Code+" "+m.Args)+": "+m.Line, ": "))
		label = " "
	}
	t.notes(c)
	t.fact(Plain, "next", next(c, missed))
	return t
}

// notes adds the warnings of cells, each once, that neither a mark nor a fact says.
func (t *Table) notes(cells ...*results.Cell) {
	var notes []string
	for _, c := range cells {
		for _, note := range c.Warnings {
			if !saidByMark.MatchString(note) && !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
		if c.Duplicates > 0 {
			notes = append(notes, format.Plural(c.Duplicates, "record")+" that had been read before left out")
		}
	}
	if len(notes) > named {
		notes = append(notes[:named-1], fmt.Sprintf("%d more: -v", len(notes)-named+1))
	}
	for _, note := range notes {
		t.fact(Warn, "note", note)
	}
}

// saidByMark finds the warnings of a record that a mark or a fact of their own says as well.
var saidByMark = regexp.MustCompile(`not steady, len|\(Little's law\)|latencies have it in them$|^holds of .* lasted`)

// within says within which times parts of the values lie; empty if there are none.
func within(l results.Latency) string {
	if l.Count == 0 {
		return ""
	}
	var parts []string
	for _, q := range []struct {
		name string
		of   float64
	}{{"p50 ", 0.5}, {"p99 ", 0.99}, {"p99.9 ", 0.999}} {
		if t := l.Quantile(q.of); !math.IsNaN(t) {
			parts = append(parts, q.name+duration(t))
		}
	}
	return strings.Join(append(parts, "max "+format.Duration(l.Max)), " · ")
}

// arrivals says what an open loop asked for, and what became of it.
func arrivals(c *results.Cell) string {
	n := c.Counts
	served := n.Acquired
	for i, g := range c.Plan().Classes {
		if i < len(c.Classes) && !g.Open() {
			served -= c.Classes[i].Counts.Acquired
		}
	}
	came := format.Three(offered(c)) + " arrivals/s"
	if c.Plan().Ops > 0 {
		came = format.Plural(n.Offered, "arrival")
	}
	parts := []string{came, share(served, n.Offered) + " granted"}
	if part := c.Backlogged(); part > 0 {
		parts = append(parts, format.Percent(part)+" found all clients busy")
	}
	if n.Dropped > 0 {
		parts = append(parts, share(n.Dropped, n.Offered)+" dropped from a full queue")
	}
	return strings.Join(parts, " · ")
}

// excluded says how many violations there were and, if none, how rare they may still be (results.Figures.MaxRate), or
// that none could have been seen.
func excluded(c *results.Cell) string {
	s := c.Safety
	switch {
	case !s.Checked:
		return "not checked: the oracle was off"
	case s.Grants == 0:
		return "no grants to check"
	}
	text := "violations " + format.Count(s.Violations) + " in " + format.Plural(s.Grants, "grant") + amongOwn(c)
	if s.Power != nil && s.Power.Watched > 0 {
		text += ", " + format.Count(s.Power.Watched) + " watched"
	}
	rate, bounded := c.Figures().MaxRate()
	switch {
	case s.Violations > 0:
		text += fmt.Sprintf(" · longest overlap %s, in all %s", format.Duration(s.Longest), format.Duration(s.Overlap))
	case bounded:
		text += ": < 1 in " + format.Count(int64(1/rate)) + " (95 %)"
	case s.Power == nil:
		text += ": unknown how many could have shown one"
	case s.Power.Watched == 0:
		text += ": none could have been seen, no rival tried a held key"
	case c.Breaches() == 0:
		text += ": too few to tell"
	}
	if c.Breaches() > 0 && !c.First().Traits.Exclusive {
		text += " · the design does not claim to exclude"
	}
	return text
}

// witnesses returns what else than overlaps speaks against the safety of a cell; empty if nothing does.
func witnesses(c *results.Cell) string {
	s := c.Safety
	parts := []string{format.Labelled("lost updates", s.LostUpdates), format.Labelled("wrong releases", s.WrongReleases),
		format.Labelled("fence regressions", s.FenceRegress), format.Labelled("lost before the lease ended", s.LostEarly)}
	if s.Explained != "" && s.LostEarly+s.FenceRegress > 0 {
		parts = append(parts, "which proves nothing: "+s.Explained)
	}
	if s.Possible > 0 {
		doubt := ", within the doubt of clocks, " + format.Duration(s.Blind)
		parts = append(parts, "possible overlaps "+format.Count(s.Possible)+doubt)
	}
	for _, why := range slices.Sorted(maps.Keys(s.Ended)) {
		parts = append(parts, "sessions ended "+format.Count(s.Ended[why])+": "+why)
	}
	return format.Join(parts...)
}

// serverOf says which server it was; empty if the lock needs none.
func serverOf(c *results.Cell) string {
	unknown := ""
	if s := c.First().Server; s.Persistence == "" && s.Name != "" {
		unknown = "persistence unknown"
	}
	return format.Join(view.Server(c), unknown)
}

// outcomes returns how acquisitions and releases ended.
func outcomes(n results.Counts) string {
	var parts []string
	for _, f := range figures(n) {
		if f.text != "" && !slices.Contains([]string{"tries", "released", "local refusals", "offered", "renewals"}, f.title) {
			parts = append(parts, f.title+" "+f.text)
		}
	}
	return strings.Join(parts, " · ")
}

// errorsOf returns how many requests failed of each class, warm-up included, with the first error.
func errorsOf(n results.Counts) string {
	all := maps.Clone(n.Errors)
	results.Add(&all, n.EarlyErrors)
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(all)) {
		text := class + " " + format.Count(all[class])
		if early := n.EarlyErrors[class]; early > 0 {
			text += ", in the warm-up " + format.Count(early)
		}
		if sample := n.ErrorSample[class]; sample != "" {
			text += ": " + sample
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " · ")
}

// unlikeHolds names the holds that did not last as they were asked to, in one cell or in several that should be alike.
func unlikeHolds(cells []*results.Cell) string {
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
	var texts []string
	for _, of := range holds.Keys {
		least, most := slices.Min(holds.Of[of]), slices.Max(holds.Of[of])
		if text := "of " + of.text + " lasted " + format.Duration(least); results.Apart(least, most) {
			texts = append(texts, text+" to "+format.Duration(most))
		} else if results.Apart(of.hold, least) || results.Apart(of.hold, most) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " · ")
}
