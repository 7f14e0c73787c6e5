// One client's session with etcd: its lease, and what happens to that when an answer gets lost.
package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// session is one simulated client.
type session struct {
	service *service
	conn    *conn
	seq     int64    // of owners
	live    *grant   // new keys are bound to it; nil: not granted yet
	old     []*grant // retired ones that are not known to be gone
	place   *place   // in a line; nil if not in line
	dead    bool     // it has crashed
	ended   error    // why the last hold was gone

	trips, notices atomic.Int64
}

// grant is a lease that etcd has granted to the session, which the library keeps alive.
//
// If it is unknown whether a request has made a key, the request may still be on its way: then deleting the key is not
// enough. The lease is retired, which means that nothing new is bound to it. Once no hold depends on it, it is no
// longer kept alive, and is revoked as soon as a server answers. A request that arrives after that finds no lease and
// makes no key.
type grant struct {
	id      clientv3.LeaseID
	name    string                                  // the name of its keys
	alive   <-chan *clientv3.LeaseKeepAliveResponse // closed when it is lost
	stop    context.CancelFunc                      // ends the keep-alives
	holds   int                                     // keys bound to it that are held, or wait in a line
	retired bool
}

// lost reports whether the lease is over, as far as known here: the server has said so, or has been silent for as long
// as the lease lasts.
func (g *grant) lost() bool {
	for {
		select {
		case _, ok := <-g.alive:
			if !ok {
				return true
			}
		default:
			return false
		}
	}
}

// Ended implements drivers.Ender: a hold ends with its lease.
func (s *session) Ended() error { return s.ended }

// gone finds out why a hold is gone.
func (s *session) gone(ctx context.Context, g *grant) {
	if s.ended = nil; !g.lost() {
		limited, cancel := s.request(ctx)
		defer cancel()
		if left, err := s.conn.TimeToLive(limited, g.id); err != nil || left.TTL > 0 {
			return
		}
	}
	s.ended = fmt.Errorf("etcd has ended the lease %s: it was revoked, or not kept alive within its TTL of %ds", g.name, s.service.granted.Load())
}

// owner returns a new owner for the key of that name.
func (s *session) owner(name string) string {
	s.seq++
	return name + ":" + strconv.FormatInt(s.seq, 36)
}

// usable returns an error if no request can be made.
func (s *session) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.dead {
		return errClosed
	}
	select {
	case <-s.service.done:
		return errClosed
	default:
		return nil
	}
}

// request begins one round trip.
func (s *session) request(ctx context.Context) (context.Context, context.CancelFunc) {
	s.trips.Add(1)
	return context.WithTimeout(ctx, s.service.io)
}

// lease returns the lease to bind a key to: the session's, or a new one if that is lost.
func (s *session) lease(ctx context.Context) (*grant, error) {
	if s.live != nil && s.live.lost() {
		s.retire(s.live)
	}
	if s.live != nil {
		return s.live, nil
	}
	if err := s.revokeRetired(ctx); err != nil {
		return nil, err
	}
	limited, cancel := s.request(ctx)
	defer cancel()
	keep, stop := context.WithCancel(context.Background())
	// Choose the number here, so that a lease can be revoked even if the answer to its grant gets lost.
	id := 1 + rand.Int64N(math.MaxInt64)
	g := &grant{id: clientv3.LeaseID(id), name: strconv.FormatInt(id, 16), stop: stop}
	if !s.service.note(g.id) {
		stop()
		return nil, errClosed
	}
	answer, err := s.conn.leases.LeaseGrant(limited, &pb.LeaseGrantRequest{ID: int64(g.id), TTL: s.service.ttl})
	if err == nil {
		s.service.granted.Store(answer.TTL)
		g.alive, err = s.conn.KeepAlive(keep, g.id)
	}
	if err != nil {
		s.retire(g) // it may have been granted
		return nil, clientv3.ContextError(limited, err)
	}
	s.live = g
	return g, nil
}

// note registers a lease for Close, unless that was called already.
func (s *service) note(id clientv3.LeaseID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.leases[id] = struct{}{}
	}
	return !s.closed
}

// retire makes new keys use another lease.
func (s *session) retire(g *grant) {
	if !g.retired {
		g.retired = true
		s.old = append(s.old, g)
	}
	if s.live == g {
		s.live = nil
	}
	if g.holds == 0 {
		g.stop()
	}
}

// revokeRetired revokes the retired leases that no hold depends on.
func (s *session) revokeRetired(ctx context.Context) error {
	for i := 0; i < len(s.old); {
		g := s.old[i]
		if g.holds > 0 {
			i++
			continue
		}
		if err := s.revoke(ctx, g); err != nil {
			return err
		}
		s.old = slices.Delete(s.old, i, i+1)
	}
	return nil
}

// revoke ends a lease, and with it the keys that are bound to it.
func (s *session) revoke(ctx context.Context, g *grant) error {
	g.stop()
	limited, cancel := s.request(ctx)
	defer cancel()
	if _, err := s.conn.Revoke(limited, g.id); err != nil && !gone(err) {
		return err
	}
	s.service.mu.Lock()
	delete(s.service.leases, g.id)
	s.service.mu.Unlock()
	return nil
}

// Close ends the session, which frees whatever it holds and leaves its line.
func (s *session) Close() error {
	defer s.service.forget(s)
	s.leavePlace()
	if s.live != nil {
		s.retire(s.live)
	}
	var errs []error
	closed := s.usable(context.Background()) != nil // the service has ended the session
	for _, g := range s.old {
		g.stop()
		if !closed {
			errs = append(errs, s.revoke(context.Background(), g))
		}
	}
	s.old = nil
	return fail("close of a session", errors.Join(errs...))
}

// Crash implements drivers.Crasher. The lease, which belongs to this client alone, is no longer kept alive, and
// expires. Closing the service does not revoke it either. The connection stays, because others share it.
func (s *session) Crash() {
	s.service.forget(s)
	s.leavePlace()
	grants := s.old
	if s.live != nil {
		grants = append(grants, s.live)
	}
	s.dead, s.live, s.old = true, nil, nil
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	for _, g := range grants {
		g.stop()
		delete(s.service.leases, g.id)
	}
}

// forget keeps the traffic of a closed session.
func (s *service) forget(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.sessions[c]; open {
		delete(s.sessions, c)
		s.past.RoundTrips += c.trips.Load()
		s.past.Notices += c.notices.Load()
	}
}
