// The design herd: the lock that everybody writes first. One ephemeral node is the lock, and all who wait watch it: each
// release wakes them all, and one of them gets it. ZooKeeper's documentation warns of that herd; it is here to be measured.
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
		Wrong:  "a release wakes every waiter; no order, so that some starve; besides, what is wrong with sequential",
	},
	session: func(s session) drivers.Session { return &herdSession{s} },
	clean:   remove,
}

type herdSession struct{ session }

// Try implements drivers.Session. The same transaction sets the node's data once more, because the answer to that tells
// the number of the node's creation, which is the fence.
func (s *herdSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = s.owners.Next()
	if err := s.pay(ctx, s.free); err != nil {
		return false, opTry.fail(err)
	}
	node, owner := s.svc.node(l.Key), []byte(l.Owner)
	answers, err := ask(ctx, &s.caller, 0, func(z *zk.Conn) ([]zk.MultiResponse, error) {
		return z.Multi(&zk.CreateRequest{Path: node, Data: owner, Acl: s.svc.to.acl, Flags: zk.FlagEphemeral},
			&zk.SetDataRequest{Path: node, Data: owner, Version: -1})
	})
	switch {
	case errors.Is(err, zk.ErrNodeExists):
		return false, nil
	case err != nil:
		return false, opTry.fail(err)
	}
	l.Fence = uint64(answers[1].Stat.Czxid)
	s.holds[l.Owner] = hold{node, s.last.session}
	return true, nil
}

// Release implements drivers.Session. The node bears everybody's name for the lock, so it is deleted only in the session
// that has made it: if that has ended, the node is another one's.
func (s *herdSession) Release(ctx context.Context, l *drivers.Lease) (removed bool, err error) {
	if l.Owner == "" {
		return false, opRelease.fail(ctx.Err())
	}
	if h, ok := s.holds[l.Owner]; ok {
		if removed, err = s.remove(ctx, h.session, h.node); err == nil {
			delete(s.holds, l.Owner)
		}
	} else {
		removed, err = s.free(ctx, debt{l.Key, l.Owner})
	}
	s.owe(l.Key, l.Owner, err)
	return removed, opRelease.fail(err)
}

// free deletes the node if it is that of an owner. Between the look and the deletion the node may change hands if it is of
// a session that is just ending; that cannot be helped, since all nodes of a name begin with the same version.
func (s *herdSession) free(ctx context.Context, d debt) (removed bool, err error) {
	type lock struct {
		owner   string
		session int64
	}
	if err := s.catchUp(ctx, d.key); err != nil {
		return false, err
	}
	node := s.svc.node(d.key)
	found, err := ask(ctx, &s.caller, 0, func(z *zk.Conn) (lock, error) {
		data, stat, err := z.Get(node)
		if err != nil {
			return lock{}, err
		}
		return lock{string(data), stat.EphemeralOwner}, nil
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil || found.owner != d.owner:
		return false, err
	}
	if !s.c.lasts(found.session) {
		found.session = 0 // whoever knows the owner may release
	}
	return s.remove(ctx, found.session, node)
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

// Leave implements drivers.Waiter. A watch cannot be taken back; it is gone after one event.
func (s *herdSession) Leave(context.Context, *drivers.Lease) error { return nil }

// Close implements io.Closer. It frees what the session holds.
func (s *herdSession) Close() error {
	return s.end(func(ctx context.Context) error { return s.pay(ctx, s.free) })
}
