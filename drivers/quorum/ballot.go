// The ballot: one request to all nodes, and how their answers are counted.
package quorum

import (
	"errors"
	"fmt"
	"math/bits"
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

// ballot is one request to all nodes.
//
// The session gives it to the member of each node that has room; a node without room has failed at once (send).
// Each member reports what its node has answered, or that it has failed (answer), and the votes are judged (decide).
// As soon as the outcome is certain, the session that waits is told, and collects it; if its time is over before that,
// the nodes that are missing have failed (collect). Later answers are still counted, for the record.
// When the last member has reported, the vote is complete (finish), and the ballot is used again (recycle).
type ballot struct {
	// Read by the members, constant meanwhile:
	request
	start time.Time
	limit time.Duration // from start; the session does not wait longer

	// Guarded by the session's mutex:
	waits    bool // the session waits for the verdict, and has not collected it
	answered set
	yes      set // of those that have answered
	free     set // of those that have said yes: the key is free there
	failed   set
	late     int // grants after the verdict
	out      int // members that have not reported
	outcome  outcome

	first error // the error that explains the outcome
	at    int   // its node
	next  *ballot
}

var (
	errLate    = &drivers.Error{Class: drivers.ClassTimeout, Op: "node", Err: errors.New("no answer within the node time-out")}
	errResting = &drivers.Error{Class: drivers.ClassConnect, Op: "node", Err: errors.New("not sent, because the last request has just failed")}
	errBusy    = &drivers.Error{Class: drivers.ClassTimeout, Op: "node", Err: errors.New("not sent, because earlier requests have had no answer")}
)

// judge returns the outcome of the votes so far.
func (b *ballot) judge(nodes, majority int, suspects set) outcome {
	yes, no, pending := b.yes.size(), b.no(), nodes-b.counted().size()
	canWin := yes+pending >= majority
	veto := nodes - majority + 1 // as many nodes without a yes rule out a majority
	if b.all && pending > 0 {
		return open
	}
	switch b.kind {
	case remaining: // needs all answers, unless the key is known to be free
		switch {
		case b.free.size() >= majority, yes >= majority && pending == 0:
			return won
		case !canWin:
			return failed
		}
	case try: // a majority that has answered decides, and does not wait for suspects; failures count only if there is none
		switch {
		case yes >= majority:
			return won
		case b.failed.size() >= veto:
			return failed
		case !canWin && yes+no >= majority && b.counted().with(suspects) == allNodes(nodes):
			return lost
		}
	default: // what the nodes that have failed have done is unknown
		switch {
		case yes >= majority:
			return won
		case no >= veto:
			return lost
		case !canWin && no+pending < veto:
			return failed
		}
	}
	return open
}

// counted returns the nodes that have answered or failed, and no how many of them have refused.
func (b *ballot) counted() set { return b.answered.with(b.failed) }
func (b *ballot) no() int      { return b.answered.size() - b.yes.size() }

// blame records the error that explains a failure: the first that leaves the outcome unknown, otherwise the first.
func (b *ballot) blame(index int, err error) {
	if b.first == nil || drivers.NoEffect(b.first) && !drivers.NoEffect(err) {
		b.first, b.at = err, index
	}
}

func (b *ballot) err(nodes int) error {
	return fmt.Errorf("%d of %d nodes say yes, %d no, and %d have failed; node %d: %w",
		b.yes.size(), nodes, b.no(), b.failed.size(), b.at+1, b.first)
}

func (b *ballot) vote() drivers.Vote {
	return drivers.Vote{
		Held: b.outcome == won, Yes: b.yes.size(), No: b.no(), Failed: b.failed.size(), Late: b.late, Elapsed: time.Since(b.start),
	}
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
			if !b.counted().has(i) {
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
	c.silent = allNodes(len(c.members)).without(b.answered)
	if outcome == lost && c.silent != 0 && b.kind == try {
		c.s.failing(b.key, c.silent)
	}
	c.recycle(b)
	return outcome, err
}

// set is some of the nodes, by index.
type set uint64

func allNodes(n int) set { return 1<<n - 1 }

func (s set) has(i int) bool       { return s&(1<<i) != 0 }
func (s *set) add(i int)           { *s |= 1 << i }
func (s *set) remove(i int)        { *s &^= 1 << i }
func (s set) size() int            { return bits.OnesCount64(uint64(s)) }
func (s set) with(more set) set    { return s | more }
func (s set) without(some set) set { return s &^ some }
