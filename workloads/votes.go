// The votes: what can be told of a lock that several nodes grant together.

package workloads

import (
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// votes counts the tries of the measured window that did not go smoothly, which few do not.
type votes struct {
	split, late atomic.Int64
}

// watchVotes has the service tell of each vote, if it takes votes, until stop is called.
func (e *engine) watchVotes() (stop func()) {
	v, ok := drivers.As[drivers.Voter](e.run.Service)
	if !ok {
		return func() {}
	}
	v.Watch(e.voted)
	return func() { v.Watch(nil) }
}

// voted takes down one try when its last node has answered. That is some time after its client has gone on, and may be
// after the window has closed.
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

// nodes are what the service says of its nodes; nil if it has none.
func (e *engine) nodes() []drivers.Node {
	if v, ok := drivers.As[drivers.Voter](e.run.Service); ok {
		return v.Nodes()
	}
	return nil
}

// fillVotes puts into the record what went wrong with nodes between the two readings.
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
