package export

// JUnit's XML, which CI servers show as tests: a test case for every judged result. There is no standard; what is
// written here is what the schema of Jenkins' xUnit plug-in asks for, which all readers take.

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       int         `xml:"time,attr"` // no case has a time of its own
	Properties []junitPair `xml:"properties>property,omitempty"`
	Cases      []junitCase `xml:"testcase"`
	Out        *junitText  `xml:"system-out"`
}

type junitPair struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    int        `xml:"time,attr"`
	Skipped *junitText `xml:"skipped"` // nothing can be told
	Failure *junitText `xml:"failure"`
	Out     *junitText `xml:"system-out"`
}

// junitText stands in CDATA, so that its lines stay lines in the file.
type junitText struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// outcome is how a case is taken.
type outcome int

const (
	skipped outcome = iota // nothing can be told
	passed
	failed
)

// outcomes are those of verdicts.
var outcomes = map[compare.Verdict]outcome{
	compare.Passed: passed, compare.Unchanged: passed, compare.NotWorse: passed, compare.Improved: passed,
	compare.Regressed: failed, compare.Missed: failed, compare.Violated: failed,
}

// lines returns a text of those that are not empty, or no element at all.
func lines(list ...string) *junitText {
	list = slices.DeleteFunc(each(list, plain), func(s string) bool { return s == "" })
	if len(list) == 0 {
		return nil
	}
	return &junitText{Text: strings.Join(list, "\n")}
}

// add adds a case of a class, below which CI servers list it: a cell, or empty if there is only one.
func (s *junitSuite) add(class, name string, o outcome, verdict, why string, details ...string) {
	class = strings.ReplaceAll(plain(class), ".", "·") // a full stop would begin a package
	one := junitCase{Class: cmp.Or(class, "lockbench"), Name: plain(name), Out: lines(details...)}
	message := strings.Trim(plain(verdict+": "+why), ": ")
	switch o {
	case failed:
		s.Failures++
		one.Failure = &junitText{Message: message, Type: verdict}
	case skipped:
		s.Skipped++
		one.Skipped = &junitText{Message: message}
	case passed:
		one.Out = lines(append([]string{message}, details...)...)
	}
	s.Tests++
	s.Cases = append(s.Cases, one)
}

// write writes the suite, with the verdict of the whole and why it is inconclusive, if it has one.
func (s *junitSuite) write(w io.Writer, v compare.Verdict, reasons []compare.Reason) error {
	s.Name = plain(s.Name)
	if why := each(reasons, func(r compare.Reason) string { return string(r) }); v != "" || len(why) > 0 {
		s.Properties = []junitPair{{"verdict", string(v)}, {"reasons", strings.Join(why, ", ")}}
	}
	text, err := xml.MarshalIndent(junitSuites{Suite: *s}, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	}
	return err
}

// JUnitComparison writes a test case for each threshold of each cell.
func JUnitComparison(w io.Writer, c *compare.Comparison) error {
	s := junitSuite{Name: "lockbench compare " + c.Base.Name + " → " + c.Head.Name, Out: lines(c.Notes...)}
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			if t, text, of := r.Threshold, r.Figure.Unit.Format, r.Change; t != nil {
				change := fmt.Sprintf("%s → %s, %s (%s to %s), p %s", text(of.Base.Median), text(of.Head.Median),
					format.Change(of.Ratio-1), format.Change(of.Low-1), format.Change(of.High-1), cmp.Or(field(r.P), format.None))
				details := append([]string{change}, cell.Notes...)
				s.add(cell.Label, t.Text, outcomes[r.Verdict], string(r.Verdict), r.Why, details...)
			}
		}
	}
	for _, label := range c.Missing {
		s.add(label, "all", skipped, "", compare.Missing.About())
	}
	return s.write(w, c.Verdict, c.Reasons())
}

// JUnitCheck writes a test case for mutual exclusion and each threshold of each cell of a run.
func JUnitCheck(w io.Writer, c *compare.Check) error {
	s := junitSuite{Name: "lockbench run"}
	for _, cell := range c.Cells {
		for _, l := range cell.Limits {
			name := "mutual exclusion"
			if l.Threshold != nil {
				name = l.Threshold.Text
			}
			s.add(cell.Label, name, outcomes[l.Verdict], string(l.Verdict), l.Sentence(), cell.Plan().Command)
		}
	}
	for _, label := range c.Missing {
		s.add(label, "all", skipped, "", compare.NotRun.About())
	}
	return s.write(w, c.Verdict, c.Reasons())
}

// JUnitProof writes a test case for each cell that its hazard applies to, but for those that are only controls. A
// cell that is an alarm fails, and one of which nothing is known is skipped, with the reason, unless that is a change
// to the baseline. A control that is wrong is a failure of its own, and so is what was named and not tested.
func JUnitProof(w io.Writer, r *safety.Report) error {
	s := junitSuite{Name: "lockbench prove"}
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
	return s.write(w, "", nil)
}
