package hazards

// What every attempt is judged by, whatever its story is about: nobody holds the key of another client, a release tells the truth,
// and fencing tokens grow.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// foreign are the hazards by which a design admits that a release of one client may remove the lock of another.
var foreign = []drivers.Hazard{
	drivers.HazardUnlockAfterRefusal, drivers.HazardWrongReleaseChain, drivers.HazardGetDelGap, drivers.HazardStealByDel,
}

// checkClaims fails the attempt if its history shows what the design claims not to do. What it admits is left to the hazards that it
// lists: a wrong release of a design that may remove the locks of others is none here.
func (s *Stage) checkClaims() {
	events := s.history.all()
	if s.Has(fenced) {
		s.failFor(fenceRegress(events))
	}
	sure := s.certainHolds(events)
	s.failFor(doubleHold(sure))
	if s.Has(owned) && !slices.ContainsFunc(foreign, func(h drivers.Hazard) bool { return slices.Contains(s.lock.Design.Loses, h) }) {
		s.failFor(wrongRelease(events, sure, s.Has(expires), s.ttl, s.clientHasFault))
	}
}

func (s *Stage) failFor(why string) {
	if why != "" {
		s.Fail("%s", why)
	}
}

// hold is a time in which a client holds the key.
type hold struct {
	client   string
	asked    time.Duration // for it
	until    time.Duration // when the lease ends, as the lock has told; 0: it has not
	from, to time.Duration // from its grant to its release or death, as in safety.Hold
	ends     time.Duration // when it is sure no longer that the hold lasts, whatever the client believes
}

// certainHolds returns the holds of an attempt that are sure for a while, if the lock is what it claims. A fault of the server leaves none,
// one of a client or of the machine none of its session.
func (s *Stage) certainHolds(events []safety.Event) (list []hold) {
	if s.round != nil {
		return nil
	}
	nested := s.Has(func(t drivers.Traits) bool { return t.Reentrant }) && !slices.Contains(s.lock.Design.Loses, drivers.HazardReentryNoExtend)
	for _, h := range holdsOf(events, nested) {
		if h.ends = math.MaxInt64; s.Has(expires) {
			h.ends = cmp.Or(h.until, h.asked+s.ttl)
		} else if s.clientHasFault(h.client) || s.stalled(h.asked) > s.ttl/tolerable { // a session may be over before the answer
			continue
		}
		list = append(list, h)
	}
	return list
}

func (s *Stage) clientHasFault(client string) bool {
	return slices.ContainsFunc(s.clients, func(c *Client) bool { return c.name == client && c.hasFault() })
}

// holdsOf returns from when to when each client believes that it holds the key. With nested, a client that has acquired it several times
// holds it until it has let it go as often: an inner section is left by an answer alone.
func holdsOf(events []safety.Event, nested bool) (list []hold) {
	type state struct {
		asked time.Duration
		depth int
		hold  int  // its place in list
		lets  bool // and has had no answer
	}
	states := map[string]*state{}
	for _, e := range events {
		c := states[e.Client]
		if c == nil {
			c = &state{}
			states[e.Client] = c
		}
		switch e.Kind {
		case safety.Asks:
			c.asked, c.lets = e.At, false
		case safety.Granted:
			if c.depth++; c.depth == 1 {
				c.hold = len(list)
				list = append(list, hold{client: e.Client, asked: c.asked, until: e.Until, from: e.At, to: math.MaxInt64})
			}
		case safety.Lets, safety.Dies:
			c.lets = true
			if c.depth == 0 {
				continue
			}
			if c.depth--; c.depth == 0 || !nested || e.Kind == safety.Dies {
				list[c.hold].to, c.depth = e.At, 0
			}
		case safety.Released, safety.NotThere:
			if !c.lets && c.depth > 1 {
				c.depth--
			}
			c.lets = false
		}
	}
	return list
}

// doubleHold returns that two clients hold the key at once, each for sure; empty if there are none.
func doubleHold(sure []hold) string {
	for i, a := range sure {
		for _, b := range sure[i+1:] {
			if a.client != b.client && max(a.from, b.from) < min(a.to, a.ends, b.to, b.ends) {
				return fmt.Sprintf("%s and %s held the key at once, each within its lease", a.client, b.client)
			}
		}
	}
	return ""
}

// release is a release with its answer.
type release struct {
	client   string
	from, to time.Duration // from when it was sent to its answer
	removed  bool
}

func releasesOf(events []safety.Event) (list []release) {
	sent := map[string]time.Duration{}
	for _, e := range events {
		from, open := sent[e.Client]
		switch e.Kind {
		case safety.Lets:
			sent[e.Client] = e.At
		case safety.Released, safety.NotThere:
			if open {
				list = append(list, release{e.Client, from, e.At, e.Kind == safety.Released})
			}
			delete(sent, e.Client)
		case safety.Errs, safety.Asks:
			delete(sent, e.Client)
		}
	}
	return list
}

// wrongRelease returns that a client was told that it had held the key until its release, or that it had not, and that this is not so:
// another one held it all the while, or it held the key itself. Each holds it for sure. It is empty if there is none.
func wrongRelease(events []safety.Event, sure []hold, leases bool, ttl time.Duration, hasFault func(client string) bool) string {
	for _, r := range releasesOf(events) {
		own := slices.ContainsFunc(holdsOf(events, false), func(h hold) bool {
			return h.client == r.client && h.from < r.from && h.to >= r.from && (!leases || h.from+ttl > r.from)
		})
		for _, h := range sure {
			switch {
			case h.client != r.client && r.removed && !own && h.from < r.from && r.to < min(h.to, h.ends):
				return fmt.Sprintf("%s was told that it had held the key until its release, and %s held it", r.client, h.client)
			case h.client == r.client && !r.removed && h.to == r.from && r.to < h.ends && !hasFault(r.client):
				return fmt.Sprintf("%s was told that it had not held the key, which it had acquired and not let go", r.client)
			}
		}
	}
	return ""
}
