package hazards

import (
	"context"
	"sync"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 34, Name: drivers.HazardSharedConnections,
		Applies: needsExclusive,
		Tell:    sharedConnections,
		MinTTL:  longLease, // none ends meanwhile
		Sound:   []string{"rueidis set-nx", "mysql get-lock"},
	})
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
			if granted := answered(other); granted {
				s.failTogether(clients, a, other)
				return
			}
		}
	}
	if _, err := a.Release(); err != nil {
		s.leave(safety.NotExercised, "A has no answer to its release: %v", err)
	}
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
	for _, c := range all {
		if c.believes.Load() {
			c.Release()
		}
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
func atOnce(clients ...*Client) (held []*Client) {
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { _, _ = c.Try() }) // no answer is no grant
	}
	all.Wait()
	for _, c := range clients {
		if c.believes.Load() {
			held = append(held, c)
		}
	}
	return held
}
