package hazards

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// TestReleaseClaims: a release that says what cannot be is found in any story, and one that may be true is not. Events are a
// millisecond apart, leases as long as the case says: "A=" is the answer that A's release has removed a lock, "A/" that it has not.
func TestReleaseClaims(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []string
		lease time.Duration
		want  string
	}{
		{"its own", []string{"A?", "A+", "A-", "A="}, 20, ""},
		{"of a holder, after a refusal", []string{"A?", "A+", "B?", "Bx", "B-", "B=", "A-"}, 20, "B was told that it had held the key until its release, and A held it"},
		{"of nobody, after a refusal", []string{"A?", "A+", "B?", "Bx", "B-", "B/", "A-"}, 20, ""},
		{"of a holder whose lease may be over", []string{"A?", "A+", "B?", "Bx", "B-", "B=", "A-"}, 4, ""},
		{"of the next holder, after its lease", []string{"A?", "A+", "..", "..", "..", "..", "B?", "B+", "A-", "A=", "B-"}, 5,
			"A was told that it had held the key until its release, and B held it"},
		{"within its lease, while another one holds the key", []string{"A?", "A+", "B?", "B+", "A-", "A=", "B-"}, 20, ""}, // both hold it
		{"of the next holder, who was granted the key meanwhile", []string{"A?", "A+", "A-", "B?", "B+", "A=", "B-"}, 20, ""},
		{"of what it has lost", []string{"A?", "A+", "A-", "A/"}, 20, "A was told that it had not held the key, which it had acquired and not let go"},
		{"of what it may have lost", []string{"A?", "A+", "..", "..", "A-", "A/"}, 4, ""},
		{"of what it suffers", []string{"C?", "C+", "C-", "C/"}, 20, ""},
	} {
		events := told(c.words...)
		lease := c.lease * time.Millisecond
		sure := holdsOf(events, false)
		for i := range sure {
			sure[i].ends = sure[i].asked + lease
		}
		if got := wrongRelease(events, sure, true, lease, func(client string) bool { return client == "C" }); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBothSure: two clients hold the key at once only if both leases last.
func TestBothSure(t *testing.T) {
	for _, c := range []struct {
		name   string
		words  []string
		lease  time.Duration
		nested bool
		both   bool
	}{
		{"one after the other", []string{"A?", "A+", "A-", "B?", "B+"}, 20, false, false},
		{"both", []string{"A?", "A+", "B?", "B+", "A-"}, 20, false, true},
		{"after the lease", []string{"A?", "A+", "..", "B?", "B+", "A-"}, 4, false, false},
		{"after an inner release", []string{"A?", "A+", "A?", "A+", "A-", "B?", "B+", "A-"}, 20, true, true},
		{"after an inner release that lets it go", []string{"A?", "A+", "A?", "A+", "A-", "B?", "B+", "A-"}, 20, false, false},
		{"after an inner section", []string{"A?", "A+", "A?", "A+", "A=", "B?", "B+", "A-"}, 20, true, true},
		{"after all sections", []string{"A?", "A+", "A?", "A+", "A=", "A-", "A=", "B?", "B+"}, 20, true, false},
		{"after both releases", []string{"A?", "A+", "A?", "A+", "A-", "A-", "B?", "B+"}, 20, true, false},
		{"after a death", []string{"A?", "A+", "A?", "A+", "A!", "B?", "B+"}, 20, true, false},
	} {
		sure := holdsOf(told(c.words...), c.nested)
		for i := range sure {
			sure[i].ends = sure[i].asked + c.lease*time.Millisecond
		}
		if why := doubleHold(sure); (why != "") != c.both {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// TestToldLease: a lease that the server has begun before it was asked for again, as by a hand-over, is over when the lock says so.
func TestToldLease(t *testing.T) {
	for until, both := range map[time.Duration]bool{0: true, 250 * time.Millisecond: false, 290 * time.Millisecond: true} {
		s := stageOf(t, lockOf(t, "planted-careful")) // its leases take 200 ms
		sure := s.certainHolds([]safety.Event{
			{At: 100 * time.Millisecond, Client: "A", Kind: safety.Asks}, {At: 110 * time.Millisecond, Client: "A", Kind: safety.Granted, Until: until},
			{At: 270 * time.Millisecond, Client: "B", Kind: safety.Asks}, {At: 280 * time.Millisecond, Client: "B", Kind: safety.Granted},
		})
		if why := doubleHold(sure); (why != "") != both {
			t.Errorf("A was told %v: %q", until, why)
		}
	}
}

// TestSlowSession: a session whose grant was long on its way may be over before its client has heard of it.
func TestSlowSession(t *testing.T) {
	for _, slow := range []bool{false, true} {
		s := stageOf(t, lockOf(t, "planted-endless"))
		const asked, granted = 100 * time.Millisecond, 400 * time.Millisecond
		if slow {
			s.unanswered.note(s.history.clock.Time(asked), s.history.clock.Time(granted))
		}
		sure := s.certainHolds([]safety.Event{
			{At: asked, Client: "A", Kind: safety.Asks}, {At: granted, Client: "A", Kind: safety.Granted}, {At: granted, Client: "B", Kind: safety.Asks}, {At: granted + 1, Client: "B", Kind: safety.Granted},
		})
		if both := doubleHold(sure) != ""; both == slow {
			t.Errorf("slow %v: both %v", slow, both)
		}
	}
}

// claiming is planted-careless with the claim that only the holder can release, and what it admits.
type claiming struct {
	planted
	admits []drivers.Hazard
}

func (p claiming) Designs() []drivers.Design {
	d := p.planted.Designs()
	d[0].Traits.Owned, d[0].Loses = true, p.admits
	return d
}

func (p claiming) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	return p.planted.Open(ctx, cfg)
}

func init() {
	drivers.Register("planted-claiming", claiming{})
	drivers.Register("planted-admitting", claiming{admits: []drivers.Hazard{drivers.HazardGetDelGap}})
}

// TestClaimsInAnyStory: a release of what another client holds fails a story that is not about it, unless the design admits such
// releases.
func TestClaimsInAnyStory(t *testing.T) {
	for driver, want := range map[string]string{
		"planted-claiming":  "B was told that it had held the key",
		"planted-careless":  "",
		"planted-careful":   "",
		"planted-admitting": "",
	} {
		h := Hazard{MinTTL: longLease, Tell: func(s *Stage) {
			a, b := s.Client("A"), s.Client("B")
			a.Acquire()
			b.Try()
			b.Release()
		}}
		g := group{ctx: t.Context(), hazard: &h}
		if a := g.tell(&member{lock: lockOf(t, driver)}, nil); !strings.HasPrefix(a.Failure, want) || (a.Failure == "") != (want == "") {
			t.Errorf("%s: %q, want %q", driver, a.Failure, want)
		}
	}
}
