package hazards

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/memory"
	"github.com/lockbench/lockbench/results/safety"
)

// planted is a lock in this process with a lease, which any client can release: unless it is told to check the owner.
type planted struct{ checks, endless bool }

func (p planted) Designs() []drivers.Design {
	return []drivers.Design{{Name: "lock", Traits: drivers.Traits{Exclusive: true, Owned: p.checks, Expires: !p.endless}}}
}

func (p planted) Open(context.Context, drivers.Config) (drivers.Service, error) {
	return &plantedService{planted: p, held: map[string]plantedHold{}}, nil
}

type plantedHold struct {
	owner string
	ends  time.Time
}

type plantedService struct {
	planted
	mu     sync.Mutex
	held   map[string]plantedHold
	owners int
}

func (s *plantedService) Session(context.Context, int) (drivers.Session, error) { return s, nil }
func (s *plantedService) Traits() drivers.Traits                                { return s.Designs()[0].Traits }
func (s *plantedService) Close() error                                          { return nil }

func (s *plantedService) Try(_ context.Context, l *drivers.Lease) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners++
	l.Owner = fmt.Sprint(s.owners)
	if time.Now().Before(s.held[l.Key].ends) {
		return false, nil
	}
	lease := l.TTL
	if s.endless {
		lease = time.Hour
	}
	s.held[l.Key] = plantedHold{l.Owner, time.Now().Add(lease)}
	return true, nil
}

func (s *plantedService) Release(_ context.Context, l *drivers.Lease) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.held[l.Key]
	if !ok || s.checks && h.owner != l.Owner {
		return false, nil
	}
	delete(s.held, l.Key)
	return true, nil
}

func init() {
	drivers.Register("planted-careless", planted{})
	drivers.Register("planted-careful", planted{checks: true})
	drivers.Register("planted-endless", planted{checks: true, endless: true})
}

func lockOf(t *testing.T, driver string) Lock {
	t.Helper()
	d, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	return Lock{Driver: driver, Design: d.Designs()[0]}
}

func hazardOf(t *testing.T, name string) *Hazard {
	t.Helper()
	for _, h := range All() {
		if string(h.Name) == name {
			return &h
		}
	}
	t.Fatalf("there is no hazard %q", name)
	return nil
}

// TestFaultBegan: a story tells of a fault when it began, and not when there was evidence of it.
func TestFaultBegan(t *testing.T) {
	cell := Run(t.Context(), hazardOf(t, "overrun"), []Lock{lockOf(t, "planted-careful")}, nowhere{}, Options{Attempts: 1})[0]
	at := func(kind safety.Kind) time.Duration {
		i := slices.IndexFunc(cell.Story, func(e safety.Event) bool { return e.Kind == kind })
		if i < 0 {
			t.Fatalf("%s is not in %+v", kind, cell.Story)
		}
		return cell.Story[i].At
	}
	if lease := at(safety.Fault) - at(safety.Granted); lease != cell.TTL {
		t.Errorf("the lease of %v was over after %v", cell.TTL, lease)
	}
}

// nowhere has no server.
type nowhere struct{}

func (nowhere) Shared(context.Context, string, Kind) (Server, error) {
	return nil, notHere{}
}
func (nowhere) Own(context.Context, string, Kind) (Server, error) {
	return nil, notHere{}
}

type notHere struct{}

func (notHere) Error() string   { return "install it" }
func (notHere) Missing() string { return "it" }

// TestVerdicts holds locks in this process against hazards that need no server.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		hazard, driver string
		want           safety.Verdict
	}{
		{"overrun", "planted-careful", safety.Fails},
		{"overrun", "memory", safety.Fails},
		{"overrun", "null", safety.NotApplicable},
		{"wrong-release-chain", "planted-careless", safety.Fails},
		{"wrong-release-chain", "planted-careful", safety.Survives},
		{"wrong-release-chain", "memory", safety.Survives},
		{"unlock-after-refusal", "planted-careless", safety.Fails},
		{"unlock-after-refusal", "planted-careful", safety.Survives},
		{"unlock-after-refusal", "memory", safety.Survives},
		{"reentry-no-extend", "memory", safety.NotApplicable},
		{"connection-cut", "memory", safety.NotApplicable},
	} {
		t.Run(c.hazard+" "+c.driver, func(t *testing.T) {
			t.Parallel()
			h := hazardOf(t, c.hazard)
			var got safety.Cell
			for range 5 { // a machine that stalls for longer than a lease proves nothing
				if got = Run(t.Context(), h, []Lock{lockOf(t, c.driver)}, nowhere{}, Options{Attempts: 2})[0]; got.Verdict != safety.Stalled {
					break
				}
			}
			if got.Verdict != c.want {
				t.Fatalf("%s: %s", got.Verdict, got.Why)
			}
			switch got.Verdict {
			case safety.Fails:
				if got.Failed == 0 || got.Longest <= 0 || got.Why == "" || !slices.ContainsFunc(got.Story, func(e safety.Event) bool { return e.Kind == safety.Finding }) {
					t.Errorf("%+v", got)
				}
			case safety.Survives:
				if got.Failed != 0 || got.Attempts != 2 || got.Bound != safety.Bound(2) {
					t.Errorf("%+v", got)
				}
			}
		})
	}
}

