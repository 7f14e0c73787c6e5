// The ballot: one request to all nodes, and how their answers are counted.
package quorum

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type kind uint8

const (
	try kind = iota
	release
	renew
	remaining
)

// request is the question to each node.
type request struct {
	kind  kind
	key   string
	owner string
	ttl   time.Duration
	all   bool // wait for every node before deciding
}

// never is the rest of a lease that does not end, or is unknown.
const never = time.Duration(1<<63 - 1)

type outcome uint8

const (
	open   outcome = iota
	won            // a majority has said yes
	lost           // no majority can say yes any more, and a majority has answered
	failed         // neither is possible any more, because nodes have not answered
)

// ballot is one request to all nodes. It outlives the verdict until the last member has reported, and is then reused.
type ballot struct {
	// Read by the members, constant meanwhile:
	request
	start time.Time
	limit time.Duration // from start; the session does not wait longer

	// Guarded by the session's mutex:
	waits   bool   // the session waits for the verdict, and has not collected it
	heard   uint64 // nodes that are counted, by index
	silent  uint64 // those of them that have failed
	yes     int
	no      int
	failed  int
	free    int // nodes that say that the key is free
	late    int // grants after the verdict
	out     int // members that have not reported
	outcome outcome

	first error // the error that explains the outcome
	at    int   // its node
	next  *ballot
}

var (
	errLate    = &drivers.Error{Class: drivers.ClassTimeout, Op: "node", Err: errors.New("no answer within the node time-out")}
	errResting = &drivers.Error{Class: drivers.ClassConnect, Op: "node", Err: errors.New("not sent, because the last request has just failed")}
	errBusy    = &drivers.Error{Class: drivers.ClassTimeout, Op: "node", Err: errors.New("not sent, because earlier requests have had no answer")}
)

// judge returns the outcome of the votes so far. A refusal does not wait for suspects.
func (b *ballot) judge(nodes, majority int, suspects uint64) outcome {
	pending := nodes - b.yes - b.no - b.failed
	if b.kind == remaining { // needs all answers, unless the key is known to be free
		switch {
		case b.free >= majority, pending == 0 && b.yes >= majority:
			return won
		case b.yes+pending < majority:
			return failed
		}
		return open
	}
	veto := nodes - majority + 1
	switch {
	case b.all && pending > 0:
		return open
	case b.yes >= majority:
		return won
	case b.kind == try: // a majority that has answered decides; failures count only if there is none
		if b.failed >= veto {
			return failed
		}
		if b.yes+pending >= majority || b.yes+b.no < majority || b.heard|suspects != 1<<nodes-1 {
			return open
		}
		return lost
	case b.no >= veto:
		return lost
	case b.yes+pending < majority && b.no+pending < veto: // what the failed ones have done is unknown
		return failed
	}
	return open
}

// blame records the error that explains a failure: the first that leaves the outcome unknown, otherwise the first.
func (b *ballot) blame(index int, err error) {
	if b.first == nil || drivers.NoEffect(b.first) && !drivers.NoEffect(err) {
		b.first, b.at = err, index
	}
}

func (b *ballot) err(nodes int) error {
	return fmt.Errorf("%d of %d nodes say yes, %d no, and %d have failed; node %d: %w", b.yes, nodes, b.no, b.failed, b.at+1, b.first)
}

func (b *ballot) vote() drivers.Vote {
	return drivers.Vote{Held: b.outcome == won, Yes: b.yes, No: b.no, Failed: b.failed, Late: b.late, Elapsed: time.Since(b.start)}
}

// newBallot returns a recycled ballot, or a new one.
func (c *session) newBallot() *ballot {
	b := c.free
	if b == nil {
		return &ballot{}
	}
	c.free = b.next
	*b = ballot{}
	return b
}

// recycle keeps a ballot for reuse if it is no longer needed.
func (c *session) recycle(b *ballot) {
	if b.out == 0 && !b.waits {
		b.next, c.free = c.free, b
	}
}

// collect returns the verdict of the ballot that the session has waited for. If the wait ended without one, for the
// reason why, the missing nodes have failed.
func (c *session) collect(b *ballot, why error) (outcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why != nil && b.outcome != open { // it came just now
		<-c.verdict
	}
	b.waits = false
	if b.outcome == open {
		for i := range c.members {
			if b.heard&(1<<i) == 0 {
				c.fails(b, i, why)
			}
		}
		c.decide(b)
	}
	outcome := b.outcome
	var err error
	if outcome == failed {
		err = b.err(len(c.members))
	}
	c.silent = (1<<len(c.members) - 1) &^ (b.heard &^ b.silent)
	if outcome == lost && c.silent != 0 && b.kind == try {
		c.s.failing(b.key, c.silent)
	}
	c.recycle(b)
	return outcome, err
}
