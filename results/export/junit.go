package export

// JUnit's XML, which CI servers show as tests: a test case for every judged result. There is no standard;
// what is written here is what the schemas of Ant and of Jenkins' xUnit plug-in have in common, which all readers take.

import (
	"encoding/xml"
	"io"
	"strings"
	"time"
	"unicode"
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

// write writes what was judged. Of a case that is skipped it says why; the details stand below every case.
func (j *judged) write(w io.Writer) error {
	suite := junitSuite{Name: xmlText(j.name), Time: "0", Timestamp: timestamp(j.last), Host: "localhost", Out: textOf(strings.Join(each(j.notes, plain), "\n"))}
	for _, p := range j.properties {
		suite.Properties = append(suite.Properties, junitProperty{p[0], plain(p[1])})
	}
	for _, c := range j.cases {
		details := strings.Join(each(c.details, plain), "\n")
		one := junitCase{Class: xmlText(className(c.within)), Name: plain(c.name), Time: "0", Out: textOf(details)}
		switch c.outcome {
		case failed:
			suite.Failures++
			one.Failure = &junitFailure{Message: plain(c.text), Type: c.verdict, Text: xmlText(details)}
			one.Out = nil
		case skipped:
			suite.Skipped++
			one.Skipped = &junitSkipped{plain(c.skip)}
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

// timestamp writes a time in the form without a zone that the schemas ask for; it is UTC.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
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
