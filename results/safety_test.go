package results

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestBreaches: what proves that exclusion was broken, and what bounds how often it was.
func TestBreaches(t *testing.T) {
	power := func(watched int64) *Power { return &Power{Watched: watched} }
	for _, tc := range []struct {
		name     string
		safety   Safety
		breaches int64
		rate     float64 // 0: no bound
	}{
		{"sound", Safety{Checked: true, Grants: 1000, Power: power(300)}, 0, 0.01},
		{"not watched", Safety{Checked: true, Grants: 1_000_000, Power: power(0)}, 0, 0},
		{"hardly watched", Safety{Checked: true, Grants: 1_000_000, Power: power(3)}, 0, 0},
		{"unknown", Safety{Checked: true, Grants: 1_000_000}, 0, 0},
		{"possible", Safety{Checked: true, Grants: 50_000, Possible: 12, Power: power(1000)}, 0, 0},
		{"off", Safety{Power: power(300)}, 0, 0},
		{"violations", Safety{Checked: true, Grants: 1000, Violations: 3, LostUpdates: 9, Power: power(300)}, 3, 0},
		{"lost updates alone", Safety{Checked: true, Grants: 1000, LostUpdates: 4, Power: power(300)}, 4, 0},
		{"lost early", Safety{Checked: true, Grants: 1000, LostEarly: 7, Power: power(300)}, 7, 0},
		{"fences", Safety{Checked: true, Grants: 1000, FenceRegress: 2, Power: power(300)}, 2, 0},
		{"explained", Safety{Checked: true, Grants: 1000, LostEarly: 7, FenceRegress: 2, Explained: "restart", Power: power(300)}, 0, 0.01},
		{"violations, the rest explained", Safety{Checked: true, Grants: 1000, Violations: 1, LostEarly: 7, Explained: "restart"}, 1, 0},
	} {
		r := &Record{Safety: tc.safety}
		rate, ok := r.Figures().MaxRate()
		if n := r.Breaches(); n != tc.breaches || rate != tc.rate || ok != (tc.rate > 0) {
			t.Errorf("%s: %d breaches, bound %v, %v; want %d, %v", tc.name, n, rate, ok, tc.breaches, tc.rate)
		}
		if r.Violated() {
			t.Errorf("%s: violated by a lock that claims nothing", tc.name)
		}
		if r.Traits.Exclusive = true; r.Violated() != (tc.breaches > 0) {
			t.Errorf("%s: violated %v", tc.name, r.Violated())
		}
	}
}

// TestBroken: a wrong release is held against a design that claims to exclude and to be owned, and against no other.
func TestBroken(t *testing.T) {
	s := Safety{Checked: true, Grants: 1000, Violations: 2, WrongReleases: 4}
	for traits, want := range map[Traits]int64{{}: 0, {Exclusive: true}: 2, {Owned: true}: 0, {Exclusive: true, Owned: true}: 4} {
		r := &Record{Traits: traits, Safety: s}
		c := &Cell{Trials: []*Record{r}, Safety: s}
		if r.Broken() != want || c.Broken() != want || r.Violated() != (want > 0) || c.Violated() != (want > 0) {
			t.Errorf("%+v: broken %d times, in the cell %d times; want %d", traits, r.Broken(), c.Broken(), want)
		}
	}
}

// TestSumOfSafety: what is explained in one trial does not excuse another one, and a trial that does not know its power
// adds grants and none of it.
func TestSumOfSafety(t *testing.T) {
	trial := func(s Safety) *Record {
		s.Checked, s.Grants = true, 100
		return &Record{Safety: s}
	}
	known := &Power{Watched: 10, Refusals: 20, Sampled: 3, SampledTime: time.Second}
	sum := sumSafety([]*Record{trial(Safety{Power: known}), trial(Safety{}), trial(Safety{Power: known})})
	if want := (Power{20, 40, 6, 2 * time.Second}); sum.Power == nil || *sum.Power != want || sum.Grants != 300 || known.Watched != 10 {
		t.Errorf("power %+v of %d grants, want %+v", sum.Power, sum.Grants, want)
	}
	if sum := sumSafety([]*Record{trial(Safety{}), trial(Safety{})}); sum.Power != nil {
		t.Errorf("power %+v, want none", sum.Power)
	}
	excused := Safety{LostEarly: 5, Explained: "restart"}
	if sum := sumSafety([]*Record{trial(excused), trial(Safety{})}); sum.LostEarly != 5 || sum.Explained == "" {
		t.Errorf("%+v, want what is explained", sum)
	}
	if sum := sumSafety([]*Record{trial(excused), trial(Safety{LostEarly: 2})}); sum.LostEarly != 2 || sum.Explained != "" {
		t.Errorf("%+v, want the two that nothing explains", sum)
	}
}

// TestBreachesOfCell: no trial excuses another, and wrong releases of an owned lock count in all that is said of a cell.
func TestBreachesOfCell(t *testing.T) {
	for _, tc := range []struct {
		name     string
		trials   []Safety
		breaches int64
		bounded  bool
	}{
		{"wrong releases", []Safety{{WrongReleases: 4}, {}}, 4, false},
		{"other witnesses in each", []Safety{{Violations: 2}, {LostEarly: 3}, {FenceRegress: 1}}, 6, false},
		{"explained in one trial", []Safety{{LostEarly: 5, Explained: "restart"}, {LostEarly: 2}}, 2, false},
		{"sound", []Safety{{}, {}}, 0, true},
	} {
		var recs []*Record
		for i, s := range tc.trials {
			r := sample()
			s.Checked, s.Grants, s.Power = true, 100, &Power{Watched: 50}
			r.Partial = ""
			r.ID, r.Trial, r.Safety = string(rune('a'+i)), i+1, s
			r.Traits.Exclusive, r.Traits.Owned = true, true
			recs = append(recs, r)
		}
		cells, err := Group(recs)
		if err != nil || len(cells) != 1 {
			t.Fatalf("%s: %d cells, %v", tc.name, len(cells), err)
		}
		c := cells[0]
		if _, bound := c.Figures().MaxRate(); c.Breaches() != tc.breaches || c.Broken() != tc.breaches || bound != tc.bounded {
			t.Errorf("%s: %d breaches, bound %v; want %d, %v", tc.name, c.Breaches(), bound, tc.breaches, tc.bounded)
		}
	}
}

// TestPlantedOfOldRecords reads what an old record says of violations that its plan has asked for: they are left out.
func TestPlantedOfOldRecords(t *testing.T) {
	for overstayed, want := range map[int]Safety{5: {}, 3: {Violations: 2, LostUpdates: 4}, 0: {Violations: 5, LostUpdates: 4}} {
		var s Safety
		text := fmt.Sprintf(`{"violations": 5, "lost_updates": 4, "overstayed": %d}`, overstayed)
		if err := json.Unmarshal([]byte(text), &s); err != nil || !reflect.DeepEqual(s, want) {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}
