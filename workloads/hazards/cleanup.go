package hazards

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 37, Name: drivers.HazardCleanupLost,
		Applies: needsExclusive,
		Tell:    cleanupLost,
		Server:  true,
		Lone:    true,
		MinTTL:  2 * time.Second,
		Sound:   []string{"rueidis fair", "zookeeper sequential", "etcd lease"},
	})
}

// cleanupLost loses each request of a refusal with its connection, and then each by which a client gives up its wait. B does what
// every client does: it releases what it may hold after an error, and goes on with another key. See python-zk/kazoo#760.
func cleanupLost(s *Stage) {
	open := func(name string) *Client {
		return s.ClientWith(name, func(cfg *drivers.Config) { cfg.Polls = false }) // it tries once, and stands in no line
	}
	var way wait.Kind
	ways := s.queues()
	if len(ways) > 0 {
		way = ways[0]
		open = func(name string) *Client { return s.Waiter(name, way) }
	}
	a, b, c := open("A"), open("B"), open("C")
	refusal, leaving := b.rehearseRefusal(a), 0
	if len(ways) > 0 {
		leaving = b.rehearseLeaving(a)
	}
	if s.outcome.Gaps = refusal + leaving; s.outcome.Gaps == 0 {
		s.leave(safety.NotApplicable, "it refuses without a request")
	}
	b.AnswerBy(s.Now() + slack) // it has been granted a key last
	a.Acquire()
	n := 1 + s.number%s.outcome.Gaps
	var lost *fault.Break
	var answer func() (bool, error)
	what := "B's refusal"
	if of := refusal; n <= of {
		lost = b.Break(n)
		answer = later(b.Try)
	} else {
		n, what = n-of, "the end of B's wait"
		w := b.waits(way)
		lost = b.Break(n)
		answer = later(func() (bool, error) {
			w.giveUp()
			return b.believes.Load(), nil
		})
	}
	s.Hit(lost, answer)
	s.Fault(lost.Held(), "request %d of %s, %d bytes, is lost with its connection", n, what, lost.Held())
	lost.Cut()
	held, err := answer()
	if held {
		s.enteredBeside(a, b)
		return
	}
	if err != nil {
		b.Release()
	}
	if !b.AnswerBy(s.Now() + 2*slack) {
		s.leave(safety.NotExercised, "B has no answer any more")
	}
	if s.Has(expires) {
		s.Before(a.Sure(), "the release of A")
	}
	if _, err := a.Release(); err != nil {
		s.leave(safety.NotExercised, "A has no answer to its release: %v", err)
	}
	since := s.Now()
	if !c.AcquireBy(since + 2*s.TTL() + slack) { // a place may have been handed the lock for a lease
		s.Never("request %d of %s was lost: the key that A has let go was not free after %s", n, what, format.Duration(s.Now()-since))
		return
	}
	s.Recovered(c.Granted - since)
}

// rehearseRefusal returns how many requests it takes to be refused a key, of a client that was granted one before: the median of
// three times. It is no part of the history.
func (c *Client) rehearseRefusal(holder *Client) int {
	var requests []int
	for n := range 3 {
		c.stage.withOtherKey(fmt.Sprintf("refusal-%d", n), func() {
			c.AnswerBy(c.stage.Now() + slack)
			holder.acquireUnseen()
			before := c.line().Requests()
			if held, err := c.request(); held || err != nil {
				c.stage.leave(safety.NotExercised, "%s was not refused: %v, %v", c.name, held, err)
			}
			requests = append(requests, int(c.line().Requests()-before))
			holder.mustRelease(holder.session.Release(c.stage.ctx, &holder.lease))
		})
	}
	slices.Sort(requests)
	return requests[1]
}

// rehearseLeaving returns how many requests it takes to give up a wait: the fewest of two times. It is no part of the history.
func (c *Client) rehearseLeaving(holder *Client) (requests int) {
	requests = math.MaxInt
	for n := range 2 {
		c.stage.withOtherKey(fmt.Sprintf("leaving-%d", n), func() {
			holder.acquireUnseen()
			if held, err := c.request(); held || err != nil {
				c.stage.leave(safety.NotExercised, "%s was not refused: %v, %v", c.name, held, err)
			}
			_, giveUp := c.wait(func() {}, func(error, bool) {})
			c.awaitQuiet()
			before := c.line().Requests()
			giveUp()
			requests = min(requests, int(c.line().Requests()-before))
			holder.mustRelease(holder.session.Release(c.stage.ctx, &holder.lease))
		})
	}
	return requests
}

// withOtherKey does something with another key.
func (s *Stage) withOtherKey(suffix string, do func()) {
	key := s.key
	defer func() { s.key = key }()
	s.key += ":" + suffix
	do()
}

// acquireUnseen acquires the key, which is free, and tells the history nothing.
func (c *Client) acquireUnseen() {
	s := c.stage
	held, err := c.request()
	for patience := s.Now() + slack; !held && err == nil && s.Now() < patience; held, err = c.request() {
		s.Until(s.Now() + tryEvery) // a library that gets no answer in time may call that a refusal
	}
	if !held || err != nil {
		s.leave(safety.NotExercised, "%s could not acquire a free key: %v, %v", c.name, held, err)
	}
}
