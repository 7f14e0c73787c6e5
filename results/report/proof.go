package report

// The document of a proof: what can happen to each lock, a matrix of locks and hazards, and hazard by hazard what was seen.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// Proof returns what a report of lockbench prove says.
func Proof(r *safety.Report) *Document {
	answers := proofAnswers(r)
	mark, verdict, each := proofVerdict(r, answers)
	tones := map[safety.Outcome]Tone{safety.Kept: Good, safety.Lost: Bad, safety.Inconclusive: Warn}
	tone := tones[r.Outcome()]
	if mark == "✗" {
		tone = Warn
	}
	d := &Document{Kind: "lockbench prove", Mark: mark, Tone: tone, Title: verdict + "."}
	facts := filled(fact("tested", ended(proofEffort(r, len(answers)))...), fact("changed", ended(proofChanges(r)...)...),
		fact("what to do", ended(proofAdvice(r)...)...))
	matrix := Section{ID: "matrix", Title: "Designs against hazards, which are numbered as below", Blocks: ProofMatrix(r)}
	d.Picture = matrix
	d.mean(append(proofMeans(answers), facts...))
	d.add(At{Short | Verbose | Comment, facts}, At{Short | Verbose | Comment, each}, At{Page, section("locks", "Lock by lock", each)})
	hazards := Section{ID: "hazards", Title: "Hazard by hazard"}
	for i := range r.Hazards {
		hazards.Blocks = append(hazards.Blocks, proofHazard(r, i))
	}
	d.add(At{Page, environment(r.Env)}, At{Short | Verbose | Comment, matrix}, hazards)
	return d
}

// proofMeans says of many locks which to prefer, and what goes wrong most often; of a few the verdict says it.
func proofMeans(answers []proofAnswer) Facts {
	const few, named = 2, 3
	if len(proofMerged(answers)) <= few {
		return nil
	}
	tested := slices.DeleteFunc(slices.Clone(answers), func(a proofAnswer) bool { return a.tested == 0 })
	slices.SortStableFunc(tested, func(a, b proofAnswer) int { return cmp.Compare(len(a.both)*b.tested, len(b.both)*a.tested) })
	var least []string
	for _, a := range tested[:min(len(tested), named)] {
		untested := ""
		if a.admitted > 0 {
			untested = fmt.Sprintf("; admits %d untested", a.admitted)
		}
		least = append(least, fmt.Sprintf("%s %s (%d of %d faults%s)", a.driver, a.lock, len(a.both), a.tested, untested))
	}
	choose := "The fewest ways to two holders: " + format.And(least) + ". They do no harm to a store that checks a fencing token (lockbench help fence)."
	most := func(what string, after func(proofAnswer) []string) string {
		n := map[string]int{}
		for _, a := range answers {
			for _, fault := range after(a) {
				n[fault]++
			}
		}
		faults := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
		for i := range faults {
			faults[i] = fmt.Sprintf("%s (%d)", faults[i], n[faults[i]])
		}
		if len(faults) == 0 {
			return ""
		}
		return what + " most often after " + format.And(faults[:min(len(faults), named)]) + "."
	}
	return filled(fact("choose", choose), fact("risk",
		most("Two holders", func(a proofAnswer) []string { return a.both }), most("Stuck", func(a proofAnswer) []string { return a.stuck })))
}

// ended returns sentences with their full stops.
func ended(texts ...string) (all []string) {
	for _, text := range texts {
		all = append(all, text+".")
	}
	return all
}

// environment says where something was measured.
func environment(e results.Env) Facts {
	machine := ""
	if e.CPUs > 0 {
		machine = view.Machine(e)
	}
	return filled(fact("machine", machine), fact("program", strings.TrimSpace("lockbench "+e.Lockbench)), fact("libraries", view.Libraries(e)))
}

// ProofMatrix returns the matrix of a report, and what its marks mean.
func ProofMatrix(r *safety.Report) []Block {
	t := Table{Caption: "A mark leads to its story", Matrix: true, Columns: []Column{{Title: "design", Left: true}}}
	for i, h := range r.Hazards {
		column := Column{Title: h.Name, Short: strconv.Itoa(h.Number), About: fmt.Sprintf("%d: %s", h.Number, h.About), Link: hazardID(i)}
		if h.Control != "" {
			column.Tone, column.About = Warn, column.About+". "+format.Upper(proofControl(&h))
		}
		t.Columns = append(t.Columns, column)
	}
	told := map[[3]string]string{} // the stories of cells
	for i, c := range r.Cells {
		if len(c.Story) > 0 {
			told[[3]string{c.Hazard, c.Driver, c.Lock}] = cellID(i)
		}
	}
	asked, once := t, ""
	for _, row := range proofRows(r) {
		cells := []Value{{Text: row.Name()}}
		for i, c := range row.Cells {
			if c == nil {
				cells = append(cells, Value{})
				continue
			}
			v := Value{Text: ProofMark(c), Tone: proofLook(c).tone, Link: told[[3]string{c.Hazard, c.Driver, c.Lock}], Once: c.Attempts == 1}
			v.About = fmt.Sprintf("%s, %s: %s", row.Name(), r.Hazards[i].Name, ProofSeen([]*safety.Cell{c}, true))
			if v.Once {
				once = " In a dashed frame: seen in one attempt."
			}
			cells = append(cells, v)
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
		if !row.Control {
			asked.Rows = append(asked.Rows, Row{Cells: cells})
		}
	}
	marks, short := proofMarks+".", proofMarks+"."
	if controls := len(t.Rows) - len(asked.Rows); controls > 0 {
		marks += " A control shows that the hazard happens, and that a lock can survive it."
		short += " -v: and " + format.Plural(controls, "control") + ", which show that a hazard happens, and that a lock can survive it."
	}
	return []Block{At{Short | Comment, asked}, At{Verbose | Page, t},
		At{Short | Comment, Paragraph{Text: short}}, At{Verbose, Paragraph{Text: marks}}, At{Page, Paragraph{Text: marks + once, Note: true}}}
}

func hazardID(i int) string { return "hazard-" + strconv.Itoa(i+1) }
func cellID(i int) string   { return "cell-" + strconv.Itoa(i+1) }

// proofHazard returns all that was seen of a hazard.
func proofHazard(r *safety.Report, at int) Section {
	h := &r.Hazards[at]
	s := Section{ID: hazardID(at), Number: h.Number, Title: h.Name, About: h.About + "."}
	if h.Control != "" {
		s.Blocks = append(s.Blocks, Paragraph{Text: format.Upper(proofControl(h)) + ".", Tone: Bad})
	}
	cells := r.Select(func(c *safety.Cell) bool { return c.Hazard == h.Name })
	s.Blocks = append(s.Blocks, At{Short | Comment | Page, proofGroups(cells, false)}, At{Verbose, proofGroups(cells, true)})
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Hazard == h.Name && len(c.Story) > 0 {
			s.Blocks = append(s.Blocks, At{Page, proofStory(c, cellID(i))})
		}
	}
	return s
}

