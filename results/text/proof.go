package text

// The report of lockbench prove: designs against hazards, then what was seen of each hazard.

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// proofColors are how the verdict is drawn, by its mark.
var proofColors = map[string]string{"✓": green, "‼": red, "?": yellow}

// Proof writes a report for a terminal: what can happen to each lock, a matrix of locks and hazards, and for each hazard what was
// seen.
func Proof(w io.Writer, r *safety.Report, o Options) error {
	p := planPage(o)
	words := view.ProofWordsOf(r)
	p.para(proofColors[words.Mark], words.Mark+" ", words.Verdict+".")
	for _, line := range slices.Concat([]string{words.Effort}, words.Changes, words.Advice) {
		p.para("", "  ", format.Line(line)+".")
	}
	if len(words.Answers) > 0 {
		p.blank()
	}
	for _, line := range words.Answers {
		p.para("", "", format.Line(line)+".")
	}
	p.blank()
	p.proofMatrix(r)
	for i := range r.Hazards {
		p.blank()
		p.proofHazard(&r.Hazards[i], cellsOf(r, r.Hazards[i].Name))
	}
	return p.writeTo(w)
}

// ProofMatrix writes the matrix of a report alone.
func ProofMatrix(w io.Writer, r *safety.Report, o Options) error {
	p := planPage(o)
	p.proofMatrix(r)
	return p.writeTo(w)
}

func cellsOf(r *safety.Report, hazard string) (cells []safety.Cell) {
	for _, c := range r.Cells {
		if c.Hazard == hazard {
			cells = append(cells, c)
		}
	}
	return cells
}

// markWidth is that of a column of the matrix, which holds a mark or the number of a hazard.
const markWidth = 3

// proofMatrix writes a row a design, and a column a hazard. Columns for which there is no room make another matrix below.
func (p *page) proofMatrix(r *safety.Report) {
	rows := view.ProofRows(r)
	names := 0
	for _, row := range rows {
		names = max(names, wide(format.Clean(row.Name())))
	}
	each := max(1, (p.width-names)/markWidth)
	for from := 0; from < len(r.Hazards); from += each {
		if from > 0 {
			p.blank()
		}
		to := min(from+each, len(r.Hazards))
		head := strings.Repeat(" ", names)
		for _, h := range r.Hazards[from:to] {
			head += fmt.Sprintf("%*d", markWidth, h.Number)
		}
		p.add(bold, head)
		p.add("", strings.Repeat(ruled, wide(head)))
		for _, row := range rows {
			name := format.Clean(row.Name())
			line := name + strings.Repeat(" ", names-wide(name))
			for _, c := range row.Cells[from:to] {
				mark := ""
				if c != nil {
					mark = view.ProofMark(c)
				}
				line += fmt.Sprintf("%*s", markWidth, mark)
			}
			p.add("", strings.TrimRight(line, " "))
		}
	}
	p.para("", "", view.ProofMarks)
}

// proofHazard writes what was seen of a hazard.
func (p *page) proofHazard(h *safety.Hazard, cells []safety.Cell) {
	p.para(bold, fmt.Sprintf("%2d  ", h.Number), h.Name+": "+h.About+".")
	if h.Control != "" {
		p.para(red, "    ", view.ProofControl(h)+".")
	}
	applies := false
	for _, v := range []safety.Verdict{safety.Fails, safety.Survives, safety.NotExercised, safety.Stalled, safety.Invalid, safety.NoServer} {
		for _, g := range proofGroups(cells, v, p.verbose) {
			p.para("", "    ", g)
			applies = true
		}
	}
	for _, g := range proofGroups(slices.DeleteFunc(slices.Clone(cells), func(c safety.Cell) bool { return !c.Listed }), safety.NotApplicable, p.verbose) {
		p.para("", "    ", g)
	}
	if !applies {
		p.para("", "    ", "It applies to none of these designs.")
	}
}

// proofGroups returns lines about cells with a verdict, those of which the same is to be said together: all of it, or in short.
func proofGroups(cells []safety.Cell, v safety.Verdict, whole bool) (lines []string) {
	alike := map[string][]*safety.Cell{}
	var order []string
	for i := range cells {
		c := &cells[i]
		if c.Verdict != v {
			continue
		}
		kind := view.ProofKind(c)
		if whole {
			kind = view.ProofSeen([]*safety.Cell{c}, true)
		}
		if alike[kind] == nil {
			order = append(order, kind)
		}
		alike[kind] = append(alike[kind], c)
	}
	for _, kind := range order {
		var names []string
		for _, c := range alike[kind] {
			names = append(names, c.Driver+" "+c.Lock)
		}
		list := format.And(names)
		if !whole {
			list = format.Few(names, 6)
		}
		lines = append(lines, fmt.Sprintf("%s %s – %s", proofSigns[v], view.ProofSeen(alike[kind], whole), list))
	}
	return lines
}

// proofSigns begin the lines about cells with a verdict.
var proofSigns = map[safety.Verdict]string{safety.Fails: "✗", safety.Survives: "✓", safety.NoServer: "–", safety.NotApplicable: "·",
	safety.NotExercised: "?", safety.Stalled: "?", safety.Invalid: "?",
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
	return strings.Join(parts, ", ")
}
