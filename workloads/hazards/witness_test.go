package hazards

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// TestWitness: a stall is known from when it begins, and only to who asks for its time.
func TestWitness(t *testing.T) {
	w := newWitness()
	began := *w.last.Load()
	for !w.last.Load().After(began) { // it runs
		runtime.Gosched()
	}
	w.close()
	now := time.Now()
	w.last.Store(&now)
	before := now.Add(-time.Hour)
	w.note(before, before.Add(time.Minute))
	w.note(before, before.Add(noticeable)) // too short
	if got := w.longest(before.Add(-time.Minute)); got != time.Minute {
		t.Errorf("longest of all: %v", got)
	}
	if got := w.longest(before.Add(2 * time.Minute)); got >= time.Minute {
		t.Errorf("longest since: %v", got)
	}
	w.last.Store(&before)
	if got := w.longest(now); got < time.Hour {
		t.Errorf("one that lasts: %v", got)
	}
	if got := (*witness)(nil).longest(before); got != 0 {
		t.Errorf("of nobody: %v", got)
	}
}

// lax is a lock of a session in this process that anybody is granted, or of which nobody is told whether it is.
type lax struct{ silent bool }

func (l lax) Designs() []drivers.Design {
	return []drivers.Design{{Name: "lock", Traits: drivers.Traits{Exclusive: true, Session: true}}}
}
func (l lax) Open(context.Context, drivers.Config) (drivers.Service, error) { return l, nil }
func (l lax) Session(context.Context, int) (drivers.Session, error)         { return l, nil }
func (l lax) Traits() drivers.Traits                                        { return l.Designs()[0].Traits }
func (l lax) Close() error                                                  { return nil }
func (l lax) Release(context.Context, *drivers.Lease) (bool, error)         { return true, nil }
func (l lax) Try(context.Context, *drivers.Lease) (bool, error) {
	if l.silent {
		return false, errors.New("no answer")
	}
	return true, nil
}

func init() {
	drivers.Register("planted-lax", lax{})
	drivers.Register("planted-silent", lax{silent: true})
}

// TestStalledMachine: what a lock has lost, or did not do, while the machine stalled for too long says nothing of it.
func TestStalledMachine(t *testing.T) {
	both := func(s *Stage, stall func()) {
		a, b := s.Client("A"), s.Client("B")
		a.Acquire()
		b.Acquire()
		stall()
		a.Release()
		s.FailIfBoth(a, b)
	}
	never := func(s *Stage, stall func()) {
		s.Fault(1, "it strikes")
		stall()
		s.Never("not free")
	}
	other := func(s *Stage, stall func()) {
		stall()
		s.leave(safety.NotExercised, "no fault")
	}
	const ttl = 12 * time.Second
	for _, c := range []struct {
		name   string
		driver string
		tell   func(*Stage, func())
		stall  time.Duration
		want   safety.Verdict
	}{
		{"two holders by their sessions", "planted-lax", both, ttl/tolerable - time.Millisecond, ""},
		{"two holders by their sessions, after a stall", "planted-lax", both, ttl/tolerable + time.Millisecond, safety.Stalled},
		{"never free", "planted-lax", never, (2*ttl+slack)/unhurried - time.Millisecond, ""},
		{"never free, after a stall", "planted-lax", never, (2*ttl+slack)/unhurried + time.Millisecond, safety.Stalled},
		{"no fault", "planted-lax", other, noticeable, safety.NotExercised},
		{"no fault, after a stall", "planted-lax", other, nodeTimeout/4 + time.Millisecond, safety.Stalled},
	} {
		w := &witness{}
		ran := time.Now().Add(time.Hour) // it sees no stall of this test
		w.last.Store(&ran)
		h := Hazard{MinTTL: ttl, Tell: func(s *Stage) {
			c.tell(s, func() {
				now := time.Now()
				w.note(now.Add(-c.stall), now)
			})
		}}
		g := group{ctx: t.Context(), hazard: &h, witness: w}
		a := g.tell(&member{lock: lockOf(t, c.driver)}, nil)
		if a.Left != c.want || (a.Failure != "") != (c.want == "") {
			t.Errorf("%s: left %q: %s, failure %q", c.name, a.Left, a.Why, a.Failure)
		}
	}
}

// TestUnheardTries: who has had no answer to a try may hold the key, so that nothing follows from its other refusals.
func TestUnheardTries(t *testing.T) {
	h := Hazard{Tell: func(s *Stage) {
		b := s.Client("B")
		if !b.AcquireBy(s.Now()) {
			s.Never("not free")
		}
	}}
	g := group{ctx: t.Context(), hazard: &h}
	if a := g.tell(&member{lock: lockOf(t, "planted-silent")}, nil); a.Left != safety.NotExercised || a.Failure != "" {
		t.Errorf("left %q, failure %q", a.Left, a.Failure)
	}
}

// sluggish is a lock whose service does not open, and takes its time to say so.
type sluggish struct{ lax }

func (sluggish) Open(context.Context, drivers.Config) (drivers.Service, error) {
	<-time.After(nodeTimeout / 2) // on purpose
	return nil, errors.New("no answer in time")
}

func init() { drivers.Register("planted-sluggish", sluggish{}) }

// TestSluggishService: a service that does not answer in time says nothing of a lock, and a control on it is not wrong.
func TestSluggishService(t *testing.T) {
	h := Hazard{Tell: func(s *Stage) { s.Client("A") }}
	g := group{ctx: t.Context(), hazard: &h}
	if a := g.tell(&member{lock: lockOf(t, "planted-sluggish")}, nil); a.Left != safety.Stalled {
		t.Errorf("left %q: %s", a.Left, a.Why)
	}
}
