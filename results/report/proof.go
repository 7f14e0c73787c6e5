package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// ways are what hazards do to a lock, said of one and, if it is a failure, of several.
var ways = []struct {
	one, many string
	is        func(*safety.Cell) bool
}{
	{"two holders", "can have two holders at once", func(c *safety.Cell) bool { return failing(c) && c.Longest > 0 }},
	{"stuck", "can get stuck", func(c *safety.Cell) bool { return failing(c) && c.Never }},
	{"wrong or late", "can be wrong or late",
		func(c *safety.Cell) bool { return failing(c) && c.Longest == 0 && !c.Never }},
	{"survives", "", func(c *safety.Cell) bool { return c.Exercised() && c.Verdict == safety.Survives }},
	{"admits, untested", "", func(c *safety.Cell) bool { return c.Verdict == safety.NotApplicable && c.Listed }},
	{"not applicable", "", func(c *safety.Cell) bool { return c.Verdict == safety.NotApplicable && !c.Listed }},
}

func failing(c *safety.Cell) bool { return c.Exercised() && c.Verdict == safety.Fails && !c.Control }

// lockCells are the cells of each lock that is not only a control.
type lockCells = view.Grouped[string, *safety.Cell]

func lockName(c *safety.Cell) string { return c.Driver + " " + c.Lock }

// hazards returns the hazards of the cells that are so.
func hazards(cells []*safety.Cell, is func(*safety.Cell) bool) (names []string) {
	for _, c := range cells {
		if is(c) {
			names = append(names, c.Hazard)
		}
	}
	return names
}

// Proof returns what a report of lockbench prove says.
func Proof(r *safety.Report) *Document {
	var locks lockCells
	for _, c := range r.Select(func(c *safety.Cell) bool { return !c.Control }) {
		locks.Add(lockName(c), c)
	}
	d := &Document{Command: "lockbench prove"}
	d.Title, d.Tone = proofTitle(r, locks)
	shown := strings.TrimPrefix(fmt.Sprintf("%d of ", len(r.Coverage().Shown)), fmt.Sprintf("%d of ", len(r.Hazards)))
	d.When = format.Join(format.Plural(len(locks.Keys), "lock")+" × "+shown+format.Plural(len(r.Hazards), "hazard"),
		strings.TrimSpace(lasting("", r.Spent)))
	found, legend := proofFacts(r, locks), &Table{}
	if len(locks.Keys) > 1 {
		for _, m := range proofMarks {
			legend.fact(Plain, m.mark, m.about)
		}
		table := lockTable(locks, len(r.Hazards) <= named)
		more := table.rest(d.room(found), "lock")
		d.add(Block{Table: table}, Block{Table: found},
			Block{Heading: "Locks by hazards", Detail: true, Table: proofMatrix(r, locks)},
			Block{Detail: true, Table: legend}, more)
	} else {
		d.add(Block{Table: found})
	}
	for i := range r.Hazards {
		d.add(hazardBlocks(r, &r.Hazards[i])...)
	}
	d.add(Block{Heading: "Environment", Detail: true, Table: facts("machine", view.Machine(r.Env),
		"program", strings.TrimSpace("lockbench "+r.Env.Lockbench), "libraries", view.Libraries(r.Env))})
	return d
}

// proofTitle answers for all locks: first why the report is not as it should be, as its exit code tells.
func proofTitle(r *safety.Report, locks lockCells) (title string, tone Tone) {
	title = failures(locks)
	untested, alarms := r.Untested(), len(r.Select((*safety.Cell).Alarm))
	switch outcome := r.Outcome(); {
	case len(untested) > 0 && untested[0].What == "":
		return "Nothing was tested: " + untested[0].Why, Warn
	case outcome == safety.Lost && r.Baseline != "":
		return fmt.Sprintf("%d worse than in %s · %s", alarms, r.Baseline, title), Bad
	case outcome == safety.Lost:
		return format.Plural(alarms, "failure") + " not admitted · " + title, Bad
	case outcome == safety.Inconclusive:
		return fmt.Sprintf("%d not known · %s", len(r.Select((*safety.Cell).Unknown))+len(untested), title), Warn
	case r.Baseline != "":
		return "nothing worse than in " + r.Baseline + " · " + title, Good
	case len(r.Select(failing)) > 0: // what fails is not safe, though it was known
		return title, Bad
	}
	return title, Good
}

// failures counts the locks that fail: "2 of 5 locks can get stuck". Of a single one it has the name.
func failures(locks lockCells) (text string) {
	of := " of " + format.Plural(len(locks.Keys), "lock")
	for _, way := range ways[:3] {
		failed := slices.DeleteFunc(slices.Clone(locks.Keys), func(lock string) bool {
			return hazards(locks.Of[lock], way.is) == nil
		})
		switch n := len(failed); {
		case n > 0 && len(locks.Keys) == 1:
			text += " and " + way.many
		case n > 0:
			text += fmt.Sprintf(" · %d%s %s", n, of, way.many)
			of = ""
		}
	}
	if text = strings.TrimPrefix(text, " · "); len(locks.Keys) == 1 {
		return locks.Keys[0] + cmp.Or(strings.TrimPrefix(text, " and"), ": no failure seen")
	}
	return cmp.Or(text, "no failure seen")
}

