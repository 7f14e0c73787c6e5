// What the sessions of both designs have in common.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// session is one simulated client. The sessions of the designs embed it.
type session struct {
	caller
	*membership
	owners drivers.Owners
	nodes  map[string]*node // by owner
	ended  error            // why the last hold was gone

	// free deletes the node of an owner, if there is one.
	free func(ctx context.Context, key, owner string) (removed bool, err error)
}

// node is one that the client has made, or may have made.
type node struct {
	key, owner string
	path       string // empty: unknown, or perhaps deleted already
	conn       *conn  // the end of its session ends the node; nil: unknown
	fence      uint64 // the number of its creation
	first      bool   // it holds the lock
	left       bool   // it should not exist, but its deletion has failed, and no other client would delete it
}

// Adopt implements drivers.Adopter.
func (s *session) Adopt(owner string) { s.owners.Adopt(owner) }

// Ended implements drivers.Ender: a hold ends with its session.
func (s *session) Ended() error { return s.ended }

// Crash implements drivers.Crasher. The server ends the session after its time-out without a message.
func (s *session) Crash() {
	s.present.stop(errClosed)
	go s.present.close()
}

// Release implements drivers.Session.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (removed bool, err error) {
	if l.Owner == "" {
		return false, fail("release", ctx.Err())
	}
	n := s.nodes[l.Owner]
	if n == nil {
		n = &node{key: l.Key, owner: l.Owner}
	}
	removed, err = s.discard(ctx, n)
	return removed, fail("release", err)
}

// discard deletes a node at its path, or whatever free finds of its owner if an answer was lost: a node of the same
// path may be another client's by now. If that fails, it is tried again before anything else.
func (s *session) discard(ctx context.Context, n *node) (removed bool, err error) {
	s.ended = nil
	if n.conn == nil || n.path == "" && !n.conn.expired() {
		removed, err = s.free(ctx, n.key, n.owner)
	} else if removed, err = s.remove(ctx, n.conn, n.path); errors.Is(err, zk.ErrSessionExpired) { // the node has, too
		s.ended, err = fmt.Errorf("ZooKeeper has ended the session 0x%x: it had not heard of it for %v, or was told to",
			n.conn.id, time.Duration(s.svc.granted.Load())), nil
	}
	if err == nil {
		delete(s.nodes, n.owner)
		return removed, nil
	}
	n.path, n.left = "", true
	s.nodes[n.owner] = n
	return false, err
}

// tidy deletes what is left, and returns the present session. Until it succeeds, the client tries nothing else.
func (s *session) tidy(ctx context.Context) (*conn, error) {
	for _, n := range s.nodes {
		if n.left {
			if _, err := s.discard(ctx, n); err != nil {
				return nil, err
			}
		}
	}
	return s.conn(ctx)
}

// Close implements io.Closer. It frees what the client holds: with its session, or one by one if other clients share
// that.
func (s *session) Close() (err error) {
	if s.svc.shared == nil {
		s.present.close()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.svc.to.io)
	defer cancel()
	for _, n := range s.nodes {
		if _, failed := s.discard(ctx, n); !errors.Is(failed, errClosed) { // otherwise its end has freed them
			err = errors.Join(err, failed)
		}
	}
	return fail("release", err)
}

// upToDate returns the present session, in which later reads return the latest state. A member of an ensemble answers
// reads by itself, and may not know yet what others have changed, nor what this client has changed, if the answer to
// that was lost with the connection to another member. It has applied all earlier changes when it answers a
// transaction, even one that changes nothing or fails. Sync would not do: the leader answers its own clients at once,
// and it announces a change to the other members before it applies that itself.
func (s *session) upToDate(ctx context.Context, key string) (*conn, error) {
	c, err := s.conn(ctx)
	if err != nil || !s.svc.ensemble() {
		return c, err
	}
	_, err = s.multi(ctx, c, &zk.CheckVersionRequest{Path: s.svc.node(key), Version: -1})
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return c, err
}

// watch waits until a node is deleted, or may have been: another connection also ends it, because the library may fail
// to set its watches again. It also ends at the deadline of l.
func (s *session) watch(ctx context.Context, l *drivers.Lease, path string) error {
	c, err := s.conn(ctx)
	if err != nil {
		return err
	}
	event, err := ask(ctx, &s.caller, c, func(z *zk.Conn) (<-chan zk.Event, error) {
		found, _, event, err := z.ExistsW(path)
		if !found {
			event = nil
		}
		return event, err
	})
	if err != nil || event == nil {
		return err
	}
	limited, cancel := context.WithCancel(ctx)
	if !l.Deadline.IsZero() {
		limited, cancel = context.WithDeadline(ctx, l.Deadline)
	}
	defer cancel()
	select {
	case <-event:
	case <-s.next:
	case <-limited.Done():
		return ctx.Err()
	}
	return nil
}

// The requests that several operations make.

func (k *caller) multi(ctx context.Context, c *conn, ops ...any) ([]zk.MultiResponse, error) {
	return ask(ctx, k, c, func(z *zk.Conn) ([]zk.MultiResponse, error) { return z.Multi(ops...) })
}

// exists returns the state of a node, or nil if there is none.
func (k *caller) exists(ctx context.Context, c *conn, path string) (*zk.Stat, error) {
	return ask(ctx, k, c, func(z *zk.Conn) (*zk.Stat, error) {
		found, stat, err := z.Exists(path)
		if !found {
			stat = nil
		}
		return stat, err
	})
}

// children returns the names of the nodes below a node: none if that does not exist.
func (k *caller) children(ctx context.Context, c *conn, path string) ([]string, error) {
	names, err := ask(ctx, k, c, func(z *zk.Conn) ([]string, error) {
		names, _, err := z.Children(path)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// remove deletes a node. It reports whether there was one.
func (k *caller) remove(ctx context.Context, c *conn, path string) (bool, error) {
	_, err := ask(ctx, k, c, func(z *zk.Conn) (bool, error) { return true, z.Delete(path, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}
