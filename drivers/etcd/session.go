// One client's session with etcd: its leases, and what happens to them when an answer gets lost.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// session is one simulated client.
type session struct {
	service *service
	conn    *clientv3.Client
	ctx     context.Context // until it is closed or crashes, or its service is closed
	stop    context.CancelFunc

	seq    int64    // of owners
	grants []*grant // those that are not known to be gone
	live   *grant   // the one that new keys are bound to; the others are retired; nil: not granted yet
	place  *place   // in a line; nil if not in line
	ended  error    // why the last hold was gone
}

// grant is a lease that etcd has granted to the session, which the library keeps alive.
//
// If it is unknown whether a request has made a key, the request may still be on its way: then deleting the key is not
// enough. The lease is retired, which means that nothing new is bound to it. Once it has no owners, it is no longer kept
// alive, and is revoked as soon as a server answers. A request that arrives after that finds no lease and makes no key.
// The owner of that key is none of them, so that the key ends with the lease even if nobody releases it.
type grant struct {
	id     clientv3.LeaseID
	name   string                                  // the name of its keys
	alive  <-chan *clientv3.LeaseKeepAliveResponse // closed when it is lost
	stop   context.CancelFunc                      // ends the keep-alives
	owners []string                                // whose keys exist, to hold or to wait in a line
}

// Session implements drivers.Service. It grants the session's lease, so that no acquisition takes the time for it.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	c := &session{service: s, conn: s.conns[id%len(s.conns)]}
	c.ctx, c.stop = context.WithCancel(s.ctx)
	if _, err := c.lease(ctx); err != nil {
		c.stop()
		return nil, fail("session", err)
	}
	return c, nil
}

// usable returns an error if no request can be made.
func (s *session) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil || s.ctx.Err() == nil {
		return err
	}
	return errClosed
}

// request begins one round trip.
func (s *session) request(ctx context.Context) (context.Context, context.CancelFunc) {
	s.service.trips.Add(1)
	return context.WithTimeout(ctx, s.service.io)
}

// do makes one round trip for an operation.
func (s *session) do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if err := s.usable(ctx); err != nil {
		return clientv3.OpResponse{}, err
	}
	limited, cancel := s.request(ctx)
	defer cancel()
	return s.conn.Do(limited, op)
}

// lost reports whether the lease is over, as far as known here: the server has said so, or has been silent for as long
// as the lease lasts.
func (s *session) lost(g *grant) bool {
	for {
		select {
		case _, ok := <-g.alive:
			if !ok {
				return true
			}
			s.service.keepAlives.Add(1)
		default:
			return false
		}
	}
}

// lease returns the lease to bind a key to: the session's, or a new one if that is lost.
func (s *session) lease(ctx context.Context) (*grant, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if s.live != nil && !s.lost(s.live) {
		return s.live, nil
	}
	s.retire(s.live)
	if err := s.revokeRetired(ctx); err != nil {
		return nil, err
	}
	limited, cancel := s.request(ctx)
	defer cancel()
	answer, err := s.conn.Grant(limited, s.service.ttl) // one whose answer is lost expires, without any keys
	if err != nil {
		return nil, err
	}
	keep, stop := context.WithCancel(s.ctx)
	g := &grant{id: answer.ID, name: strconv.FormatInt(int64(answer.ID), 16), stop: stop}
	s.service.leases.Store(g.id, nil)
	s.service.granted.Store(answer.TTL)
	s.live, s.grants = g, append(s.grants, g)
	g.alive, err = s.conn.KeepAlive(keep, g.id)
	return g, err
}

// retire makes new keys use another lease.
func (s *session) retire(g *grant) {
	if s.live == g {
		s.live = nil
	}
	if g != nil && len(g.owners) == 0 {
		g.stop()
	}
}

// revokeRetired revokes the retired leases without owners, and with them what requests under way may have made.
func (s *session) revokeRetired(ctx context.Context) (err error) {
	s.grants = slices.DeleteFunc(s.grants, func(g *grant) bool {
		if err != nil || g == s.live || len(g.owners) > 0 {
			return false
		}
		g.stop()
		limited, cancel := s.request(ctx)
		defer cancel()
		if _, err = s.conn.Revoke(limited, g.id); err != nil && !gone(err) {
			return false
		}
		s.service.leases.Delete(g.id)
		err = nil
		return true
	})
	return err
}

// gone reports whether a lease does not exist (any more).
func gone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// drop records that an owner has no key any more, and returns the lease that the key was bound to; nil if it was
// another session's, or dropped already.
func (s *session) drop(owner string) *grant {
	for _, g := range s.grants {
		if i := slices.Index(g.owners, owner); i >= 0 {
			g.owners = slices.Delete(g.owners, i, i+1)
			return g
		}
	}
	return nil
}

// Ended implements drivers.Ender: a hold ends with its lease.
func (s *session) Ended() error { return s.ended }

// explain finds out why a hold is gone.
func (s *session) explain(ctx context.Context, g *grant) {
	if s.ended = nil; !s.lost(g) {
		limited, cancel := s.request(ctx)
		defer cancel()
		if left, err := s.conn.TimeToLive(limited, g.id); err != nil || left.TTL > 0 {
			return
		}
	}
	s.ended = fmt.Errorf("etcd has ended the lease %s: it was revoked, or not kept alive within its TTL of %ds",
		g.name, s.service.granted.Load())
}

// Close ends the session, which frees whatever it holds and leaves its line.
func (s *session) Close() error {
	if s.ctx.Err() != nil { // it has crashed, or the service has revoked its leases
		return nil
	}
	defer s.stop()
	s.live = nil
	for _, g := range s.grants {
		g.owners = nil
	}
	return fail("close of a session", s.revokeRetired(context.Background()))
}

// Crash implements drivers.Crasher. The lease, which belongs to this client alone, is no longer kept alive, and
// expires. Closing the service does not revoke it either. The connection stays, because others share it.
func (s *session) Crash() {
	s.stop()
	for _, g := range s.grants {
		s.service.leases.Delete(g.id)
	}
}
