package export

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/safety"
)

// TestProofJUnit: an alarm and a wrong control fail, and nothing is known of what the control is for.
func TestProofJUnit(t *testing.T) {
	var r safety.Report
	r.Asked.Hazards = []string{"overrun", "failover", "pooler"}
	r.Judge(safety.Hazard{Name: "overrun"}, []safety.Cell{
		{Hazard: "overrun", Driver: "mine", Lock: "lock", Verdict: safety.Fails, Why: "both held it", Attempts: 2, Failed: 2},
		{Hazard: "overrun", Driver: "rueidis", Lock: "set-nx", Verdict: safety.Fails, Control: true},
	})
	r.Judge(safety.Hazard{Name: "failover", Control: "rueidis set-nx has to fail it", Wrong: true}, []safety.Cell{
		{Hazard: "failover", Driver: "mine", Lock: "lock", Verdict: safety.Fails},
	})
	r.Judge(safety.Hazard{Name: "pooler"}, []safety.Cell{{Hazard: "pooler", Driver: "mine", Lock: "lock", Verdict: safety.NotApplicable, Why: "it has no server"}})
	var b bytes.Buffer
	if err := JUnitProof(&b, &r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tests="5" failures="4" errors="0" skipped="1"`,
		`<failure message="fails: both held it" type="fails">`,
		`<failure message="invalid: rueidis set-nx has to fail it" type="invalid">`,
		`<failure message="invalid: nothing was tested: pooler: it has no server" type="invalid">`,
		`<skipped message="fails: rueidis set-nx has to fail it">`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, &b)
		}
	}
}
