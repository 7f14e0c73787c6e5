package hazards

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 29, Name: drivers.HazardPooler,
		Applies:  needsExclusive,
		Tell:     pooler,
		Server:   true,
		Services: []string{"postgres"},
		Kind:     HasPooler,
		Fails:    []string{"postgres advisory"},
		Sound:    []string{"postgres row-lock"},
	})
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
	if len(holders) == 0 {
		s.leave(safety.NotExercised, "B was refused a key that no server process holds")
	}
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
	if err != nil {
		c.stage.leave(safety.NotExercised, "%s has no answer: %v", c.name, err)
	}
	return held
}
