package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/report"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockbench/lockbench/results/compare"
)

// onAll has thresholds that pass, miss and are not measured in the cells of checked.
const onAll = "locks/s<8k,acquire.p99>9ms,response.p99>20ms,violations>0"

// checked judges a cell of two trials and one that is missing, one that saturated lockbench, one that ended early and one
// that did not exclude.
func checked(t *testing.T, on string) *compare.Check {
	t.Helper()
	violated := record(4)
	violated.Cell, violated.Plan.Driver, violated.Safety.Violations = 3, "redsync", 2
	partial := record(5)
	partial.Cell, partial.Plan.Driver, partial.Partial = 4, "etcd", "stopped by interrupt"
	var list []compare.Threshold
	if on != "" {
		var err error
		if list, err = compare.ParseThresholds(on); err != nil {
			t.Fatal(err)
		}
	}
	return compare.CheckCells(append(three(t), cells(t, violated, partial)...), list, []string{"postgres"})
}

func reportSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	return compiled(t, results.SchemaID("report"), ReportSchema)
}

func reportOf(t *testing.T, c *compare.Check) any {
	t.Helper()
	return document(t, func(w io.Writer) error { return CheckJSON(w, c) })
}

// TestReportSchemaTakes reports with and without thresholds, of nothing, and with texts of all kinds.
func TestReportSchemaTakes(t *testing.T) {
	s := reportSchemaOf(t)
	all := map[string]*compare.Check{"thresholds": checked(t, onAll), "none": checked(t, ""), "empty": compare.CheckCells(nil, nil, nil)}
	for i, text := range weird {
		r := record(0)
		r.Partial, r.Warnings, r.Generator.Why, r.Plan.Command = text, []string{text}, text, text
		all[fmt.Sprintf("text %d", i)] = compare.CheckCells(cells(t, r), nil, []string{text})
	}
	for name, c := range all {
		if err := s.Validate(reportOf(t, c)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReportSchemaRefusesDamage damages a report that has one figure a cell. What is made of types of records is held to their
// schema.
func TestReportSchemaRefusesDamage(t *testing.T) {
	doc := reportOf(t, checked(t, onAll))
	for _, cell := range doc.(map[string]any)["cells"].([]any) {
		maps.DeleteFunc(cell.(map[string]any)["figures"].(map[string]any), func(name string, _ any) bool { return name != "locks/s" })
	}
	refusesDamage(t, reportSchemaOf(t), doc,
		`^\.verdict$|\.cells\[\d\]\.(verdict|partial|limited_by)$|\.(reason|why|better)$|\.figures\.locks/s$`,
		`\.(plan|server|traits)$|\.exclusion\.(checked|grants|violations|.*_ns|lost_updates|wrong_releases|fence_regress)$`)
}

// TestReportSchemaRefusesNonsense: what has the right type, and is impossible.
func TestReportSchemaRefusesNonsense(t *testing.T) {
	s := reportSchemaOf(t)
	var b bytes.Buffer
	if err := CheckJSON(&b, checked(t, onAll)); err != nil {
		t.Fatal(err)
	}
	refusesNonsense(t, s, b.String(), map[string]string{
		`"schema": 1`: `"schema": 2`, `"verdict": "violated"`: `"verdict": "regressed"`, `"verdict": "missed"`: `"verdict": "worse"`,
		`"reason": "unmeasured"`: `"reason": "scatter"`, `"unit": "1/s"`: `"unit": "s"`, `"n": 2`: `"n": -2`, `"better": "higher"`: `"better": "more"`,
		`"figure": "locks/s"`: `"figure": "speed"`, `"limit": 8000`: `"limit": -8000`,
	})
}

// TestWeirdReport reads back what is made of texts that could break a format.
func TestWeirdReport(t *testing.T) {
	for _, s := range weird {
		r := record(0)
		r.Partial, r.Plan.Command = "x"+s, s
		list, err := compare.ParseThresholds(onAll)
		if err != nil {
			t.Fatal(err)
		}
		c := compare.CheckCells(cells(t, r), list, []string{s})
		var b bytes.Buffer
		if err := JUnit(&b, report.JudgedCheck(c)); err != nil {
			t.Fatal(err)
		}
		var back junitSuites
		if err := xml.Unmarshal(b.Bytes(), &back); err != nil || strings.ContainsAny(b.String(), "\x00\x1b") {
			t.Errorf("%q: %v in %q", s, err, b.String())
		}
		if u := back.Suites[0]; u.Tests != 6 || u.Failures != 1 || u.Skipped != 5 || len(u.Cases) != 6 {
			t.Errorf("%q: %d tests, %d failures, %d skipped", s, u.Tests, u.Failures, u.Skipped)
		}
		b.Reset()
		if err := CheckJSON(&b, c); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// judgedIn returns what was judged of a comparison.
func judgedIn(c *compare.Comparison) *report.Judged {
	return report.Comparison(c, "").Judged
}
