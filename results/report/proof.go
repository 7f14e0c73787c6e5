package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// namedCells is how many cells, hazards or locks a fact names before it counts the rest.
const namedCells = 3

// proven is what the attempts of a proof have shown of one lock: under which hazards.
type proven struct {
	name                      string
	both, stuck, other, holds []string
	admitted                  []string // by the design, and cannot be tested here
}

// tested returns under how many hazards something is known of it.
func (p *proven) tested() int {
	all := slices.Concat(p.both, p.stuck, p.other, p.holds)
	slices.Sort(all)
	return len(slices.Compact(all))
}

// Proof returns what a report of lockbench prove says.
func Proof(r *safety.Report) *Document {
	locks := provenLocks(r)
	d := &Document{Command: "lockbench prove"}
	d.Title, d.Tone = proofTitle(r, locks)
	d.When = fmt.Sprintf("%s × %d of %s", format.Plural(len(locks), "lock"), len(r.Coverage().Shown),
		format.Plural(len(r.Hazards), "hazard"))
	if spent := r.Spent.Round(100 * time.Millisecond); spent > 0 {
		d.When += " · " + format.Duration(spent)
	}
	d.add(Block{Table: proofLimits(r, locks)})
	if len(locks) > 1 {
		d.add(Block{Heading: "Locks by hazards", Table: proofMatrix(r, false)}, Block{Text: proofLegend(r)})
	}
	d.add(Block{Heading: "Controls", Detail: true, Table: proofMatrix(r, true)})
	for i := range r.Hazards {
		d.add(hazardBlocks(r, &r.Hazards[i])...)
	}
	machine := ""
	if r.Env.CPUs > 0 {
		machine = view.Machine(r.Env)
	}
	d.add(Block{Heading: "Environment", Detail: true, Table: facts("machine", machine,
		"program", strings.TrimSpace("lockbench "+r.Env.Lockbench), "libraries", view.Libraries(r.Env))})
	return d
}

// provenLocks returns what is known of each lock that is not only a control, in the order of the cells.
func provenLocks(r *safety.Report) (locks []*proven) {
	for _, c := range r.Select(func(c *safety.Cell) bool { return !c.Control }) {
		name := c.Driver + " " + c.Lock
		i := slices.IndexFunc(locks, func(p *proven) bool { return p.name == name })
		if i < 0 {
			i, locks = len(locks), append(locks, &proven{name: name})
		}
		p := locks[i]
		add := func(list *[]string, is bool) {
			if is {
				*list = append(*list, c.Hazard)
			}
		}
		fails := c.Exercised() && c.Verdict == safety.Fails
		add(&p.both, fails && c.Longest > 0)
		add(&p.stuck, fails && c.Never)
		add(&p.other, fails && c.Longest == 0 && !c.Never)
		add(&p.holds, c.Exercised() && !fails)
		add(&p.admitted, c.Verdict == safety.NotApplicable && c.Listed)
	}
	return locks
}

// proofTitle answers for all locks: first why the report is not as it should be, as its exit code tells.
func proofTitle(r *safety.Report, locks []*proven) (title string, tone Tone) {
	untested := r.Untested()
	if len(untested) > 0 && untested[0].What == "" {
		return "Nothing was tested: " + untested[0].Why, Warn
	}
	var both, stuck int
	for _, p := range locks {
		both, stuck = both+min(1, len(p.both)), stuck+min(1, len(p.stuck))
	}
	all := format.Plural(len(locks), "lock")
	title = fmt.Sprintf("%d of %s can have two holders at once · %d can get stuck", both, all, stuck)
	if p := locks[0]; len(locks) == 1 {
		title = fmt.Sprintf("%s: two holders after %d of %s · stuck after %d",
			p.name, len(p.both), format.Plural(p.tested(), "hazard"), len(p.stuck))
	}
	alarms, unknown := len(r.Select((*safety.Cell).Alarm)), len(r.Select((*safety.Cell).Unknown))+len(untested)
	switch outcome := r.Outcome(); {
	case outcome == safety.Lost && r.Baseline != "":
		return fmt.Sprintf("%d worse than in %s · %s", alarms, r.Baseline, title), Bad
	case outcome == safety.Lost:
		return fmt.Sprintf("%s not admitted · %s", format.Plural(alarms, "failure"), title), Bad
	case outcome == safety.Inconclusive:
		return fmt.Sprintf("%d not known · %s", unknown, title), Warn
	case r.Baseline != "":
		return fmt.Sprintf("nothing worse than in %s · %s", r.Baseline, title), Good
	case len(r.Select(failing)) > 0: // what fails is not safe, though it was known
		return title, Bad
	}
	return title, Good
}

func failing(c *safety.Cell) bool { return c.Verdict == safety.Fails && !c.Control }

