package html

// The page of a proof: designs against hazards, and the story of each cell.

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/view"
)

// proven is the page.
type proven struct {
	Title, Mark, Class string
	Marks              string // what they mean
	Once               bool   // a mark is that of one attempt
	Facts              []view.Item
	Hazards            []provenHazard
	Rows               []provenRow
}

func (p proven) title() string { return p.Title }

// provenHazard is all that was seen of one.
type provenHazard struct {
	Number               int
	ID, Name, About, Why string // Why nothing is shown
	Cells                []provenCell
}

// provenRow is a design in the matrix.
type provenRow struct {
	Drivers, Lock string
	Cells         []provenMark
}

// provenMark is a cell in the matrix, which leads to its story.
type provenMark struct{ Link, Mark, Class, Says string }

// provenCell is a cell with its story.
type provenCell struct {
	ID, Hazard, Name, Mark, Class, Verdict, Why, Command string
	Lanes                                                []lane
	Faults                                               []provenFault
	Events                                               []provenEvent
}

// lane is one client of a story, with the times in which it held the key.
type lane struct {
	Client string
	Y      int
	Holds  []heldFor
}

// heldFor is a time as shares of the width.
type heldFor struct{ X, Width string }

// provenFault is where a fault began, as a share of the width.
type provenFault struct{ X, Says string }

type provenEvent struct{ At, Client, Kind, Text string }

// WriteProof writes the page of a report. The same report makes the same bytes. It fails if the report is nil, or with the error of
// w, to which nothing is written until the page is whole.
func WriteProof(w io.Writer, r *safety.Report) error {
	if r == nil {
		return errors.New("html: no report")
	}
	return writePage(w, "proof.html", newProven(r))
}

func newProven(r *safety.Report) proven {
	words := view.ProofWordsOf(r)
	p := proven{Title: format.Line(words.Verdict), Mark: words.Mark, Marks: view.ProofMarks, Class: map[string]string{"✓": "good", "‼": "bad"}[words.Mark]}
	if p.Class == "" {
		p.Class = "warn"
	}
	for _, fact := range []view.Item{
		{Label: "what can happen", Lines: words.Answers},
		{Label: "tested", Lines: []string{words.Effort}},
		{Label: "against " + format.Line(r.Baseline), Lines: words.Changes},
		{Label: "what to do", Lines: words.Advice},
	} {
		if len(fact.Lines) > 0 {
			p.Facts = append(p.Facts, fact)
		}
	}
	if r.Env.CPUs > 0 {
		p.Facts = append(p.Facts, view.Item{Label: "machine", Lines: []string{view.Machine(r.Env)}})
	}
	p.Facts = append(p.Facts, view.Item{Label: "program", Lines: []string{strings.TrimSpace("lockbench " + format.Line(r.Env.Lockbench))}})
	links := map[[3]string]string{}
	for i, h := range r.Hazards {
		one := provenHazard{Number: h.Number, ID: "hazard-" + strconv.Itoa(i+1), Name: format.Line(h.Name), About: format.Line(h.About), Why: format.Line(controlOf(&h))}
		for j := range r.Cells {
			c := &r.Cells[j]
			if c.Hazard != h.Name || len(c.Story) == 0 {
				continue
			}
			cell := provenCellOf(c, fmt.Sprintf("cell-%d", j+1))
			links[[3]string{c.Hazard, c.Driver, c.Lock}] = cell.ID
			one.Cells = append(one.Cells, cell)
		}
		p.Hazards = append(p.Hazards, one)
	}
	for _, row := range view.ProofRows(r) {
		out := provenRow{Drivers: format.Line(strings.Join(row.Drivers, ", ")), Lock: format.Line(row.Lock)}
		for i, c := range row.Cells {
			m := provenMark{}
			if c != nil {
				m = provenMark{
					Link: links[[3]string{c.Hazard, c.Driver, c.Lock}], Mark: view.ProofMark(c), Class: proofClass(c),
					Says: fmt.Sprintf("%s, %s: %s", format.Line(row.Name()), format.Line(r.Hazards[i].Name), format.Line(view.ProofSeen([]*safety.Cell{c}, true))),
				}
				if c.Attempts == 1 {
					p.Once = true
					m.Class += " once"
					m.Says += ", in 1 attempt"
				}
			}
			out.Cells = append(out.Cells, m)
		}
		p.Rows = append(p.Rows, out)
	}
	return p
}

// controlOf returns why a hazard shows nothing; empty if it does.
func controlOf(h *safety.Hazard) string {
	if h.Control == "" {
		return ""
	}
	return format.Upper(view.ProofControl(h))
}

// proofClass returns how a cell is drawn.
func proofClass(c *safety.Cell) string {
	switch {
	case c.Doubted:
		return "warn"
	case c.Alarm(), c.Unlisted():
		return "bad alarm"
	case c.Verdict == safety.Fails:
		return "bad"
	case c.Verdict == safety.Survives:
		return "good"
	case c.Verdict.Open():
		return "warn"
	}
	return "same"
}

const (
	laneHeight = 22 // pixels
	lanesLeft  = 6  // per cent of the width, for the names
)

func provenCellOf(c *safety.Cell, id string) provenCell {
	out := provenCell{
		ID: id, Hazard: format.Line(c.Hazard), Name: format.Line(c.Driver + " " + c.Lock), Mark: view.ProofMark(c), Class: proofClass(c), Verdict: view.ProofSeen([]*safety.Cell{c}, true),
		Why: format.Line(c.Why), Command: format.Line(c.Command),
	}
	first := c.Story[0].At
	share := func(t time.Duration) float64 {
		return min(1, max(0, float64(t)/float64(max(1, c.Story[len(c.Story)-1].At-first))))
	}
	place := func(at time.Duration) string {
		return strconv.FormatFloat(lanesLeft+(100-lanesLeft)*share(at-first), 'f', 2, 64) + "%"
	}
	width := func(length time.Duration) string {
		return strconv.FormatFloat((100-lanesLeft)*max(0.002, share(length)), 'f', 2, 64) + "%"
	}
	for _, e := range c.Story {
		text := e.Text
		if e.Fence != 0 {
			text = strings.TrimSpace(fmt.Sprintf("fence %d %s", e.Fence, text))
		}
		out.Events = append(out.Events, provenEvent{fmt.Sprintf("%.3f ms", float64(e.At)/1e6), format.Line(e.Client), string(e.Kind), format.Line(text)})
		if e.Kind == safety.Fault {
			out.Faults = append(out.Faults, provenFault{place(e.At), "fault: " + format.Line(text)})
		}
	}
	for _, h := range safety.Holds(c.Story) {
		i := slices.IndexFunc(out.Lanes, func(l lane) bool { return l.Client == format.Line(h.Client) })
		if i < 0 {
			i = len(out.Lanes)
			out.Lanes = append(out.Lanes, lane{Client: format.Line(h.Client), Y: i * laneHeight})
		}
		out.Lanes[i].Holds = append(out.Lanes[i].Holds, heldFor{place(h.From), width(h.To - h.From)})
	}
	return out
}

// Height returns that of the lanes in pixels.
func (c provenCell) Height() int { return len(c.Lanes) * laneHeight }
