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
		{before: Survives, now: NotApplicable, unknown: true},
		{before: NotApplicable, now: NotExercised, unknown: true},
		{before: NoServer, now: Stalled, unknown: true},
		{before: NotApplicable, now: NotApplicable},
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

// TestMore: what fails already may not fail more, or in another way.
func TestMore(t *testing.T) {
	for _, c := range []struct {
		before, now Cell
		more        string
	}{
		{Cell{Attempts: 20, Failed: 20}, Cell{Attempts: 20, Failed: 20}, ""},
		{Cell{Attempts: 20, Failed: 5}, Cell{Attempts: 20, Failed: 9}, ""},
		{Cell{Attempts: 20, Failed: 3}, Cell{Attempts: 20, Failed: 16}, "16 of 20 attempts fail, and 3 of 20 did before"},
		{Cell{Attempts: 20, Failed: 16}, Cell{Attempts: 20, Failed: 3}, ""},
		{Cell{Attempts: 6, Failed: 1, Gaps: 6, Tried: 6, LostAt: []int{3}}, Cell{Attempts: 6, Failed: 2, Gaps: 6, Tried: 6, LostAt: []int{3, 4}}, "it fails at gap 5 of 6"},
		{Cell{Attempts: 5, Failed: 1, Gaps: 6, Tried: 5, LostAt: []int{3}}, Cell{Attempts: 6, Failed: 2, Gaps: 6, Tried: 6, LostAt: []int{3, 4}}, ""},
		{Cell{Attempts: 2, Failed: 2}, Cell{Attempts: 2, Failed: 2, Never: true}, "does not come free"},
		{Cell{Attempts: 2, Failed: 2, Never: true}, Cell{Attempts: 2, Failed: 2, Never: true, Longest: 1}, "two clients hold it"},
	} {
		for _, cell := range []*Cell{&c.before, &c.now} {
			cell.Verdict, cell.Listed = Fails, true
		}
		now, base := Report{Cells: []Cell{c.now}}, Report{Cells: []Cell{c.before}}
		now.Against("base.json", &base)
		if got := now.Cells[0]; !strings.Contains(got.More, c.more) || (got.More == "") != (c.more == "") || got.Alarm() != (c.more != "") {
			t.Errorf("%+v after %+v: %q, alarm %v", c.now, c.before, got.More, got.Alarm())
		}
	}
}

// TestDoubtedBaseline: a baseline whose control was wrong silences nothing, not even one that does not say so of its cells.
func TestDoubtedBaseline(t *testing.T) {
	const old = `{"schema":1,"hazards":[{"number":3,"name":"overrun","about":"","control":"wrong"}],
		"cells":[{"hazard":"overrun","driver":"d","lock":"l","verdict":"fails","listed":false}]}`
	base, err := Read(strings.NewReader(old))
	if err != nil {
		t.Fatal(err)
	}
	now := Report{Cells: []Cell{{Hazard: "overrun", Driver: "d", Lock: "l", Verdict: Fails}}}
	if now.Against("base.json", base); !now.Cells[0].Alarm() {
		t.Errorf("%+v", now.Cells[0])
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
