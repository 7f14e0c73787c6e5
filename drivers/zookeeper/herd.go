// Further operations of the design herd.
package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// free deletes the node if it is the owner's. It leaves a node of an earlier session of this client to the end of that
// session, which is near: by the time of a deletion the node may be the next holder's. Nodes of one name cannot be told
// apart by their version, which is the only condition of a deletion; so a client must not release what another client
// has acquired while that one releases it, too.
func (s *herdSession) free(ctx context.Context, d leftover) (removed bool, err error) {
	type lock struct {
		owner   string
		session int64
	}
	within, err := s.catchUp(ctx, d.key)
	if err != nil {
		return false, err
	}
	node := s.svc.node(d.key)
	found, err := ask(ctx, &s.caller, within, func(z *zk.Conn) (lock, error) {
		data, stat, err := z.Get(node)
		if err != nil {
			return lock{}, err
		}
		return lock{string(data), stat.EphemeralOwner}, nil
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil || found.owner != d.owner || s.c.wasSession(found.session):
		return false, err
	}
	if found.session != s.last.session {
		found.session = 0 // any client that knows the owner may release
	}
	return s.remove(ctx, found.session, node)
}

// Leave implements drivers.Waiter. A watch cannot be withdrawn; it is gone after one event.
func (s *herdSession) Leave(context.Context, *drivers.Lease) error { return nil }

// Close implements io.Closer. It frees what the session holds.
func (s *herdSession) Close() error {
	return s.end(func(ctx context.Context) error { return s.deleteLeftovers(ctx, s.free) })
}
