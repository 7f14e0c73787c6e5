package hazards

import (
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 21, Name: drivers.HazardLateGrant,
		Applies: needsLease,
		Tell:    lateGrant,
		Server:  true,
		Fails:   []string{"rueidis set-nx"},
		Sound:   []string{"rueidis@redlock set-nx"},
	})
}

func lateGrant(s *Stage) {
	a := s.ClientWith("A", func(cfg *drivers.Config) {
		cfg.Polls = false                                         // it tries once, and stands in no line
		cfg.NodeTimeout, cfg.IOTimeout = openTimeout, openTimeout // and has patience
	})
	b := s.Client("B")
	replies := a.breakGrant()
	answer := later(a.Try)
	var bytes int64
	for _, r := range replies {
		s.Hit(r, answer)
		bytes += r.Held()
	}
	s.Fault(bytes, "the reply to A, %d bytes, is held back", bytes)
	if held, _ := b.Try(); held {
		s.leave(safety.NotExercised, "B was granted the key, which A was to have")
	}
	if !b.AcquireBy(s.Now() + 2*s.TTL() + slack) {
		s.leave(safety.NotExercised, "the key was not free after the lease of A")
	}
	for _, r := range replies {
		r.Go()
	}
	held, _ := answer()
	s.Before(b.Sure(), "the reply to A")
	if held {
		a.Release()
	}
	b.Release()
	s.FailIfBoth(a, b)
}

// breakGrant stops the replies by which a client will be granted the key: the last one, or the first one of each of several
// servers, to which it is connected and which have the scripts of the lock when it has had another key a few times.
func (c *Client) breakGrant() (replies []*fault.Break) {
	nodes := c.Network().nodes
	if len(nodes) == 1 {
		requests, _ := c.Rehearse()
		return []*fault.Break{c.BreakReply(requests)}
	}
	for range 3 {
		c.AnswerBy(c.stage.Now() + slack)
	}
	for _, p := range nodes {
		replies = append(replies, p.BreakReply(1+c.far()))
	}
	return replies
}