// proofLimits returns the facts: what is worse than it should be, what is not known, and what can go wrong.
func proofLimits(r *safety.Report, locks []*proven) *Table {
	t := &Table{}
	worse := "not admitted"
	if r.Baseline != "" {
		worse = "worse"
	}
	t.fact(Bad, worse, fewCells(r, (*safety.Cell).Alarm, func(c *safety.Cell) string {
		return cmp.Or(c.More, map[bool]string{true: "survived before"}[c.Before == safety.Survives])
	}))
	for _, h := range r.Hazards {
		if h.Wrong {
			t.fact(Bad, "wrong control", h.Name+": "+h.Control)
		} else if h.Control != "" {
			t.fact(Warn, "control untested", h.Name+": "+h.Control)
		}
	}
	for _, u := range r.Untested() {
		if u.What != "" {
			t.fact(Warn, "not tested", u.What+" ("+strings.TrimPrefix(u.Why, u.What+": ")+")")
		}
	}
	t.fact(Warn, "not known", fewCells(r, func(c *safety.Cell) bool { return c.Unknown() && !c.Doubted },
		func(c *safety.Cell) string { return string(c.Verdict) }))
	if r.Partial != "" {
		t.fact(Warn, "partial", r.Partial)
	}
	var missing view.Grouped[string, *safety.Cell]
	for _, c := range r.Select(func(c *safety.Cell) bool { return c.Missing != "" && !c.Control }) {
		missing.Add(c.Missing, c)
	}
	for _, what := range missing.Keys {
		t.fact(Plain, "not installed", what+": "+format.Plural(len(missing.Of[what]), "cell"))
	}
	t.fact(Good, "better", fewCells(r, (*safety.Cell).Mended, func(*safety.Cell) string { return "failed before" }))
	if len(locks) == 1 {
		p := locks[0]
		t.fact(Plain, "two holders after", strings.Join(p.both, ", "))
		t.fact(Plain, "stuck after", strings.Join(p.stuck, ", "))
		t.fact(Plain, "wrong or late after", strings.Join(p.other, ", "))
		t.fact(Plain, "holds against", strings.Join(p.holds, ", "))
		t.fact(Plain, "admits, untested", strings.Join(p.admitted, ", "))
	} else {
		t.fact(Plain, "two holders after", mostOf(locks, func(p *proven) []string { return p.both }))
		t.fact(Plain, "stuck after", mostOf(locks, func(p *proven) []string { return p.stuck }))
		t.fact(Plain, "fewest two holders", fewestBoth(locks))
	}
	t.fact(Plain, "next", proofNext(r))
	return t
}

// fewCells names the first of some cells, each with a remark.
func fewCells(r *safety.Report, is func(*safety.Cell) bool, remark func(*safety.Cell) string) string {
	var names []string
	for _, c := range r.Select(is) {
		name := c.Driver + " " + c.Lock + " after " + c.Hazard
		if text := remark(c); text != "" {
			name += " (" + text + ")"
		}
		names = append(names, name)
	}
	return format.Few(names, namedCells)
}

// mostOf names the hazards that most locks have in a list.
func mostOf(locks []*proven, list func(*proven) []string) string {
	n := map[string]int{}
	for _, p := range locks {
		for _, hazard := range list(p) {
			n[hazard]++
		}
	}
	names := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(n[b]-n[a], cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, n[name])
	}
	if len(names) > namedCells {
		return strings.Join(names[:namedCells], " · ") + fmt.Sprintf(" · %d more", len(names)-namedCells)
	}
	return strings.Join(names, " · ")
}

// fewestBoth names the locks with the lowest share of hazards after which there are two holders.
func fewestBoth(locks []*proven) string {
	tested := slices.DeleteFunc(slices.Clone(locks), func(p *proven) bool { return p.tested() == 0 })
	slices.SortStableFunc(tested, func(a, b *proven) int { return len(a.both)*b.tested() - len(b.both)*a.tested() })
	var names []string
	for _, p := range tested[:min(len(tested), namedCells)] {
		names = append(names, fmt.Sprintf("%s %d/%d", p.name, len(p.both), p.tested()))
	}
	return strings.Join(names, " · ")
}

// proofNext returns the one thing to do.
func proofNext(r *safety.Report) string {
	if alarms := r.Select((*safety.Cell).Alarm); len(alarms) > 0 {
		return alarms[0].Command
	}
	if i := slices.IndexFunc(r.Hazards, func(h safety.Hazard) bool { return h.Wrong }); i >= 0 {
		return "lockbench prove -hazard " + r.Hazards[i].Name
	}
	if n := len(r.Select(func(c *safety.Cell) bool { return c.Verdict == safety.Stalled && !c.Control })); n > 0 {
		return "-ttl 2s, or fewer at a time: the machine was too slow for " + format.Plural(n, "cell")
	}
	if r.Baseline == "" && len(r.Select(failing)) > 0 {
		return "keep -format json=FILE: a later -baseline FILE tells what fails more"
	}
	return ""
}

