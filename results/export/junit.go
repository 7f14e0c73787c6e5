package export

// JUnit's XML, which CI servers show as tests: a test case for every judged result. There is no standard; what is
// written here is what the schemas of Ant and of Jenkins' xUnit plug-in have in common, which all readers take.

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`                // seconds; no case has a time of its own
	Timestamp  string          `xml:"timestamp,attr,omitempty"` // in UTC, without a zone: when the youngest trial began
	Host       string          `xml:"hostname,attr"`            // as Ant writes it if it is not known
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
	Out        *junitText      `xml:"system-out"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Skipped *junitText `xml:"skipped"`
	Failure *junitText `xml:"failure"`
	Out     *junitText `xml:"system-out"`
}

// junitText stands in CDATA, so that its lines stay lines in the file.
type junitText struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// newSuite begins a suite of cases about trials. Properties are names and values in turns.
func newSuite(name string, trials []*results.Record, notes []string, properties ...string) *junitSuite {
	s := &junitSuite{Name: plain(name), Time: "0", Host: "localhost", Out: lines(notes...)}
	if len(trials) > 0 {
		last := slices.MaxFunc(trials, func(a, b *results.Record) int { return a.Started.Compare(b.Started) })
		s.Timestamp = last.Started.UTC().Format("2006-01-02T15:04:05")
	}
	for pair := range slices.Chunk(properties, 2) {
		s.Properties = append(s.Properties, junitProperty{pair[0], plain(pair[1])})
	}
	return s
}

// lines returns a text of those that are not empty, or no element at all.
func lines(list ...string) *junitText {
	list = slices.DeleteFunc(each(list, plain), func(s string) bool { return s == "" })
	if len(list) == 0 {
		return nil
	}
	return &junitText{Text: strings.Join(list, "\n")}
}

// outcome is how a case is taken.
type outcome int

const (
	skipped outcome = iota // nothing can be told
	passed
	failed
)

// outcomes of verdicts.
var outcomes = map[string]outcome{
	string(compare.Passed): passed, string(compare.Unchanged): passed, string(compare.NotWorse): passed,
	string(compare.Improved):  passed,
	string(compare.Regressed): failed, string(compare.Missed): failed, string(compare.Violated): failed,
}

// add adds a case of a class, below which CI servers list it: a cell, or empty if there is only one.
func (s *junitSuite) add(class, name string, o outcome, verdict, message string, details ...string) {
	class = strings.ReplaceAll(plain(class), ".", "·") // a full stop would begin a package
	one := junitCase{Class: cmp.Or(class, "lockbench"), Name: plain(name), Time: "0", Out: lines(details...)}
	switch o {
	case failed:
		s.Failures++
		one.Failure = &junitText{Message: plain(message), Type: verdict}
	case skipped:
		s.Skipped++
		one.Skipped = &junitText{Message: plain(message)}
	case passed:
		one.Out = lines(append([]string{message}, details...)...)
	}
	s.Tests++
	s.Cases = append(s.Cases, one)
}

func (s *junitSuite) write(w io.Writer) error {
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{*s}}, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	return err
}

// JUnitComparison writes a test case for each threshold of each cell.
func JUnitComparison(w io.Writer, c *compare.Comparison) error {
	var trials []*results.Record
	for _, cell := range c.Cells {
		trials = append(append(trials, cell.Base...), cell.Head...)
	}
	s := newSuite("lockbench compare "+c.Base.Name+" → "+c.Head.Name, trials, c.Notes,
		"verdict", string(c.Verdict), "reasons", joined(c.Reasons()),
		"alpha", digits(c.Alpha), "tests", strconv.Itoa(c.Tests),
		"base.trials", strconv.Itoa(c.Base.Trials), "head.trials", strconv.Itoa(c.Head.Trials),
		"base.revisions", joined(c.Base.Revisions), "head.revisions", joined(c.Head.Revisions))
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			if t, text, of := r.Threshold, r.Figure.Unit.Format, r.Change; t != nil {
				change := fmt.Sprintf("%s %s → %s, %s (%s to %s), p %s, threshold %s",
					r.Figure.Name, text(of.Base.Median), text(of.Head.Median), format.Change(of.Ratio-1),
					format.Change(of.Low-1), format.Change(of.High-1), cmp.Or(digits(r.P), format.None), t.Allowed())
				s.add(cell.Label, t.Text, outcomes[string(r.Verdict)], string(r.Verdict),
					because(r.Verdict, r.Reason, change), append([]string{r.Why}, cell.Notes...)...)
			}
		}
	}
	for _, label := range c.Missing {
		s.add(label, "all", skipped, "", compare.Missing.About())
	}
	return s.write(w)
}

// because returns a verdict and why it is so: "inconclusive (too-few): 3 trials a side".
func because[V ~string](verdict V, reason compare.Reason, why string) string {
	text := string(verdict)
	if reason != "" {
		text += " (" + string(reason) + ")"
	}
	return strings.TrimSuffix(text+": "+why, ": ")
}

func joined[T ~string](list []T) string {
	return strings.Join(each(list, func(v T) string { return string(v) }), ", ")
}

// JUnitCheck writes a test case for mutual exclusion and each threshold of each cell of a run.
func JUnitCheck(w io.Writer, c *compare.Check) error {
	var trials []*results.Record
	for _, cell := range c.Cells {
		trials = append(trials, cell.Trials...)
	}
	s := newSuite("lockbench run", trials, nil, "verdict", string(c.Verdict), "reasons", joined(c.Reasons()),
		"trials", strconv.Itoa(len(trials)), "revisions", joined(compare.Revisions(trials)))
	for _, cell := range c.Cells {
		for _, l := range cell.Limits {
			text := because(l.Verdict, l.Reason, l.Sentence())
			s.add(cell.Label, l.Name(), outcomes[string(l.Verdict)], string(l.Verdict), text, cell.Plan().Command)
		}
	}
	for _, label := range c.Missing {
		s.add(label, "all", skipped, "", compare.NotRun.About())
	}
	return s.write(w)
}

// JUnitProof writes a test case for each cell that its hazard applies to, but for those that are only controls. A
// cell that is an alarm fails, and one of which nothing is known is skipped, with the reason, unless that is a change
// to the baseline. A control that is wrong is a failure of its own, and so is what was named and not tested.
func JUnitProof(w io.Writer, r *safety.Report) error {
	s := newSuite("lockbench prove", nil, nil)
	for _, u := range r.Untested() {
		s.add(cmp.Or(u.What, "all"), "tested", failed, string(safety.Invalid), "nothing was tested: "+u.Why)
	}
	controls := map[string]string{}
	for _, h := range r.Hazards {
		controls[h.Name] = h.Control
		if h.Wrong {
			s.add(h.Name, "controls", failed, string(safety.Invalid), h.Control)
		}
	}
	for _, c := range r.Cells {
		o, why := passed, c.Why
		switch {
		case c.Verdict == safety.NotApplicable && !c.Unknown(), c.Control:
			continue
		case c.Alarm(), c.Before != "" && c.Unknown():
			o = failed
		case c.Doubted:
			o, why = skipped, controls[c.Hazard]
		case c.Verdict.Open(), c.Verdict == safety.NoServer:
			o = skipped
		}
		attempts := fmt.Sprintf("failed %d of %d", c.Failed, c.Attempts)
		s.add(c.Hazard, c.Driver+" "+c.Lock, o, string(c.Verdict), why, attempts, c.Command)
	}
	return s.write(w)
}
