// Thousands of schedules of clients whose watchdog renews on a bad network.
package renew_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/simtest"
	"github.com/lockbench/lockbench/drivers/wait"
)

const simTTL = 300 * time.Millisecond

// watched is three clients whose holds last up to six leases, and which try for the key now and then.
type watched struct {
	strike func(w *simtest.World, a *simtest.Actor) // up to six times
	polls  bool                                     // who is refused comes back soon
	simtest.Program
}

// scenario returns one in which two holders may overlap for a while; see its callers.
func (x watched) scenario(overlap time.Duration) simtest.Scenario {
	return simtest.Scenario{
		Nodes: 1, Clients: 3, Network: simtest.Network{Delay: 20 * time.Millisecond, Loss: 0.05}, Overlap: overlap,
		Run: func(w *simtest.World) {
			if err := x.run(w); err != nil {
				w.Fail("%v", err)
			}
		},
	}
}

func (x watched) run(w *simtest.World) error {
	svc, err := w.Driver().Open(context.Background(), drivers.Config{Addrs: w.Addrs(), IOTimeout: simTTL / 4})
	if err != nil {
		return err
	}
	p := x.Program
	p.Rounds, p.TTL, p.Think, p.Hold = 12, simTTL, simTTL, 6*simTTL
	p.Watchdog = renew.New(renew.Options{Clock: w.Clock, Workers: 2})
	defer p.Watchdog.Close()
	if x.polls {
		if p.Room, err = wait.NewRoom(context.Background(), wait.Poll, svc, wait.Options{}); err != nil {
			return err
		}
		p.Rounds = 4
	}
	for id := range w.Clients {
		w.Run(id, svc, p)
	}
	if x.strike != nil {
		w.Faults(6, 2*simTTL, func(a *simtest.Actor) { x.strike(w, a) })
	}
	w.Wait()
	return nil
}

// silent is a session that does not say until when leases are valid.
type silent struct{ drivers.Session }

func (s silent) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	l.ValidUntil = time.Time{}
	return held, err
}

func (s silent) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := s.Session.(drivers.Renewer).Renew(ctx, l)
	l.ValidUntil = time.Time{}
	return owned, err
}

// mute is a silent session whose renewals have no answer.
type mute struct{ silent }

func (mute) Renew(context.Context, *drivers.Lease) (bool, error) {
	time.Sleep(simTTL / 4)
	return false, context.DeadlineExceeded
}

// deaf is a session whose watchdog takes no notice of some answers.
type deaf struct {
	drivers.Session
	refusals, silence bool
}

func (d deaf) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	owned, err := d.Session.(drivers.Renewer).Renew(ctx, l)
	if d.silence && err != nil || d.refusals && err == nil {
		l.ValidUntil = time.Now().Add(l.TTL)
		return true, nil
	}
	return owned, err
}

// with returns x with sessions around those of the driver.
func (x watched) with(around func(drivers.Session) drivers.Session) watched {
	x.Session = around
	return x
}

// The scenarios: a quiet node, one that stalls or cuts off a client for up to two leases, one that forgets the locks, and
// clients whose renewals are lost and which come back soon when they are refused.
var (
	quiet    = watched{}
	silenced = watched{strike: func(w *simtest.World, a *simtest.Actor) {
		if d := a.Upto(2 * simTTL); a.Pick(2) == 0 {
			w.Stall(0, d)
		} else {
			w.Cut(a.Pick(w.Clients), 0, d)
		}
	}}
	forgotten  = watched{strike: func(w *simtest.World, _ *simtest.Actor) { w.Restart(0, time.Millisecond) }}
	unanswered = watched{polls: true}.with(func(s drivers.Session) drivers.Session { return mute{silent{s}} })
)

func hushed(s drivers.Session) drivers.Session { return silent{s} }

// No holder believes in its lock when another one is granted it, though each believes in it until its watchdog says that it is
// lost. A renewal whose reply is lost is sent again, and a hold survives that. A holder is told in time that its node does not
// answer: before its lease ends, which began before the grant was heard of. One whose node has forgotten the lock hears of it
// with the next renewal, a third of the lease later and there and back; if replies are lost, at the end of its lease. No renewal
// is sent during a release or after it, which the sessions check.
func TestSim(t *testing.T) {
	for _, test := range []struct {
		name    string
		x       watched
		lossy   bool
		overlap time.Duration
		sees    map[string]float64 // in each schedule
	}{
		{"renews", quiet, true, 0, map[string]float64{"long holds": 3, "lost replies to renew": 2, "stops during a renewal": 1}},
		{"renews, nobody says when", quiet.with(hushed), true, 0, map[string]float64{"long holds": 3, "lost replies to renew": 2}},
		{"silence", silenced, true, 0, map[string]float64{"losses": 0.5, "grants": 3}},
		{"silence, nobody says when", silenced.with(hushed), true, 0, map[string]float64{"losses": 0.5, "grants": 3}},
		{"no answer", unanswered, true, 0, map[string]float64{"losses": 5, "grants": 7}},
		{"refusal", forgotten, false, simTTL/3 + 42*time.Millisecond, map[string]float64{"overlaps": 0.25, "losses": 1}},
		{"refusal, some lost", forgotten, true, simTTL, map[string]float64{"overlaps": 0.25, "losses": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := test.x.scenario(test.overlap)
			if !test.lossy {
				s.Network.Loss = 0
			}
			n := simtest.Seeds(80, 800)
			found := simtest.Explore(t, n, s)
			found.Sound(t)
			for what, each := range test.sees {
				found.Saw(t, what, int64(each*float64(n)))
			}
			if lost, replies := found.Count("losses"), found.Count("lost replies to renew"); test.x.strike == nil && !test.x.polls && lost > replies/4 {
				t.Errorf("%d holds are lost, with %d replies lost", lost, replies)
			}
		})
	}
}

// Bugs that were planted are found.
func TestSimFinds(t *testing.T) {
	late, orphans := unanswered, quiet
	late.Late, orphans.Orphans = true, true
	for name, s := range map[string]simtest.Scenario{
		"a watchdog counts from the answer": late.scenario(0),
		"a watchdog ignores refusals": forgotten.with(func(s drivers.Session) drivers.Session { return deaf{s, true, false} }).
			scenario(simTTL),
		"a watchdog ignores silence":      silenced.with(func(s drivers.Session) drivers.Session { return deaf{s, false, true} }).scenario(0),
		"a watchdog outlives its release": orphans.scenario(0),
	} {
		t.Run(name, func(t *testing.T) { simtest.Explore(t, 100, s).Found(t) })
	}
}

// A schedule is the same whenever it runs.
func TestSimRepeats(t *testing.T) {
	simtest.Repeats(t, 20, silenced.scenario(0))
	simtest.Repeats(t, 20, forgotten.scenario(0))
}