// TestNoServer: a lock whose server is not here is said to be that.
func TestNoServer(t *testing.T) {
	h := *hazardOf(t, "overrun")
	g := group{ctx: t.Context(), hazard: &h, place: place{service: "redis"}, options: Options{Attempts: 1}, until: time.Now().Add(time.Hour)}
	var c safety.Cell
	g.members = []*member{{lock: lockOf(t, "memory"), cell: &c}}
	g.run(nowhere{})
	if c.Verdict != safety.NoServer || c.Why != "install it" || c.Missing != "it" {
		t.Errorf("%s: %s", c.Verdict, c.Why)
	}
}

// TestWants: one attempt that counts is made at each gap whatever time that takes, and then no more than there is time for.
func TestWants(t *testing.T) {
	counts, stalls, other := safety.Attempt{}, safety.Attempt{Left: safety.Stalled}, safety.Attempt{Left: safety.NotExercised}
	none := safety.Attempt{Left: safety.NotApplicable}
	gaps := func(a safety.Attempt) safety.Attempt { a.Gaps = 3; return a }
	for _, c := range []struct {
		name        string
		attempts    []safety.Attempt // what becomes of one after the other, and the last of all others
		left, round time.Duration
		explicit    int
		each        time.Duration
		want        []int // their numbers
	}{
		{"no time", []safety.Attempt{counts}, -time.Hour, 0, 0, time.Second, []int{0}},
		{"no time for another round", []safety.Attempt{counts}, time.Hour, 2 * time.Hour, 0, time.Second, []int{0}},
		{"as many as it is told", []safety.Attempt{counts}, time.Hour, 0, 3, time.Second, []int{0, 1, 2}},
		{"no time, one for each gap", []safety.Attempt{gaps(counts)}, -time.Hour, 0, 0, time.Second, []int{0, 1, 2}},
		{"no time, fewer than gaps", []safety.Attempt{gaps(counts)}, -time.Hour, 0, 2, time.Second, []int{0, 1}},
		{"gaps of an attempt that does not count", []safety.Attempt{gaps(other), counts}, -time.Hour, 0, 0, time.Second, []int{0, 0, 1, 2}},
		{"stalls", []safety.Attempt{gaps(stalls)}, -time.Hour, 0, 0, time.Hour, []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}},
		{"stalls for too long", []safety.Attempt{gaps(stalls)}, -time.Hour, 0, 0, time.Second, []int{0, 1, 2}},
		{"does not strike", []safety.Attempt{gaps(other)}, -time.Hour, 0, 0, time.Second, []int{0, 0, 1, 1, 2, 2}},
		{"does not strike at one gap, with time", []safety.Attempt{gaps(counts), other, other, other, other, other, counts}, time.Hour, 0, 3, time.Second, []int{0, 1, 1, 1, 1, 1, 2}},
		{"does not apply", []safety.Attempt{none}, time.Hour, 0, 0, time.Second, []int{0}},
	} {
		g := group{ctx: t.Context(), hazard: &Hazard{}, until: time.Now().Add(c.left), round: c.round, options: Options{Attempts: c.explicit, Each: c.each}}
		m := &member{cell: &safety.Cell{}}
		var got []int
		for g.wants(m) {
			a := c.attempts[min(len(got), len(c.attempts)-1)]
			a.Number = m.made
			got = append(got, a.Number)
			m.take(a)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestJudgeByGap: a cell survives only if an attempt counts at each gap that was tried, and it fails by one at any of them.
func TestJudgeByGap(t *testing.T) {
	at := func(number int, left safety.Verdict, failure string) safety.Attempt {
		return safety.Attempt{Number: number, Left: left, Why: "why", Failure: failure, Gaps: 3}
	}
	for _, c := range []struct {
		name     string
		attempts []safety.Attempt
		want     safety.Verdict
		why      string
		tried    int
	}{
		{"all", []safety.Attempt{at(0, "", ""), at(1, "", ""), at(2, "", "")}, safety.Survives, "", 3},
		{"the second time", []safety.Attempt{at(0, "", ""), at(1, safety.Stalled, ""), at(1, "", ""), at(5, "", "")}, safety.Survives, "", 3},
		{"one is left", []safety.Attempt{at(0, "", ""), at(1, safety.NotExercised, ""), at(4, safety.NotExercised, ""), at(2, "", "")},
			safety.NotExercised, "no attempt counts at gap 2 of 3: why", 2},
		{"two are left", []safety.Attempt{at(0, safety.Stalled, ""), at(1, safety.Stalled, ""), at(2, "", "")},
			safety.Stalled, "no attempt counts at gaps 1 and 2 of 3: why", 1},
		{"one is left, and one fails", []safety.Attempt{at(0, "", ""), at(1, safety.NotExercised, ""), at(2, "", "failed")}, safety.Fails, "failed", 2},
		{"fewer gaps of every other one", []safety.Attempt{at(0, "", ""), {Number: 1, Gaps: 2}, at(2, "", ""), {Number: 3, Gaps: 2}}, safety.Survives, "", 3},
		{"as many as were wanted", []safety.Attempt{at(0, "", "")}, safety.Survives, "1 of 3 gaps were tried", 1},
	} {
		var cell safety.Cell
		for _, a := range c.attempts {
			cell.Take(a)
		}
		if judge(&cell); cell.Verdict != c.want || cell.Why != c.why || cell.Tried != c.tried {
			t.Errorf("%s: %s: %s, %d gaps tried", c.name, cell.Verdict, cell.Why, cell.Tried)
		}
	}
}

// TestFailureBeforeStall: what a lock has lost before an attempt ended too soon counts.
func TestFailureBeforeStall(t *testing.T) {
	for _, left := range []safety.Verdict{safety.Stalled, safety.NotExercised} {
		h := Hazard{Tell: func(s *Stage) {
			s.Fail("lost")
			s.leave(left, "later")
		}}
		g := group{ctx: t.Context(), hazard: &h}
		if a := g.tell(&member{lock: lockOf(t, "memory")}, nil); a.Left != "" || a.Failure != "lost" {
			t.Errorf("%s: left %q, failure %q", left, a.Left, a.Failure)
		}
	}
}

// TestNames: a hazard has a number and a name of its own, and its controls are written as locks are.
func TestNames(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	lock := regexp.MustCompile(`^[a-z-]+(@[a-z]+)? [a-z-]+$`)
	seen := map[any]bool{}
	for _, h := range All() {
		if seen[h.Name] || seen[h.Number] || !name.MatchString(string(h.Name)) || h.Number < 1 || h.Tells() == "" || h.Applies == nil || h.Tell == nil {
			t.Errorf("hazard %d %q", h.Number, h.Name)
		}
		seen[h.Name], seen[h.Number] = true, true
		for _, l := range slices.Concat(h.Fails, h.Sound) {
			if !lock.MatchString(l) {
				t.Errorf("%s: control %q", h.Name, l)
			}
		}
	}
}

// TestControl: a control that is not as it has to be is said, one of which nothing is known spoils its kind unless another is right, and
// one whose server is not here is none.
func TestControl(t *testing.T) {
	h := &Hazard{Fails: []string{"d bad", "d worse"}, Sound: []string{"d good"}}
	cell := func(lock string, v safety.Verdict) safety.Cell {
		return safety.Cell{Driver: "d", Lock: lock, Verdict: v, Why: "install it"}
	}
	for _, c := range []struct {
		cells []safety.Cell
		why   string
		wrong bool
	}{
		{[]safety.Cell{cell("bad", safety.Fails), cell("good", safety.Survives), cell("other", safety.Fails)}, "", false},
		{[]safety.Cell{cell("bad", safety.Survives), cell("good", safety.Survives)}, "d bad has to fail, and survives: install it", true},
		{[]safety.Cell{cell("bad", safety.Fails), cell("good", safety.Fails)}, "d good has to survive, and fails: install it", true},
		{[]safety.Cell{cell("bad", safety.Fails), cell("worse", safety.Survives), cell("good", safety.Survives)}, "d worse has to fail", true},
		{[]safety.Cell{cell("bad", safety.Fails), cell("good", safety.NotApplicable)}, "d good has to survive", true},
		{[]safety.Cell{cell("bad", safety.Fails), cell("good", safety.NotExercised)}, "d good has to survive", false},
		{[]safety.Cell{cell("bad", safety.Stalled), cell("worse", safety.Fails), cell("good", safety.Survives)}, "", false},
		{[]safety.Cell{cell("bad", safety.Fails), cell("good", safety.NoServer)}, "", false},
		{[]safety.Cell{cell("bad", safety.NoServer), cell("good", safety.NoServer)}, "none of its controls is here: install it", false},
	} {
		if why, wrong := Control(h, c.cells); !strings.HasPrefix(why, c.why) || (why == "") != (c.why == "") || wrong != c.wrong {
			t.Errorf("%+v: %q, %v", c.cells, why, wrong)
		}
	}
}

// TestGaps: each gap is tried once, and what it says names it.
func TestGaps(t *testing.T) {
	seen := map[string]bool{}
	of := 0
	for n := 0; n < 15; n++ {
		var g gap
		g, of = gapOf(n, 1, 2)
		seen[g.String()] = true
		if g.request < 1 || g.release && g.request > 2 || !g.release && g.request > 1 {
			t.Errorf("%d: %+v", n, g)
		}
	}
	if of != 15 || len(seen) != 15 {
		t.Errorf("%d gaps of %d", len(seen), of)
	}
}