// lockTable counts what hazards do to each lock, or names them if they are few: the locks first that two clients hold
// least often.
func lockTable(locks lockCells, few bool) *Table {
	t := columns("lock, fewest overlaps first")
	for _, way := range ways[:4] {
		t.Columns = append(t.Columns, Column{Title: way.one, About: "so many hazards", Left: few})
	}
	share := func(lock string) float64 {
		cells := locks.Of[lock]
		return float64(len(hazards(cells, ways[0].is))) / float64(len(hazards(cells, (*safety.Cell).Exercised)))
	}
	names := slices.DeleteFunc(slices.Clone(locks.Keys), func(lock string) bool { return math.IsNaN(share(lock)) })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(share(a), share(b)) })
	for _, name := range names {
		row := t.row(name)
		for _, way := range ways[:4] {
			of := hazards(locks.Of[name], way.is)
			text := known(float64(len(of)), metric.Count.Format)
			if few {
				text = cmp.Or(strings.Join(of, ", "), format.None)
			}
			row.Cells = append(row.Cells, Cell{Text: text})
		}
	}
	return dense(t)
}

// proofFacts returns what is worse than it should be, what is not known, and what to do next.
func proofFacts(r *safety.Report, locks lockCells) *Table {
	type finding struct {
		label string
		tone  Tone
	}
	var found view.Grouped[finding, string]
	for _, h := range r.Hazards {
		if h.Wrong {
			found.Add(finding{"wrong control", Bad}, h.Name+": "+h.Control)
		} else if h.Control != "" {
			found.Add(finding{"control untested", Warn}, h.Name+": "+h.Control)
		}
	}
	for _, u := range r.Untested() {
		if u.What != "" {
			found.Add(finding{"not tested", Warn}, u.What+" ("+strings.TrimPrefix(u.Why, u.What+": ")+")")
		}
	}
	for _, c := range r.Select(func(c *safety.Cell) bool { return !c.Control }) {
		switch name := lockName(c) + " after " + c.Hazard; {
		case c.Alarm() && c.Before != safety.Survives && c.More == "":
			found.Add(finding{"not admitted", Bad}, name)
		case c.Alarm():
			found.Add(finding{"worse", Bad}, name+" ("+cmp.Or(c.More, "survived before")+")")
		case c.Unknown() && !c.Doubted:
			found.Add(finding{"not known", Warn}, name+" ("+string(c.Verdict)+")")
		case c.Mended():
			found.Add(finding{"better", Good}, name+" (failed before)")
		}
		if absent := (finding{"not installed", Plain}); c.Missing != "" && !slices.Contains(found.Of[absent], c.Missing) {
			found.Add(absent, c.Missing)
		}
	}
	t := &Table{}
	slices.SortStableFunc(found.Keys, func(a, b finding) int { return int(b.tone - a.tone) })
	for _, f := range found.Keys {
		t.fact(f.tone, f.label, format.Few(found.Of[f], named))
	}
	t.fact(Warn, "partial", r.Partial)
	for _, way := range ways {
		if len(locks.Keys) == 1 {
			t.fact(Plain, way.one, format.Few(hazards(locks.Of[locks.Keys[0]], way.is), 2*named))
		}
	}
	t.fact(Plain, "next", proofNext(r))
	return t
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
		return "keep it (-format json=FILE), and see what changes (-baseline FILE)"
	}
	return ""
}

// proofMatrix has a row for each lock and a column for each hazard.
func proofMatrix(r *safety.Report, locks lockCells) *Table {
	t := columns("lock")
	for _, h := range r.Hazards {
		t.Columns = append(t.Columns, Column{Title: strconv.Itoa(h.Number), About: h.Name + ": " + h.About})
	}
	for _, lock := range locks.Keys {
		row := t.row(lock)
		for _, h := range r.Hazards {
			mark := Cell{}
			for _, c := range locks.Of[lock] {
				if c.Hazard == h.Name {
					mark.Text, mark.Tone = ProofMark(c)
				}
			}
			row.Cells = append(row.Cells, mark)
		}
	}
	return t
}

// proofMarks are how cells are drawn, in the order of the legend: a cell has the first with its verdict that is so. One
// with none of them is not known.
var proofMarks = []struct {
	mark, about string
	tone        Tone
	verdict     safety.Verdict
	is          func(c *safety.Cell) bool // nil: all are
}{
	{"‼", "fails more than admitted or than in the baseline", Bad, safety.Fails,
		func(c *safety.Cell) bool { return !c.Listed || c.Alarm() }},
	{"✗", "fails as admitted", Bad, safety.Fails, nil},
	{"○", "survives though it admits failure", Good, safety.Survives, (*safety.Cell).Unseen},
	{"✓", "survives", Good, safety.Survives, nil},
	{"□", "admits failure that cannot be tested here", Plain, safety.NotApplicable,
		func(c *safety.Cell) bool { return c.Listed }},
	{"·", "does not apply", Plain, safety.NotApplicable, nil},
	{"–", "no server here", Plain, safety.NoServer, nil},
	{"?", "not known", Warn, "", nil},
}

