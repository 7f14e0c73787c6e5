package export

// JUnit's XML, which CI servers show as tests: a test case for every threshold of every cell. There is no standard;
// what is written here is what the schemas of Ant and of Jenkins' xUnit plug-in have in common, which all readers take.

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
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
	Time       string          `xml:"time,attr"` // seconds
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Host       string          `xml:"hostname,attr"` // what Ant writes if it does not know; records do not name theirs
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
	Out        *junitText      `xml:"system-out"`
}

// junitText stands in CDATA, so that its lines stay lines in the file.
type junitText struct {
	Text string `xml:",cdata"`
}

// textOf returns text, or no element at all.
func textOf(s string) *junitText {
	if s == "" {
		return nil
	}
	return &junitText{xmlText(s)}
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Skipped *junitSkipped `xml:"skipped"`
	Failure *junitFailure `xml:"failure"`
	Out     *junitText    `xml:"system-out"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

// JUnit writes a comparison. A threshold that is missed fails; one of which nothing can be told is skipped, with the reason;
// the medians, their change and p stand below either, and below those that pass.
func JUnit(w io.Writer, c *compare.Comparison) error {
	suite := junitSuite{
		Name: xmlText(fmt.Sprintf("lockbench compare %s → %s", c.Base.Name, c.Head.Name)),
		Time: "0", Timestamp: lastStart(c), Host: "localhost", Out: textOf(strings.Join(plains(c.Notes), "\n")),
		Properties: []junitProperty{
			{"verdict", string(c.Verdict)},
			{"reasons", strings.Join(reasons(c), ", ")},
			{"alpha", digits(c.Alpha)},
			{"tests", strconv.Itoa(c.Tests)},
			{"base.trials", strconv.Itoa(c.Base.Trials)},
			{"head.trials", strconv.Itoa(c.Head.Trials)},
			{"base.revisions", plain(strings.Join(c.Base.Revisions, ", "))},
			{"head.revisions", plain(strings.Join(c.Head.Revisions, ", "))},
		},
	}
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			if r.Threshold == nil {
				continue
			}
			one := junitCase{
				Class: xmlText(className(cell)), Name: plain(r.Threshold.Text), Time: "0", Out: textOf(details(&r, cell.Notes)),
			}
			switch r.Verdict {
			case compare.Regressed:
				suite.Failures++
				one.Failure = &junitFailure{Message: xmlText(sentence(&r)), Type: string(r.Verdict), Text: one.Out.Text}
				one.Out = nil
			case compare.Inconclusive:
				suite.Skipped++
				one.Skipped = &junitSkipped{plain(fmt.Sprintf("inconclusive (%s): %s", r.Reason, r.Why))}
			}
			suite.Tests++
			suite.Cases = append(suite.Cases, one)
		}
	}
	for _, label := range c.Missing {
		suite.Tests++
		suite.Skipped++
		suite.Cases = append(suite.Cases, junitCase{
			Class: xmlText(className(compare.Cell{Label: label})), Name: "all", Time: "0", Skipped: &junitSkipped{"only in the base, and not compared"},
		})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// details returns the lines that stand below a result.
func details(r *compare.Result, notes []string) string {
	side := func(name string, e stats.Estimate) string {
		text := name + r.Figure.Unit.Format(e.Median)
		if e.Known() {
			text += fmt.Sprintf(" (%s to %s)", r.Figure.Unit.Format(e.Low), r.Figure.Unit.Format(e.High))
		}
		return text + ", " + format.Plural(e.N, "trial")
	}
	lines := []string{side("base    ", r.Change.Base), side("head    ", r.Change.Head)}
	if c := r.Change; !math.IsNaN(c.Ratio) {
		change := "change  " + format.Change(c.Ratio-1)
		if !math.IsNaN(c.Low) && !math.IsNaN(c.High) {
			change += fmt.Sprintf(" (%s to %s)", format.Change(c.Low-1), format.Change(c.High-1))
		}
		lines = append(lines, change)
	}
	if !math.IsNaN(r.P) {
		lines = append(lines, "p       "+format.P(r.P))
	}
	lines = append(lines, "verdict "+string(r.Verdict), sentence(r))
	return strings.Join(append(lines, plains(notes)...), "\n")
}

// className returns the cell, below which CI servers list its thresholds. A full stop would begin a package there.
func className(cell compare.Cell) string {
	if cell.Label == "" {
		return "lockbench"
	}
	return strings.ReplaceAll(plain(cell.Label), ".", "·")
}

// lastStart returns when the youngest trial began, in the form without a zone that the schemas ask for; it is UTC.
func lastStart(c *compare.Comparison) string {
	var last time.Time
	for _, cell := range c.Cells {
		for _, side := range [][]*results.Record{cell.Base, cell.Head} {
			for _, r := range side {
				if r.Started.After(last) {
					last = r.Started
				}
			}
		}
	}
	if last.IsZero() {
		return ""
	}
	return last.UTC().Format("2006-01-02T15:04:05")
}

// xmlText leaves out what XML has no way to write, not even escaped, and the colours of a server's answers.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\ufffe' || r == '\uffff') {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
