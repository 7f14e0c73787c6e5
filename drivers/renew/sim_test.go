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

// bothWays calls f with sessions that say when a lease ends, and with such that leave that to the client.
func bothWays(t *testing.T, f func(t *testing.T, x watched)) {
	t.Run("leases say when they end", func(t *testing.T) { f(t, watched{}) })
	t.Run("leases do not", func(t *testing.T) {
		var x watched
		x.Session = func(s drivers.Session) drivers.Session { return silent{s} }
		f(t, x)
	})
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

// No holder believes in its lock when another one is granted it, though each believes in it until its watchdog says that
// it is lost. A renewal whose reply is lost is sent again, and a hold survives that. No renewal is sent during a release
// or after it, which the sessions check.
func TestSimRenews(t *testing.T) {
	bothWays(t, func(t *testing.T, x watched) {
		n := simtest.Seeds(200, 2000)
		found := simtest.Explore(t, n, x.scenario(0))
		found.Sound(t)
		found.Saw(t, "long holds", 3*int64(n))
		found.Saw(t, "lost replies to renew", 2*int64(n))
		found.Saw(t, "stops during a renewal", int64(n))
		if lost, replies := found.Count("losses"), found.Count("lost replies to renew"); lost > replies/4 {
			t.Errorf("%d holds are lost, with %d replies lost", lost, replies)
		}
	})
}

// A holder is told in time that its node does not answer.
func TestSimSilence(t *testing.T) {
	bothWays(t, func(t *testing.T, x watched) {
		n := simtest.Seeds(200, 2000)
		x.strike = silence
		found := simtest.Explore(t, n, x.scenario(0))
		found.Sound(t)
		found.Saw(t, "losses", int64(n)/2)
		found.Saw(t, "grants", 3*int64(n))
	})
}

// A holder whose renewals are never answered is told before its lease ends, which began before the grant was heard of.
func TestSimUnanswered(t *testing.T) {
	n := simtest.Seeds(100, 1000)
	found := simtest.Explore(t, n, unanswered().scenario(0))
	found.Sound(t)
	found.Saw(t, "losses", 5*int64(n))
	found.Saw(t, "grants", 7*int64(n))
}

// unanswered is clients whose renewals are lost, and which come back soon when they are refused.
func unanswered() (x watched) {
	x.polls = true
	x.Session = func(s drivers.Session) drivers.Session { return mute{silent{s}} }
	return x
}

// mute is a silent session whose renewals have no answer.
type mute struct{ silent }

func (mute) Renew(context.Context, *drivers.Lease) (bool, error) {
	time.Sleep(simTTL / 4)
	return false, context.DeadlineExceeded
}

// silence makes the node stall, or cuts off a client, for up to two leases.
func silence(w *simtest.World, a *simtest.Actor) {
	if d := a.Upto(2 * simTTL); a.Pick(2) == 0 {
		w.Stall(0, d)
	} else {
		w.Cut(a.Pick(w.Clients), 0, d)
	}
}

// A holder whose node has forgotten the lock hears of it with the next renewal, a third of the lease later. If replies
// are lost, it hears of it at the end of its lease.
func TestSimRefusal(t *testing.T) {
	n := simtest.Seeds(200, 2000)
	for name, loss := range map[string]float64{"all replies arrive": 0, "some replies are lost": 0.05} {
		t.Run(name, func(t *testing.T) {
			s := watched{strike: forget}.scenario(toldOf(loss))
			s.Network.Loss = loss
			found := simtest.Explore(t, n, s)
			found.Sound(t)
			found.Saw(t, "overlaps", int64(n)/4)
			found.Saw(t, "losses", int64(n))
		})
	}
}

const away = time.Millisecond

func forget(w *simtest.World, _ *simtest.Actor) { w.Restart(0, away) }

// toldOf returns how long it takes at most until a holder knows that its node has forgotten it.
func toldOf(loss float64) time.Duration {
	if loss > 0 {
		return simTTL
	}
	return simTTL/3 + 2*20*time.Millisecond + 2*away // a third of the lease, there and back, and the restart
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

// Bugs that were planted are found.
func TestSimFinds(t *testing.T) {
	refusals := watched{strike: forget}
	refusals.Session = func(s drivers.Session) drivers.Session { return deaf{s, true, false} }
	hopeful := watched{strike: silence}
	hopeful.Session = func(s drivers.Session) drivers.Session { return deaf{s, false, true} }
	orphans := watched{}
	orphans.Orphans = true
	late := unanswered()
	late.Late = true
	for name, s := range map[string]simtest.Scenario{
		"a watchdog counts from the answer": late.scenario(0),
		"a watchdog ignores refusals":       refusals.scenario(toldOf(0.05)),
		"a watchdog ignores silence":        hopeful.scenario(0),
		"a watchdog outlives its release":   orphans.scenario(0),
	} {
		t.Run(name, func(t *testing.T) { simtest.Explore(t, 100, s).Found(t) })
	}
}

// A schedule is the same whenever it runs.
func TestSimRepeats(t *testing.T) {
	simtest.Repeats(t, 100, watched{strike: silence}.scenario(0))
	simtest.Repeats(t, 100, watched{strike: forget}.scenario(0))
}

func BenchmarkSim(b *testing.B) { simtest.Bench(b, watched{strike: silence}.scenario(0)) }
