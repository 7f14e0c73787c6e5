// What the design herd does besides.
package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// free deletes the node if it is that of an owner and of the present session. That of an earlier session goes with that,
// and by then the node may be another holder's: those of one name cannot be told apart by their version, which is all
// that a deletion can be made to depend on.
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
	case err != nil || found.owner != d.owner || found.session != s.last.session:
		return false, err
	}
	return s.remove(ctx, found.session, node)
}

// Leave implements drivers.Waiter. A watch cannot be taken back; it is gone after one event.
func (s *herdSession) Leave(context.Context, *drivers.Lease) error { return nil }

// Close implements io.Closer. It frees what the session holds.
func (s *herdSession) Close() error {
	return s.end(func(ctx context.Context) error { return s.pay(ctx, s.free) })
}
