// The design herd: the obvious first attempt at a lock. One ephemeral node is the lock, and all waiters watch it: each
// release wakes them all, and one of them gets it. ZooKeeper's documentation warns of that herd; it is here to be
// measured.
package zookeeper

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

var herd = drivers.Design{
	Name:   "herd",
	Traits: drivers.Traits{Exclusive: true, Owned: true, Fenced: true, Waits: true, Session: true},
	Models: "one ephemeral node a key that all waiters watch: the herd effect of ZooKeeper's recipes",
	Wrong:  "a release wakes every waiter; no order, so that some starve; also the faults of sequential",
	Loses: []drivers.Hazard{
		drivers.HazardHolderPauses, drivers.HazardSessionLost, drivers.HazardAcquireReplyLost, drivers.HazardOrphanWatchdog,
	},
}

type herdSession struct{ session }

// Try implements drivers.Session. The same transaction also sets the node's data, because the answer to that has the
// number of the node's creation, which is the fence.
func (s *herdSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	c, err := s.tidy(ctx)
	if err != nil {
		return false, fail("try", err)
	}
	path, owner := s.svc.node(l.Key), []byte(l.Owner)
	answers, err := s.multi(ctx, c, &zk.CreateRequest{Path: path, Data: owner, Acl: s.svc.to.acl, Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: path, Data: owner, Version: -1})
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	if err != nil {
		return false, fail("try", err)
	}
	l.Fence = uint64(answers[1].Stat.Czxid)
	s.nodes[l.Owner] = &node{key: l.Key, owner: l.Owner, path: path, conn: c}
	return true, nil
}

// freeOwn deletes the node if it is the owner's. It leaves a node of an earlier session of this client to the end of
// that session, which is near: by the time of a deletion the node may be the next holder's. Nodes of one name cannot be
// told apart by their version, which is the only condition of a deletion; so a client must not release what another
// client has acquired while that one releases it, too.
func (s *herdSession) freeOwn(ctx context.Context, key, owner string) (removed bool, err error) {
	c, err := s.upToDate(ctx, key)
	if err != nil {
		return false, err
	}
	path := s.svc.node(key)
	found, err := ask(ctx, &s.caller, c, func(z *zk.Conn) (*zk.Stat, error) {
		data, stat, err := z.Get(path)
		if string(data) != owner {
			stat = nil
		}
		return stat, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err != nil || found == nil || slices.Contains(c.past, found.EphemeralOwner) {
		return false, err
	}
	return s.remove(ctx, c, path)
}

// Wait implements drivers.Waiter: it returns when the node goes.
func (s *herdSession) Wait(ctx context.Context, l *drivers.Lease) error {
	return fail("wait", s.watch(ctx, l, s.svc.node(l.Key)))
}

// Leave implements drivers.Waiter. A watch cannot be withdrawn; it is gone after one event.
func (s *herdSession) Leave(context.Context, *drivers.Lease) error { return nil }