// proofMatrix has a row for each lock, or each that is only a control, shared by drivers for which its marks are alike.
func proofMatrix(r *safety.Report, controls bool) *Table {
	t := columns("lock")
	type lock struct{ name, marks string }
	var cells view.Grouped[[2]string, *safety.Cell]
	for _, c := range r.Select(func(c *safety.Cell) bool { return true }) {
		cells.Add([2]string{c.Driver, c.Lock}, c)
	}
	var drivers view.Grouped[lock, string]
	rows := map[lock]Row{}
	for _, key := range cells.Keys {
		if controls == slices.ContainsFunc(cells.Of[key], func(c *safety.Cell) bool { return !c.Control }) {
			continue
		}
		row := Row{Cells: []Cell{{}}}
		for _, h := range r.Hazards {
			mark := Cell{}
			if i := slices.IndexFunc(cells.Of[key], func(c *safety.Cell) bool { return c.Hazard == h.Name }); i >= 0 {
				mark.Text, mark.Tone = proofMark(cells.Of[key][i])
			}
			row.Cells = append(row.Cells, mark)
		}
		one := lock{key[1], fmt.Sprint(row.Cells)}
		drivers.Add(one, key[0])
		rows[one] = row
	}
	for _, h := range r.Hazards {
		t.Columns = append(t.Columns, Column{Title: strconv.Itoa(h.Number), About: h.Name + ": " + h.About})
	}
	for _, one := range drivers.Keys {
		rows[one].Cells[0].Text = strings.Join(drivers.Of[one], ", ") + " " + one.name
		t.Rows = append(t.Rows, rows[one])
	}
	return t
}

// markMeanings are what the marks mean, in the order of the legend.
var markMeanings = [][2]string{
	{"‼", "fails more than admitted or than in the baseline"}, {"✗", "fails as admitted"}, {"✓", "survives"},
	{"○", "survives though it admits failure"}, {"?", "not known"}, {"□", "admits failure that cannot be tested here"},
	{"·", "does not apply"}, {"–", "no server here"},
}

// ProofMark returns how a cell is drawn in the matrix.
func ProofMark(c *safety.Cell) string {
	mark, _ := proofMark(c)
	return mark
}

func proofMark(c *safety.Cell) (string, Tone) {
	switch {
	case c.Doubted:
		return "?", Warn
	case c.Unlisted(), c.Alarm():
		return "‼", Bad
	case c.Verdict == safety.Fails:
		return "✗", Bad
	case c.Unseen():
		return "○", Good
	case c.Verdict == safety.Survives:
		return "✓", Good
	case c.Verdict == safety.NotApplicable && c.Listed:
		return "□", Plain
	case c.Verdict == safety.NotApplicable:
		return "·", Plain
	case c.Verdict == safety.NoServer:
		return "–", Plain
	}
	return "?", Warn
}

// proofLegend names the hazards by their numbers, and says what the marks mean that there are.
func proofLegend(r *safety.Report) []Text {
	var names, marks []string
	for _, h := range r.Hazards {
		names = append(names, format.Glue(fmt.Sprintf("%d %s", h.Number, h.Name)))
	}
	for _, m := range markMeanings {
		if len(r.Select(func(c *safety.Cell) bool { return ProofMark(c) == m[0] })) > 0 {
			marks = append(marks, format.Glue(m[0]+" "+m[1]))
		}
	}
	return []Text{{Text: strings.Join(marks, ", ")}, {Text: strings.Join(names, ", ")}}
}

// hazardBlocks tell all that was seen of a hazard: of cells alike together, and what happened in an attempt.
func hazardBlocks(r *safety.Report, h *safety.Hazard) []Block {
	b := Block{Heading: fmt.Sprintf("%d %s", h.Number, h.Name), Detail: true, Text: []Text{{Text: h.About}}}
	b.Table = &Table{}
	cells := r.Select(func(c *safety.Cell) bool {
		return c.Hazard == h.Name && (c.Verdict != safety.NotApplicable || c.Listed)
	})
	var alike view.Grouped[string, *safety.Cell]
	for _, v := range safety.Verdicts {
		for _, c := range cells {
			if c.Verdict != v {
				continue
			}
			key := fmt.Sprint(ProofMark(c), c.Longest > 0, c.Never, c.Gaps-c.Tried)
			if !c.Exercised() {
				key = ProofMark(c) + string(v) + c.Why
			}
			alike.Add(key, c)
		}
	}
	for _, key := range alike.Keys {
		mark, tone := proofMark(alike.Of[key][0])
		var names []string
		for _, c := range alike.Of[key] {
			name := c.Driver + " " + c.Lock
			if c.Control {
				name += " (control)"
			}
			names = append(names, name)
		}
		b.Table.fact(tone, mark, ProofSeen(alike.Of[key]...)+": "+strings.Join(names, ", "))
	}
	blocks := []Block{b}
	for _, c := range cells {
		if c.Verdict != safety.Fails && !c.Verdict.Open() || len(c.Story) == 0 {
			continue
		}
		story := Block{Detail: true, Chart: storyChart(c)}
		if len(blocks) == 1 {
			story.Text = []Text{{Text: fmt.Sprintf("%s %s · TTL %s · %s", c.Driver, c.Lock, format.Exact(c.TTL), c.Why)}}
			if story.Table = storyTable(c); c.Command != "" {
				story.Text = append(story.Text, Text{Text: c.Command, Code: true})
			}
		}
		blocks = append(blocks, story)
	}
	return blocks
}