// proofGroups returns lines about cells, those of which the same is to be said together: all of it, or in short.
func proofGroups(cells []*safety.Cell, whole bool) (lines List) {
	var alike view.Grouped[string, *safety.Cell]
	applies := false
	for _, v := range []safety.Verdict{safety.Fails, safety.Survives, safety.NotExercised, safety.Stalled, safety.Invalid, safety.NoServer, safety.NotApplicable} {
		for _, c := range cells {
			if c.Verdict != v || v == safety.NotApplicable && !c.Listed {
				continue
			}
			applies = applies || v != safety.NotApplicable
			kind := string(v) + " " + proofKind(c)
			if whole {
				kind = ProofSeen([]*safety.Cell{c}, true)
			}
			alike.Add(kind, c)
		}
	}
	for _, kind := range alike.Keys {
		var names []string
		for _, c := range alike.Of[kind] {
			names = append(names, proofName(c))
		}
		list := format.And(names)
		if !whole {
			list = format.Few(names, 6)
		}
		lines = append(lines, Item{Mark: cmp.Or(proofSigns[alike.Of[kind][0].Verdict], "?"), Text: ProofSeen(alike.Of[kind], whole) + " – " + list + "."})
	}
	if !applies {
		lines = append(lines, Item{Mark: "·", Text: "it applies to none of these designs."})
	}
	return lines
}

// proofSigns begin the lines about cells with a verdict; the others are not known.
var proofSigns = map[safety.Verdict]string{safety.Fails: "✗", safety.Survives: "✓", safety.NoServer: "–", safety.NotApplicable: "□"}

// proofStory returns the story of a cell.
func proofStory(c *safety.Cell, id string) Section {
	s := Section{
		ID: id, Title: proofName(c), Folded: true, Within: c.Hazard, Mark: ProofMark(c), Tone: proofLook(c).tone,
		Status: ProofSeen([]*safety.Cell{c}, true),
	}
	var texts []string
	if c.Why != "" {
		texts = append(texts, c.Why+".")
	}
	if c.TTL > 0 {
		texts = append(texts, "The TTL is "+format.Exact(c.TTL)+".")
	}
	if texts != nil {
		s.Blocks = append(s.Blocks, Paragraph{Text: strings.Join(texts, " ")})
	}
	lanes := Lanes{Title: "Who held the key when", From: c.Story[0].At, To: c.Story[len(c.Story)-1].At}
	events := Table{Caption: "The story of one attempt", Columns: []Column{{Title: "at"}, {Title: "client", Left: true}, {Title: "what", Left: true}, {Left: true}}}
	for _, e := range c.Story {
		text := e.Text
		if e.Fence != 0 {
			text = strings.TrimSpace(fmt.Sprintf("fence %d %s", e.Fence, text))
		}
		events.Rows = append(events.Rows, Row{Cells: []Value{{Text: fmt.Sprintf("%.3f ms", float64(e.At)/1e6)}, {Text: e.Client}, {Text: string(e.Kind)}, {Text: text}}})
		if e.Kind == safety.Fault {
			lanes.Moments = append(lanes.Moments, Moment{e.At, "fault: " + text})
		}
	}
	for _, h := range safety.Holds(c.Story) {
		i := slices.IndexFunc(lanes.Lanes, func(l Lane) bool { return l.Name == h.Client })
		if i < 0 {
			i = len(lanes.Lanes)
			lanes.Lanes = append(lanes.Lanes, Lane{Name: h.Client})
		}
		lanes.Lanes[i].Spans = append(lanes.Lanes[i].Spans, Span{h.From, h.To})
	}
	if lanes.Lanes != nil {
		s.Blocks = append(s.Blocks, lanes)
	}
	s.Blocks = append(s.Blocks, events)
	if c.Command != "" {
		s.Blocks = append(s.Blocks, Command(c.Command))
	}
	return s
}

// ProofTally says in a few words what became of the cells of a hazard.
func ProofTally(cells []safety.Cell) string {
	n := map[safety.Verdict]int{}
	for _, c := range cells {
		n[c.Verdict]++
	}
	var parts []string
	for _, v := range safety.Verdicts {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	of := format.Plural(len(cells), "lock")
	if slices.ContainsFunc(cells, func(c safety.Cell) bool { return c.Control }) {
		of += " with controls"
	}
	return of + ": " + strings.Join(parts, ", ")
}
