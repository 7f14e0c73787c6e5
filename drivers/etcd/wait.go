// Waiting in line (-wait native): each waiter watches the key before its own, so that a release wakes one.
//
// A watch that starts at a past revision is "unsynced" to the server, which handles those only every 100 ms
// (mvcc/watchable_store.go). Any write to the store, of any key, between the answer that names the predecessor and the
// start of the watch puts it into the past, so under load it nearly always is; concurrency.Mutex even starts each watch
// at the present revision, which counts as past as well. Here a watch starts wherever the server is and reports the
// revision. If the store has changed since the predecessor was seen, the client asks for it once more. A gap remains
// inside the server, between its choice of the start and the start: now and then a watch is still late.
//
// The library begins the watches of a connection one after the other, each a round trip after the one before it: on a
// slow network more connections (-conns) help.
package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// Wait implements drivers.Waiter. It returns when the client has the lock, which Try then confirms without a request.
func (s *session) Wait(ctx context.Context, l *drivers.Lease) error {
	limited, cancel := context.WithCancel(ctx) // gRPC would tell the server a deadline, which might notice it first
	defer cancel()
	if left := time.Until(l.Deadline); left > 0 {
		defer time.AfterFunc(left, cancel).Stop()
	} else if !l.Deadline.IsZero() {
		return ctx.Err()
	}
	err := s.wait(ctx, limited, l.Key)
	if ctx.Err() != nil || limited.Err() != nil {
		return ctx.Err()
	}
	return fail("wait", err)
}

// wait waits until limited is done. That ends no request that makes or deletes a key: its outcome would be unknown.
func (s *session) wait(ctx, limited context.Context, lock string) (err error) {
	if p := s.place; p != nil && (p.lock != lock || p.rev == 0) {
		err = s.withdraw(ctx)
	}
	for err == nil {
		if s.place == nil {
			p, err := s.join(ctx, lock, "", true)
			if p.grant != nil {
				s.place = p
			}
			if err != nil {
				return err
			}
		}
		if s.place.ahead == "" {
			return nil
		}
		err = s.watch(limited, s.place)
	}
	return err
}

// watch returns when a place in the line may have changed, and has been looked at. The library restores a watch after
// its connection broke; here one that does not begin in time is given up, and the look at the line says why.
func (s *session) watch(ctx context.Context, p *place) error {
	watching, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx)) // a member without a leader would be silent
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	late := time.AfterFunc(s.service.io, cancel)
	events := s.conn.Watch(watching, p.ahead, clientv3.WithFilterPut(), clientv3.WithCreatedNotify())
	late.Stop()
	for ahead := p.ahead; s.place == p && p.ahead == ahead; {
		select {
		case event := <-events: // an empty one after the last
			created := event.Created && !event.Canceled
			if created {
				s.service.trips.Add(1)
				if event.Header.Revision <= p.seen {
					continue
				}
			} else if len(event.Events) > 0 {
				s.service.notices.Add(1)
			}
			if err := s.look(ctx); err != nil || !created {
				return err
			}
		case _, ok := <-p.grant.alive:
			if ok {
				s.service.keepAlives.Add(1)
			} else {
				s.losePlace()
			}
		}
	}
	return nil
}

// stand records the key ahead of the client, at some revision: the newest of the older keys, if there is any.
func (p *place) stand(at int64, older []*mvccpb.KeyValue) {
	if p.seen, p.ahead = at, ""; len(older) > 0 {
		p.ahead = string(older[0].Key)
	}
}

// look asks for the client's place in the line, and the one before it. It drops a place that no longer exists.
func (s *session) look(ctx context.Context) error {
	p := s.place
	lastTwo := append(clientv3.WithLastCreate(), clientv3.WithLimit(2), clientv3.WithMaxCreateRev(p.rev),
		clientv3.WithKeysOnly())
	answer, err := s.do(ctx, clientv3.OpGet(line(p.lock), lastTwo...))
	if err != nil {
		return err
	}
	if kvs := answer.Get().Kvs; len(kvs) > 0 && kvs[0].CreateRevision == p.rev {
		p.stand(answer.Get().Header.Revision, kvs[1:])
	} else {
		s.losePlace()
	}
	return nil
}

// confirm makes sure of the place of a client that tries instead of waiting. It may find that the place is lost.
func (s *session) confirm(ctx context.Context) error {
	p := s.place
	switch {
	case p.rev == 0:
		return s.withdraw(ctx)
	case s.lost(p.grant):
		s.losePlace()
	case p.ahead != "":
		return s.look(ctx)
	}
	return s.usable(ctx)
}

// Leave implements drivers.Waiter.
func (s *session) Leave(ctx context.Context, l *drivers.Lease) error {
	if s.place == nil || s.place.lock != l.Key {
		return nil
	}
	return fail("leave", s.withdraw(ctx))
}

// withdraw removes the client from its line.
func (s *session) withdraw(ctx context.Context) error {
	p := s.place
	s.place = nil
	_, err := s.remove(ctx, p.lock, p.owner)
	return err
}

// losePlace records that the client's place is gone, and its lease with it.
func (s *session) losePlace() {
	s.drop(s.place.owner)
	s.retire(s.place.grant)
	s.place = nil
}
