// The request: a question to all nodes, and how their answers are counted.
package quorum

import (
	"context"
	"math/bits"
	"sync"
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

type outcome uint8

const (
	open   outcome = iota
	won            // a majority has said yes
	lost           // a majority has answered, and none can say yes any more
	failed         // neither, because nodes have not answered
)

// request is a question to all nodes. The answers that come after the outcome are still counted, for the record.
type request struct {
	// Constant while members have it:
	kind    kind
	key     string
	owner   string
	ttl     time.Duration
	all     bool // wait for every node
	session *session
	start   time.Time
	ctx     context.Context // of the calls of all members
	cancel  context.CancelFunc
	decided chan struct{} // closed when the outcome is certain

	mu              sync.Mutex
	outcome         outcome
	yes, no, failed set
	ends            []time.Time // of the lease at each node
	late            int         // grants after the outcome
	out             int         // members that have not answered
	err             error       // explains the failure: the first that leaves the outcome unknown, otherwise the first
	at              int         // its node
}

// answer is a node's. To the question for the remaining time, yes means that the key is free.
type answer struct {
	yes bool
	end time.Time
	err error
}

// record counts the answer of a node.
func (r *request) record(node int, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.yes && a.err == nil && (r.outcome == lost || r.outcome == failed) {
		r.late++
	}
	if !(r.yes | r.no | r.failed).has(node) {
		r.count(node, a)
	}
	if r.out--; r.out > 0 {
		return
	}
	r.cancel()
	if watcher := r.session.s.watcher.Load(); watcher != nil && r.kind == try {
		(*watcher)(drivers.Vote{
			Held: r.outcome == won, Yes: r.yes.size(), No: r.no.size(), Failed: r.failed.size(), Late: r.late,
			Elapsed: time.Since(r.start),
		})
	}
}

// expire ends the wait for an outcome: the nodes that are missing have failed.
func (r *request) expire(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for node := range r.session.members {
		if r.outcome == open && !(r.yes | r.no | r.failed).has(node) {
			r.count(node, answer{err: why})
		}
	}
}

func (r *request) count(node int, a answer) {
	switch {
	case a.err != nil:
		r.failed.add(node)
		r.session.s.nodes[node].failure(a.err)
		if r.err == nil || drivers.NoEffect(r.err) && !drivers.NoEffect(a.err) {
			r.err, r.at = a.err, node
		}
	case a.yes:
		r.yes.add(node)
	default:
		r.no.add(node)
	}
	if r.ends != nil && a.err == nil {
		r.ends[node] = a.end
	}
	if r.outcome != open {
		return
	}
	if r.outcome = r.judge(len(r.session.members), r.session.s.majority); r.outcome != open {
		close(r.decided)
	}
}

// judge returns the outcome of the answers so far. An attempt is not refused before every node has answered: a request
// still under way would take the key at its node when the holder releases, and the next client might find no majority.
func (r *request) judge(nodes, majority int) outcome {
	yes, no, bad := r.yes.size(), r.no.size(), r.failed.size()
	veto := nodes - majority + 1 // as many nodes without a yes rule out a majority
	complete := yes+no+bad == nodes
	switch {
	case r.all && !complete:
		return open
	case yes >= majority, r.kind == remaining && complete && yes+no >= majority:
		return won
	case r.kind == try && bad >= veto:
		return failed
	case r.kind == try && complete, r.kind != try && r.kind != remaining && no >= veto:
		return lost
	case complete:
		return failed
	}
	return open
}

// set is some of the nodes, by number.
type set uint64

func (s set) has(i int) bool { return s&(1<<i) != 0 }
func (s *set) add(i int)     { *s |= 1 << i }
func (s set) size() int      { return bits.OnesCount64(uint64(s)) }
