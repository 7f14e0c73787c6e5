package safety

import (
	"strings"
	"testing"
)

// TestAgainst: what is an alarm, and what has to be known, by what was known before.
func TestAgainst(t *testing.T) {
	for _, c := range []struct {
		before, now            Verdict
		listed                 bool
		alarm, unknown, mended bool
	}{
		{before: "", now: Fails, listed: true},
		{before: "", now: Fails, alarm: true},
		{before: "", now: NotExercised, unknown: true},
		{before: "", now: NoServer},
		{before: Survives, now: Survives},
		{before: Survives, now: Fails, listed: true, alarm: true},
		{before: Survives, now: Fails, alarm: true},
		{before: Survives, now: Stalled, unknown: true},
		{before: Survives, now: NoServer, unknown: true},
		{before: Survives, now: NotApplicable},
		{before: Fails, now: Fails},
		{before: Fails, now: Survives, mended: true},
		{before: Fails, now: NotExercised, unknown: true},
		{before: NotExercised, now: NotExercised},
		{before: NotExercised, now: Fails, alarm: true},
		{before: NotExercised, now: Fails, listed: true},
		{before: NoServer, now: NoServer},
	} {
		cell := func(v Verdict) Cell {
			return Cell{Hazard: "h", Driver: "d", Lock: "l", Verdict: v, Listed: c.listed}
		}
		now, base := Report{Cells: []Cell{cell(c.now)}}, Report{}
		if c.before != "" {
			base.Cells = []Cell{cell(c.before)}
		}
		now.Against("base.json", &base)
		got := &now.Cells[0]
		if got.Before != c.before || now.Baseline != "base.json" {
			t.Errorf("before: %q of %q", got.Before, now.Baseline)
		}
		if got.Alarm() != c.alarm || got.Unknown() != c.unknown || got.Mended() != c.mended {
			t.Errorf("%q after %q, listed %v: alarm %v, unknown %v, mended %v", c.now, c.before, c.listed, got.Alarm(), got.Unknown(), got.Mended())
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "too early",
		"[]":                        "not a report",
		`{"a":1}`:                   "no schema",
		`{"schema":1,"cells":[]}`:   "no cells",
		`{"schema":2,"cells":[{}]}`: "newer",
		`{"schema":1,"cells":[{"verdict":"good"}]}`: `cells[0].verdict: there is no verdict "good"`,
		`{"schema":"1"}`: "schema",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
