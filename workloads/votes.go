// Votes: the figures of a lock that several nodes grant together.

package workloads

import (
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// votes counts the tries of the measured window with split votes and late grants, which are rare.
type votes struct {
	split, late atomic.Int64
}

// watchVotes has the service report each vote, if it takes votes, until stop is called.
func (e *engine) watchVotes() (stop func()) {
	v, ok := drivers.As[drivers.Voter](e.run.Service)
	if !ok {
		return func() {}
	}
	v.Watch(e.voted)
	return func() { v.Watch(nil) }
}

// voted records one try when its last node has answered. Its client has gone on by then, and the window may have closed.
func (e *engine) voted(v drivers.Vote) {
	if now := e.clock.Now(); now < e.from || now >= e.until() {
		return
	}
	if v.Held {
		shard := e.recorder.Borrow()
		shard.Record(results.AcquireAllIndex, v.Elapsed)
		e.recorder.Return(shard)
	}
	if v.Split() {
		e.votes.split.Add(1)
	}
	if v.Late > 0 {
		e.votes.late.Add(int64(v.Late))
	}
}

// nodes returns what the service says of its nodes; nil if it has none.
func (e *engine) nodes() []drivers.Node {
	if v, ok := drivers.As[drivers.Voter](e.run.Service); ok {
		return v.Nodes()
	}
	return nil
}

// fillVotes fills in the votes, and the failures of each node between the two readings.
func (e *engine) fillVotes(r *results.Record) {
	n := &r.Counts
	n.SplitVotes, n.LateGrants = e.votes.split.Load(), e.votes.late.Load()
	for i, node := range e.after.nodes {
		failed := node.Failed
		if i < len(e.before.nodes) {
			failed -= e.before.nodes[i].Failed
		}
		n.NodeErrors = append(n.NodeErrors, failed)
	}
}
