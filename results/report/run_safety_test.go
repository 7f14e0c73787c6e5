package report

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/view"
)

// TestSafetyLine: a bound stands only where something could have been seen, and what was seen is said.
func TestSafetyLine(t *testing.T) {
	power := func(watched, sampled int64) *results.Power {
		return &results.Power{Watched: watched, Sampled: sampled, SampledTime: time.Duration(sampled) * time.Millisecond}
	}
	for _, tc := range []struct {
		name       string
		safety     results.Safety
		want, more string
	}{
		{"bound", results.Safety{Grants: 81_942, Power: power(2310, 2300)}, "0 violations in 81,942 grants, 2,310 watched (< 1.3e-3 each, 95 %)",
			"2,300 holds were made longer, by 1.00 ms on average"},
		{"blind", results.Safety{Grants: 81_942, Power: power(0, 0)}, "none could have been seen: no rival's try was answered while a key was held", ""},
		{"nobody came", results.Safety{Grants: 81_942, Power: power(0, 1)}, "none could have been seen", "1 hold was made longer, by 1.00 ms"},
		{"too few", results.Safety{Grants: 81_942, Power: power(3, 3)}, "only 3 watched: too few", "3 holds"},
		{"unknown", results.Safety{Grants: 81_942}, "how many of them could have shown one is unknown", ""},
		{"violations", results.Safety{Grants: 81_942, Violations: 231, Power: power(2310, 0)}, "231 violations in 81,942 grants, 2,310 watched (0.10 each)", ""},
		{"violations, power unknown", results.Safety{Grants: 1000, Violations: 1}, "1 violation in 1,000 grants (1.0e-3 each)", ""},
		{"lost early", results.Safety{Grants: 1000, LostEarly: 12, Power: power(300, 0)}, "0 violations in 1,000 grants, 300 watched", ""},
	} {
		tc.safety.Checked = true
		c := &results.Cell{Trials: []*results.Record{{Safety: tc.safety}}, Safety: tc.safety}
		line, more := view.SafetyLine(c), powerLine(tc.safety)
		if !strings.Contains(line, tc.want) || !strings.Contains(more, tc.more) {
			t.Errorf("%s: %q, %q; want %q, %q", tc.name, line, more, tc.want, tc.more)
		}
		if _, ok := c.Figures().MaxRate(); strings.Contains(line, "95 %") != ok {
			t.Errorf("%s: %q, though the bound is there: %v", tc.name, line, ok)
		}
	}
}

func witnesses(s results.Safety) string {
	return view.OtherWitnesses(&results.Cell{Trials: []*results.Record{{Safety: s}}, Safety: s})
}

func TestOtherWitnesses(t *testing.T) {
	s := results.Safety{Checked: true, Grants: 10, LostEarly: 1}
	if got, want := witnesses(s), "1 release found the lock gone before its lease can have ended"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.LostEarly, s.Explained = 2, "the server was restarted"
	if got := witnesses(s); !strings.Contains(got, "2 releases found") || !strings.HasSuffix(got, "proves nothing here: the server was restarted") {
		t.Errorf("%q", got)
	}
}

// TestEnded: what the server says of the sessions that it has ended stands in the first line, beside the violations.
func TestEnded(t *testing.T) {
	s := results.Safety{Ended: map[string]int64{"idle": 3}}
	if got, want := witnesses(s), "3 holders had lost the session that the lock belongs to: idle"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.LostUpdates, s.Ended = 2, map[string]int64{"idle": 3, "killed": 1, "shut down": 1}
	if got, want := witnesses(s), "2 lost updates; 5 holders had lost the session that the lock belongs to: idle (3, and 2 other reasons)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