// ProofSeen returns what was seen of cells of which the same is to be said.
func ProofSeen(cells ...*safety.Cell) string {
	most := func(of func(*safety.Cell) float64) float64 {
		return of(slices.MaxFunc(cells, func(a, b *safety.Cell) int { return cmp.Compare(of(a), of(b)) }))
	}
	between := func(of func(*safety.Cell) int) string {
		low := -most(func(c *safety.Cell) float64 { return -float64(of(c)) })
		high := most(func(c *safety.Cell) float64 { return float64(of(c)) })
		if low == high {
			return format.Count(int(high))
		}
		return format.Count(int(low)) + "–" + format.Count(int(high))
	}
	c, attempts := cells[0], between(func(c *safety.Cell) int { return c.Attempts })
	switch {
	case c.Verdict == safety.Survives:
		bound := format.Percent(most(func(c *safety.Cell) float64 { return c.Bound }))
		text := "survives " + attempts + " of " + attempts + " · at most " + bound + " can fail"
		if c.Tried < c.Gaps {
			text += fmt.Sprintf(" · %d of %d gaps", c.Tried, c.Gaps)
		}
		if v := most(func(c *safety.Cell) float64 { return float64(c.Recovery) }); v > 0 {
			text += " · next grant after " + format.Duration(time.Duration(v))
		}
		return text
	case c.Verdict != safety.Fails:
		return string(c.Verdict) + " · " + c.Why
	}
	text := "fails " + between(func(c *safety.Cell) int { return c.Failed }) + " of " + attempts
	if c.Longest > 0 {
		text += " · two holders"
	}
	if c.Never {
		text += " · not free again"
	}
	return text
}

// storyTable has the events of a story.
func storyTable(c *safety.Cell) *Table {
	t := columns("at", "client", "what", "")
	for i := range t.Columns {
		t.Columns[i].Left = i > 0
	}
	for _, e := range c.Story {
		text := e.Text
		if e.Fence != 0 {
			text = strings.TrimSpace(fmt.Sprintf("fence %d %s", e.Fence, text))
		}
		t.row(fmt.Sprintf("%.3f ms", float64(e.At)/1e6), e.Client, string(e.Kind), text)
	}
	return t
}

// storyChart draws who held the key when, since the story began, and when the fault struck.
func storyChart(c *safety.Cell) *Chart {
	begin := c.Story[0].At
	since := func(at time.Duration) float64 { return float64(at - begin) }
	chart := &Chart{Kind: Lanes, Name: c.Hazard + "-" + c.Lock, Title: c.Driver + " " + c.Lock + ": who held the key when"}
	chart.X = Axis{Name: "time", Most: since(c.Story[len(c.Story)-1].At), Label: metric.Duration.Format}
	for _, hold := range safety.Holds(c.Story) {
		i := slices.IndexFunc(chart.Series, func(s Series) bool { return s.Name == hold.Client })
		if i < 0 {
			i, chart.Series = len(chart.Series), append(chart.Series, Series{Name: hold.Client})
		}
		held := Point{X: since(hold.From), Low: since(hold.From), High: since(hold.To)}
		chart.Series[i].Points = append(chart.Series[i].Points, held)
	}
	for _, e := range c.Story {
		if e.Kind == safety.Fault {
			chart.Uprights = append(chart.Uprights, Line{since(e.At), "fault: " + e.Text})
		}
	}
	return chart
}

// ProofTally counts the verdicts of the cells of a hazard: "fails 3 · survives 9".
func ProofTally(cells []safety.Cell) string {
	var parts []string
	for _, v := range safety.Verdicts {
		n := len((&safety.Report{Cells: cells}).Select(func(c *safety.Cell) bool { return c.Verdict == v }))
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, n))
		}
	}
	return strings.Join(parts, " · ")
}
