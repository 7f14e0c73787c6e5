// Thousands of schedules of clients that wait, on a network that delays and loses messages.

package wait_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/simtest"
	"github.com/lockbench/lockbench/drivers/wait"
)

const (
	simTTL   = 300 * time.Millisecond
	simDelay = 5 * time.Millisecond // of a message, at most
	simIO    = 100 * time.Millisecond

	// simIdle is how long the key may be free while a client waits for it, if no message is lost. After a release that is
	// three messages: to the waiter, or the answer to the holder whose line is then told, and a try. If a lease ends, the
	// waiter that watches it may just be asking again: two requests with their answers, and a try. One that has been passed
	// by too often subscribes and asks before it tries, and does so after the answer to the release.
	simIdle = 8*simDelay + 2*wait.Grace
)

// crowd is two to six clients in two rooms that all want the same key.
type crowd struct {
	wait     string
	handover string
	endless  bool // leases do not end, and nobody can ask for how long they last
	patience time.Duration
	restarts int
	plant    func(drivers.Service) drivers.Service
	simtest.Program
}

func (c crowd) scenario() simtest.Scenario {
	return simtest.Scenario{
		Nodes: 1, Network: simtest.Network{Delay: simDelay}, Idle: simIdle,
		Run: func(w *simtest.World) {
			if err := c.run(w); err != nil {
				w.Fail("%v", err)
			}
		},
	}
}

func (c crowd) run(w *simtest.World) error {
	const rooms = 2
	clients := 2 + int(w.Seed%5)
	ctx := context.Background()
	for number := range rooms {
		svc, err := w.Driver().Open(ctx, drivers.Config{Addrs: w.Addrs(), IOTimeout: simIO, Wakes: true})
		if err != nil {
			return err
		}
		if c.endless {
			svc = endless{svc, svc.(drivers.Subscriber)}
			c.Session = func(s drivers.Session) drivers.Session { return lasting{s, s.(drivers.Passer)} }
		}
		if c.plant != nil {
			svc = c.plant(svc)
		}
		room, err := wait.NewRoom(ctx, c.wait, svc, wait.Options{Handover: c.handover}.Passes(2))
		if err != nil {
			return err
		}
		defer room.Close()
		for id := number; id < clients; id += rooms {
			p := c.Program
			p.Rounds, p.TTL, p.Think, p.Hold, p.Room = 6, simTTL, simTTL/2, simTTL/2, room
			switch {
			case c.endless:
				p.TTL, p.Deaths = 0, 0
			case id < rooms: // outlives its lease
				p.Hold = 3 * simTTL / 2
			case id < 2*rooms: // does not wait for ever
				p.Patience = c.patience
			}
			w.Run(id, svc, p)
		}
	}
	if c.restarts > 0 {
		w.Faults(c.restarts, simTTL, func(*simtest.Actor) { w.Restart(0, time.Millisecond) })
	}
	w.Wait()
	return nil
}

// forWays calls f with every way of waiting for a message.
func forWays(t *testing.T, f func(t *testing.T, c crowd)) {
	for _, c := range []crowd{
		{wait: wait.PubSub},
		{wait: wait.Queue, handover: wait.HandoverRelease},
		{wait: wait.Queue, handover: wait.HandoverSwap},
	} {
		t.Run(c.wait+c.handover, func(t *testing.T) { f(t, c) })
	}
}

// No wake-up is lost: the key is not free for long while a client waits for it, whether it was released or its lease has
// ended, and whoever gives up. Nor do two clients hold it.
func TestSimWakes(t *testing.T) {
	forWays(t, func(t *testing.T, c crowd) {
		n := simtest.Seeds(60, 600)
		t.Run("leases end", func(t *testing.T) {
			c := c
			c.patience, c.Deaths = simTTL, 10
			found := simtest.Explore(t, n, c.scenario())
			found.Sound(t)
			found.Saw(t, "grants", 16*int64(n))
			found.Saw(t, "deaths", int64(n))
		})
		t.Run("leases do not", func(t *testing.T) {
			c.endless = true
			found := simtest.Explore(t, n, c.scenario())
			found.Sound(t)
			found.Saw(t, "grants", 24*int64(n))
		})
	})
}

