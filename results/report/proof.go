package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

const (
	namedCells = 3 // before the rest is counted
	safest     = 8 // locks without -v
)

// ways are those in which a lock fails: said of one of them, and of several.
var ways = []struct{ one, many string }{
	{"two holders after", "can have two holders at once"}, {"stuck after", "can get stuck"},
	{"wrong or late after", "can be wrong or late"},
}

// proven is what the attempts of a proof have shown of one lock: after which hazards.
type proven struct {
	name           string
	cells          []*safety.Cell
	failed         [3][]string // in each of the ways
	holds          []string
	admitted, idle []string // not tested: what the design admits, and what does not apply to it
	tested         int
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
	if len(locks) > 1 {
		d.add(Block{Table: lockTable(locks)})
	}
	d.add(Block{Table: proofFacts(r, locks)})
	if len(locks) > 1 {
		d.add(Block{Heading: "Locks by hazards", Detail: true, Table: proofMatrix(r, locks)},
			Block{Detail: true, Text: proofLegend(r)})
	}
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
		p.cells = append(p.cells, c)
		add := func(list *[]string, is bool) {
			if is {
				*list = append(*list, c.Hazard)
			}
		}
		if c.Exercised() {
			p.tested++
			add(&p.failed[0], c.Verdict == safety.Fails && c.Longest > 0)
			add(&p.failed[1], c.Verdict == safety.Fails && c.Never)
			add(&p.failed[2], c.Verdict == safety.Fails && c.Longest == 0 && !c.Never)
			add(&p.holds, c.Verdict == safety.Survives)
		}
		add(&p.admitted, c.Verdict == safety.NotApplicable && c.Listed)
		add(&p.idle, c.Verdict == safety.NotApplicable && !c.Listed)
	}
	return locks
}

// proofTitle answers for all locks: first why the report is not as it should be, as its exit code tells.
func proofTitle(r *safety.Report, locks []*proven) (title string, tone Tone) {
	untested := r.Untested()
	if len(untested) > 0 && untested[0].What == "" {
		return "Nothing was tested: " + untested[0].Why, Warn
	}
	title = failures(locks)
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

// failures counts the locks that fail, or the hazards after which a single one does: "2 of 5 locks can get stuck".
func failures(locks []*proven) string {
	text, name, of := "", "", " of "+format.Plural(len(locks), "lock")
	if len(locks) == 1 {
		name, of = locks[0].name+": ", " of "+format.Plural(locks[0].tested, "hazard")
	}
	for i, way := range ways {
		failed := slices.DeleteFunc(slices.Clone(locks), func(p *proven) bool { return len(p.failed[i]) == 0 })
		switch {
		case len(failed) == 0:
			continue
		case name == "":
			text += fmt.Sprintf(" · %d%s %s", len(failed), of, way.many)
		default:
			text += fmt.Sprintf(" · %s %d%s", way.one, len(failed[0].failed[i]), of)
		}
		of = ""
	}
	return name + cmp.Or(strings.TrimPrefix(text, " · "), "no failure seen")
}

func failing(c *safety.Cell) bool { return c.Verdict == safety.Fails && !c.Control }

// lockTable counts after how many hazards each lock failed: the locks first that two clients hold least often.
func lockTable(locks []*proven) *Table {
	t := columns("lock")
	for _, way := range ways {
		t.Columns = append(t.Columns, Column{Title: strings.Replace(way.one, " after", "\nafter", 1)})
	}
	t.Columns = append(t.Columns, Column{Title: "holds\nagainst", About: "so many hazards"})
	share := func(p *proven) float64 { return float64(len(p.failed[0])) / float64(p.tested) }
	locks = slices.DeleteFunc(slices.Clone(locks), func(p *proven) bool { return p.tested == 0 })
	slices.SortStableFunc(locks, func(a, b *proven) int { return cmp.Compare(share(a), share(b)) })
	if len(locks) > safest {
		t.Columns[0].Title, locks = "the safest locks", locks[:safest]
	}
	for _, p := range locks {
		texts := []string{p.name}
		for _, list := range append(p.failed[:], p.holds) {
			texts = append(texts, known(float64(len(list)), metric.Count.Format))
		}
		t.row(texts...)
	}
	return dense(t)
}

// proofFacts returns what is worse than it should be, what is not known, and what to do next.
func proofFacts(r *safety.Report, locks []*proven) *Table {
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
	t.fact(Warn, "partial", r.Partial)
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
		for i, way := range ways {
			t.fact(Plain, way.one, strings.Join(p.failed[i], ", "))
		}
		t.fact(Plain, "holds against", strings.Join(p.holds, ", "))
		t.fact(Plain, "admits, untested", strings.Join(p.admitted, ", "))
		t.fact(Plain, "do not apply", strings.TrimPrefix(format.Plural(len(p.idle), "hazard"), "0 hazards"))
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
		return "keep -format json=FILE, and hold a later run against it: -baseline FILE"
	}
	return ""
}

