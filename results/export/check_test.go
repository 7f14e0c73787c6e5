package export

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

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
		if err := JUnitCheck(&b, c); err != nil {
			t.Fatal(err)
		}
		var back junitSuites
		if err := xml.Unmarshal(b.Bytes(), &back); err != nil || strings.ContainsAny(b.String(), "\x00\x1b") {
			t.Errorf("%q: %v in %q", s, err, b.String())
		}
		if u := back.Suite; u.Tests != 6 || u.Failures != 1 || u.Skipped != 5 || len(u.Cases) != 6 {
			t.Errorf("%q: %d tests, %d failures, %d skipped", s, u.Tests, u.Failures, u.Skipped)
		}
		b.Reset()
		if err := CheckJSON(&b, c); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
