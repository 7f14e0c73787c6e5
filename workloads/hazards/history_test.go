package hazards

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/safety"
)

// told returns a history with an event each millisecond: "A+" is a grant to A, "A-" its release, "A!" its death.
func told(words ...string) (events []safety.Event) {
	kinds := map[byte]safety.Kind{'+': safety.Granted, '-': safety.Lets, '!': safety.Dies, '?': safety.Asks, 'x': safety.Refused, '=': safety.Released, '/': safety.NotThere}
	for i, w := range words {
		events = append(events, safety.Event{At: time.Duration(i) * time.Millisecond, Client: w[:1], Kind: kinds[w[1]]})
	}
	return events
}

func TestJudges(t *testing.T) {
	for _, c := range []struct {
		name    string
		events  []safety.Event
		overlap time.Duration // of A and B
		lost    int
	}{
		{"one after the other", told("A+", "A-", "B+", "B-"), 0, 0},
		{"refusals", told("A?", "A+", "B?", "Bx", "A-"), 0, 0},
		{"both", told("A+", "B+", "A-", "B-"), time.Millisecond, 1},
		{"one inside the other", told("A+", "B+", "B-", "A-"), time.Millisecond, 1},
		{"one never lets go", told("A+", "B+", "B-", "C?"), time.Millisecond, 0},
		{"a dead holder", told("A+", "A!", "B+", "B-"), 0, 0},
		{"again by its holder", told("A+", "A+", "A-", "B+", "B-"), 0, 0},
		{"twice", told("A+", "A-", "A+", "B+", "A-", "B-"), time.Millisecond, 1},
		{"others alone", told("B+", "C+", "B-", "C-", "A+", "A-"), 0, 1},
	} {
		if got := between(overlaps(c.events), "A", "B"); got != c.overlap {
			t.Errorf("%s: A and B overlap for %v, want %v", c.name, got, c.overlap)
		}
		if got := lostUpdates(c.events); got != c.lost {
			t.Errorf("%s: %d updates lost, want %d", c.name, got, c.lost)
		}
		if why := disagreement(c.events); why != "" {
			t.Errorf("%s: the judges disagree: %s", c.name, why)
		}
	}
	if got := overlaps(told("A+", "B+", "C+", "A-", "B-", "C-")); len(got) != 3 {
		t.Errorf("three at once are %d pairs", len(got))
	}
}

// TestFenceRegress: a token has to be higher than those of the grants that were answered before it was asked for, and of no others.
func TestFenceRegress(t *testing.T) {
	asks := func(client string) safety.Event { return safety.Event{Client: client, Kind: safety.Asks} }
	granted := func(client string, fence uint64) safety.Event {
		return safety.Event{Client: client, Kind: safety.Granted, Fence: fence}
	}
	for _, c := range []struct {
		name   string
		events []safety.Event
		want   string
	}{
		{"grows", []safety.Event{asks("A"), granted("A", 5), asks("B"), granted("B", 6)}, ""},
		{"repeats", []safety.Event{asks("A"), granted("A", 5), asks("B"), granted("B", 5)}, "B has the fencing token 5, and A had 5 before"},
		{"falls", []safety.Event{asks("A"), granted("A", 5), asks("B"), granted("B", 4)}, "B has the fencing token 4, and A had 5 before"},
		{"falls below the first", []safety.Event{asks("A"), granted("A", 5), asks("B"), granted("B", 6), asks("A"), granted("A", 3)}, "A has the fencing token 3, and A had 5 before"},
		{"is missing", []safety.Event{asks("A"), granted("A", 0), asks("B"), granted("B", 0)}, "B has the fencing token 0, and A had 0 before"},
		{"is answered late", []safety.Event{asks("A"), asks("B"), granted("B", 6), granted("A", 5)}, ""},
		{"is of one grant", []safety.Event{asks("A"), granted("A", 0)}, ""},
	} {
		for i := range c.events {
			c.events[i].At = time.Duration(i)
		}
		if got := fenceRegress(c.events); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBlindedJudge blinds each judge in turn. The counter may see less than the others, but not more.
func TestBlindedJudge(t *testing.T) {
	apart, both := told("A+", "A-", "B+", "B-"), told("A+", "B+", "A-", "B-")
	for _, c := range []struct {
		name     string
		events   []safety.Event
		blind    func(both *bool, lost *int, linear *bool)
		disagree bool
	}{
		{"no overlap is seen", both, func(both *bool, _ *int, _ *bool) { *both = false }, true},
		{"an overlap is seen that is none", apart, func(both *bool, _ *int, _ *bool) { *both = true }, true},
		{"any order is explained", both, func(_ *bool, _ *int, linear *bool) { *linear = true }, true},
		{"no order is explained", apart, func(_ *bool, _ *int, linear *bool) { *linear = false }, true},
		{"an update is lost that was not", apart, func(_ *bool, lost *int, _ *bool) { *lost = 1 }, true},
		{"no update is lost", both, func(_ *bool, lost *int, _ *bool) { *lost = 0 }, false},
		{"only the counter sees", both, func(both *bool, _ *int, linear *bool) { *both, *linear = false, true }, true},
	} {
		overlap, lost, linear := len(overlaps(c.events)) > 0, lostUpdates(c.events), linearizable(c.events)
		c.blind(&overlap, &lost, &linear)
		if why := contradiction(overlap, lost, linear); (why != "") != c.disagree {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// TestInvalid: one attempt in which the judges disagree makes a cell invalid, whatever the others show.
func TestInvalid(t *testing.T) {
	disagree, fails, survives := safety.Attempt{Left: safety.Invalid, Why: "they disagree"}, safety.Attempt{Failure: "lost"}, safety.Attempt{}
	for _, attempts := range [][]safety.Attempt{
		{disagree}, {disagree, fails}, {fails, disagree}, {survives, disagree}, {disagree, survives, fails},
		{disagree, {Left: safety.Stalled, Why: "slow"}}, {survives, disagree, {Left: safety.NotExercised}},
	} {
		var c safety.Cell
		for _, a := range attempts {
			c.Take(a)
		}
		if judge(&c); c.Verdict != safety.Invalid || c.Why != "they disagree" || !c.Verdict.Open() {
			t.Errorf("%+v: %s: %s", attempts, c.Verdict, c.Why)
		}
	}
}

// TestRound has attempts that are ready for a fault one after another, and one that is over before.
func TestRound(t *testing.T) {
	strikes, struck := 0, time.Time{}
	r := newRound(3, func(keys []string) (string, error) {
		struck = time.Now()
		if len(keys) != 2 {
			t.Errorf("keys %q", keys)
		}
		strikes++
		return "struck", nil
	})
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			began, text, err := r.wait("key")
			if err != nil || began.IsZero() || began.After(struck) {
				t.Errorf("began at %v, struck at %v: %v", began, struck, err)
			}
			answers <- text
			r.leave()
		}()
	}
	select {
	case <-answers:
		t.Error("the fault did not wait for the third")
	default:
	}
	r.leave()
	if got := []string{<-answers, <-answers}; !slices.Equal(got, []string{"struck", "struck"}) || strikes != 1 {
		t.Errorf("%q after %d strikes", got, strikes)
	}
}

// TestNobodyIsReady has attempts that are all over before a fault: it does not strike.
func TestNobodyIsReady(t *testing.T) {
	r := newRound(2, func([]string) (string, error) {
		t.Error("it has struck")
		return "", nil
	})
	r.leave()
	r.leave()
}