// proofMatrix has a row for each lock and a column for each hazard.
func proofMatrix(r *safety.Report, locks []*proven) *Table {
	t := columns("lock")
	for _, h := range r.Hazards {
		t.Columns = append(t.Columns, Column{Title: strconv.Itoa(h.Number), About: h.Name + ": " + h.About})
	}
	for _, p := range locks {
		row := t.row(p.name)
		for _, h := range r.Hazards {
			mark := Cell{}
			if i := slices.IndexFunc(p.cells, func(c *safety.Cell) bool { return c.Hazard == h.Name }); i >= 0 {
				mark.Text, mark.Tone = ProofMark(p.cells[i])
			}
			row.Cells = append(row.Cells, mark)
		}
	}
	return t
}

// proofMarks are how cells are drawn, in the order of the legend: a cell has the first that is true of it.
var proofMarks = []struct {
	mark, about string
	tone        Tone
	is          func(c *safety.Cell) bool
}{
	{"‼", "fails more than admitted or than in the baseline", Bad,
		func(c *safety.Cell) bool { return c.Unlisted() || c.Alarm() }},
	{"✗", "fails as admitted", Bad, func(c *safety.Cell) bool { return c.Verdict == safety.Fails }},
	{"○", "survives though it admits failure", Good, (*safety.Cell).Unseen},
	{"✓", "survives", Good, func(c *safety.Cell) bool { return c.Verdict == safety.Survives }},
	{"□", "admits failure that cannot be tested here", Plain,
		func(c *safety.Cell) bool { return c.Verdict == safety.NotApplicable && c.Listed }},
	{"·", "does not apply", Plain, func(c *safety.Cell) bool { return c.Verdict == safety.NotApplicable }},
	{"–", "no server here", Plain, func(c *safety.Cell) bool { return c.Verdict == safety.NoServer }},
	{"?", "not known", Warn, nil}, // all others
}

// ProofMark returns how a cell is drawn.
func ProofMark(c *safety.Cell) (string, Tone) {
	for _, m := range proofMarks[:len(proofMarks)-1] {
		if !c.Doubted && m.is(c) {
			return m.mark, m.tone
		}
	}
	return "?", Warn
}

// proofLegend says what the marks mean that there are.
func proofLegend(r *safety.Report) []Text {
	var marks []string
	for _, m := range proofMarks {
		same := func(c *safety.Cell) bool { mark, _ := ProofMark(c); return mark == m.mark }
		if len(r.Select(same)) > 0 {
			marks = append(marks, format.Glue(m.mark+" "+m.about))
		}
	}
	return []Text{{Text: strings.Join(marks, ", ")}}
}

// hazardBlocks tell all that was seen of a hazard: of cells alike together, and what happened in an attempt. There are
// none if it applies to no lock.
func hazardBlocks(r *safety.Report, h *safety.Hazard) []Block {
	var alike view.Grouped[string, string]
	tones, stories := map[string]Tone{}, []Block{}
	for _, v := range safety.Verdicts {
		for _, c := range r.Select(func(c *safety.Cell) bool { return c.Hazard == h.Name && c.Verdict == v }) {
			if v == safety.NotApplicable && !c.Listed {
				continue
			}
			name := c.Driver + " " + c.Lock
			if c.Control {
				name += " (control)"
			}
			mark, tone := ProofMark(c)
			key := mark + " " + outcome(c)
			if tones[key] = tone; c.Attempts > 0 {
				alike.Add(key, fmt.Sprintf("%s %d/%d", name, c.Failed, c.Attempts))
			} else {
				alike.Add(key, name)
			}
			if v != safety.Fails && !v.Open() || len(c.Story) == 0 {
				continue
			}
			story := Block{Detail: true, Chart: storyChart(c)}
			if len(stories) == 0 {
				story.Text = []Text{{Text: fmt.Sprintf("%s · TTL %s · %s", name, format.Exact(c.TTL), c.Why)}}
				if story.Table = storyTable(c); c.Command != "" {
					story.Text = append(story.Text, Text{Text: c.Command, Code: true})
				}
			}
			stories = append(stories, story)
		}
	}
	if alike.Keys == nil {
		return nil
	}
	b := Block{Heading: fmt.Sprintf("%d %s", h.Number, h.Name), Detail: true, Table: &Table{}}
	b.Text = []Text{{Text: h.About}}
	for _, key := range alike.Keys {
		mark, text, _ := strings.Cut(key, " ")
		b.Table.fact(tones[key], mark, text+": "+strings.Join(alike.Of[key], ", "))
	}
	return append([]Block{b}, stories...)
}

// outcome returns what became of a lock: "fails · two holders".
func outcome(c *safety.Cell) string {
	text := string(c.Verdict)
	if c.Verdict != safety.Fails && c.Verdict != safety.Survives {
		text += " · " + c.Why
	}
	if c.Longest > 0 {
		text += " · two holders"
	}
	if c.Never {
		text += " · not free again"
	}
	return text
}

// ProofSeen returns what became of a lock, and of one that fails how often: "fails 20 of 20 · two holders".
func ProofSeen(c *safety.Cell) string {
	return strings.Replace(outcome(c), "fails", fmt.Sprintf("fails %d of %d", c.Failed, c.Attempts), 1)
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
	chart := &Chart{Kind: Lanes, Name: c.Hazard + "-" + c.Lock}
	chart.Title = c.Driver + " " + c.Lock + ": who held the key when"
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
