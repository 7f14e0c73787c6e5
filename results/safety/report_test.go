package safety

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestOutcome: a real failure is never hidden, and nothing tested is no success.
func TestOutcome(t *testing.T) {
	cell := func(hazard, driver, lock string, v Verdict) Cell {
		return Cell{Hazard: hazard, Driver: driver, Lock: lock, Verdict: v, Why: "because", Listed: true}
	}
	unlisted := cell("overrun", "mine", "lock", Fails)
	unlisted.Listed = false
	control := cell("overrun", "rueidis", "set-nx", Fails)
	control.Control = true
	for _, c := range []struct {
		name     string
		asked    Asked
		cells    []Cell
		spoiled  string // the hazard whose control is wrong
		want     Outcome
		untested string
	}{
		{"admitted", Asked{}, []Cell{cell("overrun", "mine", "lock", Fails)}, "", Kept, ""},
		{"not admitted", Asked{}, []Cell{unlisted}, "", Lost, ""},
		{"not admitted, and another control is wrong", Asked{}, []Cell{unlisted, cell("failover", "mine", "lock", Survives)}, "failover", Lost, ""},
		{"its own control is wrong", Asked{}, []Cell{unlisted, cell("failover", "mine", "lock", Survives)}, "overrun", Inconclusive, ""},
		{"not known", Asked{}, []Cell{cell("overrun", "mine", "lock", Survives), cell("failover", "mine", "lock", Stalled)}, "", Inconclusive, ""},
		{"one server is missing", Asked{}, []Cell{cell("overrun", "mine", "lock", Survives), cell("failover", "mine", "lock", NoServer)}, "", Kept, ""},
		{"no server is there", Asked{}, []Cell{cell("overrun", "mine", "lock", NoServer), cell("failover", "mine", "lock", NoServer)}, "", Inconclusive, ": overrun: because"},
		{"no hazard applies", Asked{}, []Cell{cell("overrun", "mine", "lock", NotApplicable)}, "", Inconclusive, ": overrun: because"},
		{"only the controls were tested", Asked{}, []Cell{cell("overrun", "mine", "lock", NoServer), control}, "", Inconclusive, ": overrun: because"},
		{"nothing was made", Asked{}, nil, "", Inconclusive, ": no attempt was made"},

		{"a hazard that was named", Asked{Hazards: []string{"overrun", "failover"}}, []Cell{cell("overrun", "mine", "lock", Survives), cell("failover", "mine", "lock", NoServer)}, "",
			Inconclusive, "failover: failover: because"},
		{"a driver that was named", Asked{Drivers: []string{"mine", "etcd"}}, []Cell{cell("overrun", "mine", "lock", Survives), cell("overrun", "etcd", "lease", NoServer)}, "",
			Inconclusive, "etcd: overrun: because"},
		{"a design of the driver is enough", Asked{Drivers: []string{"mine"}}, []Cell{cell("overrun", "mine", "lock", Survives), cell("overrun", "mine", "other", NotApplicable)}, "", Kept, ""},
		{"a lock that was named", Asked{Locks: []string{"other"}}, []Cell{cell("overrun", "mine", "lock", Survives), cell("overrun", "mine", "other", NotApplicable)}, "",
			Inconclusive, "other: overrun: because"},
		{"a lock that one driver has", Asked{Drivers: []string{"mine", "etcd"}, Locks: []string{"lock"}}, []Cell{cell("overrun", "mine", "lock", Survives)}, "", Kept, ""},
		{"a lock of a driver that was named", Asked{Drivers: []string{"mine", "etcd"}, Locks: []string{"lock"}},
			[]Cell{cell("overrun", "mine", "lock", Survives), cell("overrun", "etcd", "lock", NoServer)}, "", Inconclusive, "etcd lock: overrun: because"},
	} {
		r := Report{Asked: c.asked}
		for _, cell := range c.cells {
			h := Hazard{Name: cell.Hazard}
			if h.Name == c.spoiled {
				h.Control, h.Wrong = "it is wrong", true
			}
			r.Judge(h, []Cell{cell})
		}
		var untested []string
		for _, u := range r.Untested() {
			untested = append(untested, u.What+": "+u.Why)
		}
		if got := strings.Join(untested, "; "); r.Outcome() != c.want || got != c.untested {
			t.Errorf("%s: outcome %v, want %v; untested %q, want %q", c.name, r.Outcome(), c.want, got, c.untested)
		}
	}
}

type notThere struct{}

func (notThere) Error() string   { return "no redis-server; install redis-server" }
func (notThere) Missing() string { return "redis-server" }

// TestNotStarted: a server that is installed and does not start is another thing than one that is not there.
func TestNotStarted(t *testing.T) {
	var c Cell
	if c.NotStarted(fmt.Errorf("redis: %w", notThere{})); c.Verdict != NoServer || c.Missing != "redis-server" {
		t.Errorf("%+v", c)
	}
	c = Cell{}
	if c.NotStarted(errors.New("mkdir /nosuch: no such file or directory")); c.Verdict != NotExercised || !strings.Contains(c.Why, "does not start: mkdir /nosuch") {
		t.Errorf("%+v", c)
	}
}

// TestCoverage counts a hazard by the best that is known of a lock that is not only a control.
func TestCoverage(t *testing.T) {
	var r Report
	for name, v := range map[string]Verdict{"shown": Fails, "open": Stalled, "missing": NoServer, "idle": NotApplicable} {
		r.Judge(Hazard{Name: name}, []Cell{{Hazard: name, Verdict: v}, {Hazard: name, Verdict: Fails, Control: true}})
	}
	r.Judge(Hazard{Name: "wrong", Control: "why", Wrong: true}, []Cell{{Hazard: "wrong", Verdict: Fails}})
	r.Judge(Hazard{Name: "unsure", Control: "why"}, []Cell{{Hazard: "unsure", Verdict: Survives}})
	v := r.Coverage()
	for want, list := range map[string][]string{"shown": v.Shown, "open": v.Open, "missing": v.Missing, "idle": v.Idle, "wrong": v.Wrong, "unsure": v.Unsure} {
		if len(list) != 1 || list[0] != want {
			t.Errorf("%s: %v", want, list)
		}
	}
}