// ProofMark returns how a cell is drawn.
func ProofMark(c *safety.Cell) (string, Tone) {
	for _, m := range proofMarks {
		if !c.Doubted && m.verdict == c.Verdict && (m.is == nil || m.is(c)) {
			return m.mark, m.tone
		}
	}
	return "?", Warn
}

// hazardBlocks tell all that was seen of a hazard: of cells alike together, and what happened in an attempt. There are
// none if it applies to no lock.
func hazardBlocks(r *safety.Report, h *safety.Hazard) []Block {
	var alike view.Grouped[string, string]
	tones, blocks := map[string]Tone{}, []Block{{Detail: true, Text: []Text{{Text: h.About}}, Table: &Table{}}}
	blocks[0].Heading = fmt.Sprintf("Hazard %d: %s", h.Number, h.Name)
	for _, v := range safety.Verdicts {
		for _, c := range r.Select(func(c *safety.Cell) bool { return c.Hazard == h.Name && c.Verdict == v }) {
			if v == safety.NotApplicable && !c.Listed {
				continue
			}
			mark, tone := ProofMark(c)
			key, name := mark+" "+outcome(c), lockName(c)
			if c.Control {
				name += " (control)"
			}
			if (v == safety.Fails || v.Open()) && len(c.Story) > 0 {
				b := story(c, name)
				if len(blocks) > 1 { // one attempt is told in full
					b.Text, b.Table = nil, nil
				}
				blocks = append(blocks, b)
			}
			if c.Attempts > 0 {
				name += fmt.Sprintf(" %d/%d", c.Failed, c.Attempts)
			}
			tones[key] = tone
			alike.Add(key, name)
		}
	}
	if alike.Keys == nil {
		return nil
	}
	for _, key := range alike.Keys {
		mark, text, _ := strings.Cut(key, " ")
		blocks[0].Table.fact(tones[key], mark, text+": "+strings.Join(alike.Of[key], ", "))
	}
	return blocks
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

// story tells what happened in an attempt, since its story began, and draws who held the key when.
func story(c *safety.Cell, name string) Block {
	since := func(at time.Duration) float64 { return float64(at - c.Story[0].At) }
	chart := &Chart{Kind: Lanes, Name: c.Hazard + "-" + c.Lock, Title: lockName(c) + ": who held the key when"}
	chart.X = Axis{Name: "time", Most: since(c.Story[len(c.Story)-1].At), Label: metric.Duration.Format}
	var held view.Grouped[string, Point]
	for _, hold := range safety.Holds(c.Story) {
		held.Add(hold.Client, Point{X: since(hold.From), Low: since(hold.From), High: since(hold.To)})
	}
	for _, client := range held.Keys {
		chart.Series = append(chart.Series, Series{Name: client, Points: held.Of[client]})
	}
	events := columns("at", "client", "what", "")
	for i := range events.Columns {
		events.Columns[i].Left = i > 0
	}
	for _, e := range c.Story {
		text := e.Text
		if e.Fence != 0 {
			text = strings.TrimSpace(fmt.Sprintf("fence %d %s", e.Fence, text))
		}
		events.row(fmt.Sprintf("%.3f ms", since(e.At)/1e6), e.Client, string(e.Kind), text)
		if e.Kind == safety.Fault {
			chart.Uprights = append(chart.Uprights, Line{since(e.At), "fault: " + e.Text})
		}
	}
	about := []Text{{Text: fmt.Sprintf("%s · TTL %s · %s", name, format.Exact(c.TTL), c.Why)}}
	if c.Command != "" {
		about = append(about, Text{Text: c.Command, Code: true})
	}
	return Block{Detail: true, Text: about, Table: events, Chart: chart}
}

// ProofTally counts the verdicts of a hazard on locks that are not only controls: "fails 3 · survives 9".
func ProofTally(cells []safety.Cell) string {
	var parts []string
	for _, v := range safety.Verdicts {
		n := len((&safety.Report{Cells: cells}).Select(func(c *safety.Cell) bool { return c.Verdict == v && !c.Control }))
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, n))
		}
	}
	return strings.Join(parts, " · ")
}

// prove returns the command that shows what can go wrong with the lock of a cell; empty if it claims nothing.
func prove(c *results.Cell) string {
	p := c.Plan()
	if !c.First().Traits.Exclusive || p.Driver == "" {
		return ""
	}
	driver := p.Driver // the other topologies are proven on one server
	if slices.Contains([]string{"redlock", "replicated", "sentinel"}, p.Topology) {
		driver += "@" + p.Topology
	}
	return "lockbench prove -driver " + driver + " -lock " + p.Lock
}
