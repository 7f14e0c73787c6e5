// Connections that break, fall silent, or are shared.

package hazards

import (
	"context"
	"slices"
	"sync"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 24, Name: drivers.HazardSessionLost, Applies: needsSession, Tell: sessionLost,
	})
	register(Hazard{
		Number: 25, Name: drivers.HazardConnectionCut, Tell: connectionCut,
		Fails: []string{"mysql get-lock", "postgres advisory"}, Sound: []string{"rueidis set-nx", "mysql unique-row"},
	})
	register(Hazard{
		Number: 27, Name: drivers.HazardHalfOpen, Tell: halfOpen,
		Fails: []string{"mysql get-lock", "postgres advisory"}, Sound: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 34, Name: drivers.HazardSharedConnections, Tell: sharedConnections, Local: true,
		MinTTL: longLease, // none ends meanwhile
		Sound:  []string{"rueidis set-nx", "mysql get-lock"},
	})
	register(Hazard{
		Number: 29, Name: drivers.HazardPooler, Tell: pooler, Services: []string{"postgres"}, Kind: HasPooler,
		Fails: []string{"postgres advisory"}, Sound: []string{"postgres row-lock"},
	})
}

func halfOpen(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	open := a.Vanish()
	gone := s.Now()
	s.Fault(open, "A is gone, and its %d connections to the server stay open", open)
	s.comesFree(b, gone, 3, "the key was not free %v after its holder was gone")
}

func sessionLost(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	links := a.Network().Hold()
	s.Fault(links, "nothing of A reaches the server")
	held := s.Now()
	granted := b.AcquireBy(held + 3*s.TTL() + slack)
	a.Network().Resume()
	a.Release()
	if granted {
		s.Recovered(b.Granted - held)
		b.Release()
	}
	s.FailIfBoth(a, b)
}

func connectionCut(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	cut := a.Network().Cut()
	s.Fault(cut, "the %d connections of A were cut, and A may connect again", cut)
	moment := s.Now() + s.TTL()/2
	if s.Has(expires) {
		moment = a.Asked + s.TTL()*8/10
	}
	cutAt := s.Now()
	if b.AcquireBy(moment) {
		s.StillHolds(a, "the attempt of B")
	} else {
		s.endIfStalled(cutAt, (moment-cutAt)/2, "that B is refused")
	}
	a.Release()
	s.FailIfBoth(a, b)
}

// sharedConnections lets clients of one service ask for a key in turn, and then at once. The next time they share one connection,
// unless each has its own whatever it is told.
func sharedConnections(s *Stage) {
	conns := 0
	if s.outcome.Gaps = 1; s.server != nil && !s.pins() {
		s.outcome.Gaps = 2
		conns = s.number % s.outcome.Gaps
	}
	clients := s.sharing(conns, "A", "B", "C")
	a, b, c := clients[0], clients[1], clients[2]
	a.Acquire()
	for range 2 {
		for _, other := range clients[1:] {
			if answered(other) {
				s.failTogether(clients, a, other)
				return
			}
		}
	}
	a.letGo()
	s.failIfTaken(a, b)
	const rounds = 10
	for range rounds {
		if s.outcome.Failure != "" {
			return
		}
		held := atOnce(a, b, c)
		if len(held) > 1 {
			s.failTogether(clients, held[0], held[1])
		}
		for _, winner := range held {
			winner.Release()
		}
	}
}

// failTogether fails the attempt for two clients that were granted the key, and lets all go that hold it.
func (s *Stage) failTogether(all []*Client, first, second *Client) {
	s.StillHolds(first, "the attempt of "+second.name)
	for _, c := range believers(all) {
		c.Release()
	}
	s.FailIfBoth(first, second)
}

// sharing opens clients of one service, with that many connections; 0 is what the library chooses. Those of a placebo have a service
// each.
func (s *Stage) sharing(conns int, names ...string) (clients []*Client) {
	shared := s.Act(func() {
		first := s.ClientWith(names[0], func(cfg *drivers.Config) { cfg.Clients, cfg.Conns = max(len(names), cfg.Clients), conns })
		clients = append(clients, first)
		for id, name := range names[1:] {
			clients = append(clients, first.beside(name, id+1))
		}
	})
	over := "connections"
	if conns > 0 {
		over = format.Plural(conns, "connection")
	}
	s.Fault(shared, "%s share a service and its %s", format.And(names), over)
	return clients
}

// beside opens another client of the same service.
func (c *Client) beside(name string, id int) *Client {
	s := c.stage
	other := &Client{stage: s, name: name, network: c.network, service: c.service}
	s.clients = append(s.clients, other)
	other.session = ask(s, func(ctx context.Context) (drivers.Session, error) { return c.service.Session(ctx, id) })
	return other
}

// pins reports whether each client of the lock has a connection of its own.
func (s *Stage) pins() bool {
	d, err := drivers.Lookup(s.lock.Driver)
	if err != nil {
		return false
	}
	pins := drivers.LibraryOf(d).Pins
	return pins != nil && pins(s.lock.Design.Name)
}

// atOnce lets clients try at the same time, and returns those that were granted the key.
func atOnce(clients ...*Client) []*Client {
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { _, _ = c.Try() }) // no answer is no grant
	}
	all.Wait()
	return believers(clients)
}

// believers returns those clients that believe that they hold the key.
func believers(clients []*Client) []*Client {
	return slices.DeleteFunc(slices.Clone(clients), func(c *Client) bool { return !c.believes.Load() })
}

// pooler lets B ask for the key of A on the connection that A was lent, and another client have that when A lets go. The pool
// is the attempt's own, and lends first what came back last: who asks next gets it, if it is free.
func pooler(s *Stage) {
	pool := s.pool()
	a, b := s.Client("A"), s.Client("B")
	before := ask(s, pool.Clients)
	a.Rehearse()
	ofA := ask(s, pool.Clients)
	b.Rehearse()
	ofB := ask(s, pool.Clients)
	lent := 0
	for pid, client := range ofA {
		if ofB[pid] != "" && client != before[pid] && client != ofB[pid] {
			lent = pid
		}
	}
	s.Fault(int64(lent), "the pooler lends A, and then B, the connection to server process %d", lent)
	a.Acquire()
	both := answered(b)
	pid := ask(s, pool.Borrow)
	s.Fault(int64(pid), "a transaction of another client begins, on the connection to server process %d", pid)
	a.Release()
	if both {
		b.Release()
		s.FailIfBoth(a, b)
	}
	if answered(b) {
		b.Release()
		return
	}
	holders := ask(s, pool.Holders)
	s.leaveIf(len(holders) == 0, safety.NotExercised, "B was refused a key that no server process holds")
	s.Never("the key was let go, and server process %d holds it for as long as the pooler keeps the connection", holders[0])
}

// pool gives the attempt a pool, through which its clients reach the server. Those of a placebo reach it straight.
func (s *Stage) pool() Pool {
	pool := ask(s, func(ctx context.Context) (Pool, error) { return s.server.(Pooler).Pool(ctx, s.placebo) })
	s.server, s.closers = pool, append(s.closers, pool.Close)
	return pool
}

// answered is Try of a client that has to hear an answer.
func answered(c *Client) (held bool) {
	held, err := c.Try()
	c.stage.leaveIf(err != nil, safety.NotExercised, "%s has no answer: %v", c.name, err)
	return held
}
