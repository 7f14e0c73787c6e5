package report_test

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
)

// TestOutage: the server was gone for most of the window. Nothing of it may read as if it were the lock's doing, or
// steady.
func TestOutage(t *testing.T) {
	r := opened(0)
	r.Partial = "the server did not answer at the end"
	r.Plan.Duration, r.Plan.Ops = 0, 100_000
	r.Counts.Errors = map[string]int64{"connect": 7024}
	r.Bound.Little, r.Bound.LittleOpen, r.Bound.InSystem = 0.17, 0.01, 3426
	r.Steady = results.Steady{FirstRate: 96, SecondRate: 0, P: 0.17}
	var out strings.Builder
	if err := Table(&out, group(t, r), draw.Options{Width: 100, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"after " + format.Duration(r.Elapsed) + " of 100,000 operations",
		"BEHIND, what failed or still waited when the window closed is in no latency",
		"unclear: typical second 96.0, then 0, which may be chance (p 0.17)",
		"limited by errors: 7,024 requests failed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}

	r.Steady = results.Steady{P: 0.09}
	out.Reset()
	if err := Table(&out, group(t, r), draw.Options{Width: 100, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "unclear: nothing was granted in half of the seconds or more (p 0.09)") {
		t.Errorf("it says nothing of seconds without a grant:\n%s", text)
	}
}