// The message of a release may be lost. Then the end of the holder's lease bounds the sleep, and time-outs of requests
// come on top.
func TestSimLosses(t *testing.T) {
	forWays(t, func(t *testing.T, c crowd) {
		n := simtest.Seeds(60, 600)
		s := c.scenario()
		s.Network.Loss, s.Network.Repeat = 0.02, 0.02
		s.Idle = simTTL + 4*simIO
		found := simtest.Explore(t, n, s)
		found.Sound(t)
		found.Saw(t, "grants", 15*int64(n))
	})
}

// A node that restarts frees the key and cuts the subscriptions. Who has subscribed again looks; who stands in line behind
// a holder that does not know waits for the end of its lease.
func TestSimRestarts(t *testing.T) {
	forWays(t, func(t *testing.T, c crowd) {
		n := simtest.Seeds(40, 400)
		c.restarts = 5
		s := c.scenario()
		s.Overlap = simTTL
		if c.wait == wait.Queue {
			s.Idle += simTTL
		}
		found := simtest.Explore(t, n, s)
		found.Sound(t)
		found.Saw(t, "grants", 10*int64(n))
		found.Saw(t, "restarts", 4*int64(n))
	})
}

// A line is served in order of arrival, except that a client which was refused by the server lets the next one in line
// go first.
func TestSimFair(t *testing.T) {
	for _, handover := range handovers {
		t.Run(handover, func(t *testing.T) {
			n := simtest.Seeds(60, 600)
			s := crowd{wait: wait.Queue, handover: handover, endless: true}.scenario()
			s.Overtakes = 1
			found := simtest.Explore(t, n, s)
			found.Sound(t)
			found.Saw(t, "grants", 24*int64(n))
		})
	}
}

// hasty is a waiter that does not look again after it has registered.
type hasty struct {
	drivers.Waiter
	registered bool
}

func (h *hasty) Wait(ctx context.Context, l *drivers.Lease) error {
	if !h.registered {
		h.registered = true
		if err := h.Waiter.Wait(ctx, l); err != nil {
			return err
		}
	}
	return h.Waiter.Wait(ctx, l)
}

func (h *hasty) Leave(ctx context.Context, l *drivers.Lease) error {
	h.registered = false
	return h.Waiter.Leave(ctx, l)
}

// unconfirmed is a service whose subscriptions begin later than they say.
type unconfirmed struct{ drivers.Service }

func (u unconfirmed) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	inner, err := u.Service.(drivers.Subscriber).Listen(ctx, wake)
	return early{inner}, err
}

type early struct{ drivers.Listener }

func (e early) Add(ctx context.Context, key string) error {
	go func() {
		time.Sleep(10 * simDelay)
		e.Listener.Add(ctx, key)
	}()
	return nil
}

// Bugs that were planted are found.
func TestSimFinds(t *testing.T) {
	blind := crowd{wait: wait.PubSub, endless: true}
	blind.Waiter = func(w drivers.Waiter) drivers.Waiter { return &hasty{Waiter: w} }
	unheard := crowd{wait: wait.PubSub}.scenario()
	unheard.Network.Loss = 0.02
	careless := crowd{wait: wait.PubSub}.scenario()
	careless.Careless = true
	unfair := crowd{wait: wait.PubSub, endless: true}.scenario()
	unfair.Overtakes = 1
	for name, s := range map[string]simtest.Scenario{
		"a waiter does not look after it has registered": blind.scenario(),
		"a subscription is not confirmed": crowd{
			wait: wait.PubSub, endless: true, plant: func(svc drivers.Service) drivers.Service { return unconfirmed{svc} },
		}.scenario(),
		"a message is lost":                          unheard,
		"a release does not check":                   careless,
		"waiters are not served in order of arrival": unfair,
	} {
		t.Run(name, func(t *testing.T) { simtest.Explore(t, 300, s).Found(t) })
	}
}

// A schedule is the same whenever it runs.
func TestSimRepeats(t *testing.T) {
	forWays(t, func(t *testing.T, c crowd) {
		s := c.scenario()
		s.Network.Loss, s.Network.Repeat = 0.02, 0.02
		simtest.Repeats(t, 20, s)
	})
}
