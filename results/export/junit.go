package export

// JUnit's XML, which CI servers show as tests: a test case for every judged result. There is no standard;
// what is written here is what the schemas of Ant and of Jenkins' xUnit plug-in have in common, which all readers take.

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
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
	var trials []*results.Record
	for _, cell := range c.Cells {
		trials = slices.Concat(trials, cell.Base, cell.Head)
	}
	cases := judgedOf(c)
	for _, label := range c.Missing {
		cases = append(cases, judged{cell: label, name: "all", outcome: skipped, skip: "only in the base, and not compared"})
	}
	return writeJUnit(w, junitSuite{
		Name: fmt.Sprintf("lockbench compare %s → %s", c.Base.Name, c.Head.Name), Timestamp: lastStart(trials), Out: textOf(strings.Join(plains(c.Notes), "\n")),
		Properties: []junitProperty{
			{"verdict", string(c.Verdict)},
			{"reasons", strings.Join(words(c.Reasons()), ", ")},
			{"alpha", digits(c.Alpha)},
			{"tests", strconv.Itoa(c.Tests)},
			{"base.trials", strconv.Itoa(c.Base.Trials)},
			{"head.trials", strconv.Itoa(c.Head.Trials)},
			{"base.revisions", plain(strings.Join(c.Base.Revisions, ", "))},
			{"head.revisions", plain(strings.Join(c.Head.Revisions, ", "))},
		},
	}, cases)
}

// writeJUnit writes a suite with a test case for each judged result.
func writeJUnit(w io.Writer, suite junitSuite, list []judged) error {
	suite.Name, suite.Time, suite.Host = xmlText(suite.Name), "0", "localhost"
	for _, j := range list {
		one := junitCase{Class: xmlText(className(j.cell)), Name: plain(j.name), Time: "0", Out: textOf(strings.Join(j.details, "\n"))}
		switch j.outcome {
		case failed:
			suite.Failures++
			one.Failure = &junitFailure{Message: xmlText(j.message), Type: j.verdict, Text: xmlText(strings.Join(j.details, "\n"))}
			one.Out = nil
		case skipped:
			suite.Skipped++
			one.Skipped = &junitSkipped{plain(j.skip)}
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, one)
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

// className returns the cell, below which CI servers list its thresholds. A full stop would begin a package there.
func className(label string) string {
	if label == "" {
		return "lockbench"
	}
	return strings.ReplaceAll(plain(label), ".", "·")
}

// lastStart returns when the youngest trial began, in the form without a zone that the schemas ask for; it is UTC.
func lastStart(trials []*results.Record) string {
	var last time.Time
	for _, r := range trials {
		if r.Started.After(last) {
			last = r.Started
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
