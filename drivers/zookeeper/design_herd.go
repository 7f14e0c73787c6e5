// The design herd: the obvious first attempt at a lock. One ephemeral node is the lock, and all waiters watch it: each
// release wakes them all, and one of them gets it. ZooKeeper's documentation warns of that herd; it is here to be
// measured.
package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

var herd = design{
	Design: drivers.Design{
		Name:   "herd",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Fenced: true, Waits: true, Session: true},
		Models: "one ephemeral node a key that all waiters watch: the herd effect of ZooKeeper's recipes",
		Wrong:  "a release wakes every waiter; no order, so that some starve; also the faults of sequential",
		Loses:  []drivers.Hazard{drivers.HazardHolderPauses, drivers.HazardSessionLost, drivers.HazardAcquireReplyLost, drivers.HazardOrphanWatchdog},
	},
	session: func(s session) client { return &herdSession{s} },
	clean:   remove,
}

type herdSession struct{ session }

// Try implements drivers.Session. The same transaction also sets the node's data, because the answer to that has the
// number of the node's creation, which is the fence.
func (s *herdSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	if err := s.deleteLeftovers(ctx, s.free); err != nil {
		return false, opTry.fail(err)
	}
	node, owner := s.svc.node(l.Key), []byte(l.Owner)
	answers, err := s.multi(ctx, &zk.CreateRequest{Path: node, Data: owner, Acl: s.svc.to.acl, Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: node, Data: owner, Version: -1})
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return false, nil
	case err != nil:
		return false, opTry.fail(err)
	}
	l.Fence = uint64(answers[1].Stat.Czxid)
	s.holds[l.Owner] = hold{node: node, session: s.last.session}
	return true, nil
}

// Release implements drivers.Session. All clients use the same node name for a lock, so the node is deleted only in the
// session that made it: if that has ended, the node is another client's.
func (s *herdSession) Release(ctx context.Context, l *drivers.Lease) (removed bool, err error) {
	return s.release(ctx, l, s.free)
}

// Wait implements drivers.Waiter: it returns when the node goes.
func (s *herdSession) Wait(ctx context.Context, l *drivers.Lease) error {
	if over, err := outOfTime(ctx, l); over {
		return err
	}
	event, gone, err := s.watch(ctx, s.svc.node(l.Key))
	if gone || err != nil {
		return opWait.fail(err)
	}
	_, err = s.sleep(ctx, l, event)
	return opWait.fail(err)
}
