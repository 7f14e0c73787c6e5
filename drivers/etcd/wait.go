// Waiting in line (-wait native): each waiter watches the key before its own, so that a release wakes one.
//
// A watch that starts at a past revision is "unsynced" to the server, which handles those only every 100 ms
// (mvcc/watchable_store.go). Any write to the store, of any key, between the answer that names the predecessor and the
// start of the watch puts it into the past, so under load it nearly always is; concurrency.Mutex even starts each watch
// at the present revision, which counts as past as well. Here a watch starts wherever the server is and reports the
// revision. If the store has changed since the predecessor was seen, the client asks for it once more. A gap remains
// inside the server, between its choice of the start and the start: now and then a watch is still late.
package etcd

import (
	"context"
	"errors"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockbench/lockbench/drivers"
)

// place is a place in the line for a key.
type place struct {
	hold             // of the key of the place
	key       string // the lock
	rev       int64  // at which the key was made
	ahead     string // the key before it
	aheadRev  int64  // the revision at which that was made; a later client may use the same key
	seen      int64  // a revision at which that existed
	watch     *watch // of the key ahead; nil: none yet
	granted   bool   // there is no key before it
	uncertain bool   // it is unknown whether the key was made
}

// leavePlace ends the watch of the client's place, if it has one, and forgets the place.
func (s *session) leavePlace() *place {
	p := s.place
	if s.place = nil; p != nil {
		p.unwatch()
	}
	return p
}

func (p *place) unwatch() {
	if p.watch != nil {
		p.watch.end()
		p.watch = nil
	}
}

// Wait implements drivers.Waiter. It returns when the client has the lock, which Try then confirms without a request.
func (s *session) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := s.usable(ctx); err != nil {
		return waitError(ctx, err)
	}
	var deadline <-chan time.Time
	if !l.Deadline.IsZero() {
		left := time.Until(l.Deadline)
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(left)
		defer timer.Stop()
		deadline = timer.C
	}
	if p := s.place; p != nil && (p.key != l.Key || p.uncertain) {
		if err := s.withdraw(ctx); err != nil {
			return waitError(ctx, err)
		}
	}
	for {
		if s.place == nil {
			if err := s.enqueue(ctx, l.Key); err != nil {
				return waitError(ctx, err)
			}
		}
		p := s.place
		if p.granted {
			return nil
		}
		if p.watch == nil {
			p.watch = s.conn.watcher.watch(p.ahead)
		}
		select {
		case e := <-p.watch.events:
			if e.created {
				s.trips.Add(1)
			} else {
				s.notices.Add(1)
				p.watch = nil // this was its last event
			}
			if err := s.follow(ctx, l.Deadline, e); err != nil {
				return waitError(ctx, err)
			}
		case _, ok := <-p.grant.alive:
			if !ok { // the place is lost with the lease
				s.leaveLine()
			}
		case <-deadline:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-s.service.done:
			return fail("wait", errClosed)
		}
	}
}

// waitError returns the error of the caller's own context unchanged.
func waitError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fail("wait", err)
}

// stand records the key ahead of the client: the newest of the older keys, if there is any.
func (p *place) stand(before []*mvccpb.KeyValue) {
	if len(before) == 0 {
		p.unwatch()
		p.granted = true
		return
	}
	if ahead := before[0]; string(ahead.Key) != p.ahead || ahead.CreateRevision != p.aheadRev {
		p.unwatch()
		p.ahead, p.aheadRev = string(ahead.Key), ahead.CreateRevision
	}
}

// enqueue makes the client's key and learns which one is ahead.
func (s *session) enqueue(ctx context.Context, key string) error {
	own := false // the session itself holds the key
	for again := true; ; again = false {
		g, err := s.lease(ctx)
		if err != nil {
			return err
		}
		name := g.name
		if own {
			name += "-" + strconv.FormatInt(s.seq, 36)
		}
		p := &place{hold: hold{session: s, owner: s.owner(name), grant: g}, key: key}
		limited, cancel := s.request(ctx)
		before := append(clientv3.WithLastCreate(), clientv3.WithKeysOnly())
		mine := line(key) + name
		answer, err := s.conn.Txn(limited).If(clientv3.Compare(clientv3.CreateRevision(mine), "=", 0)).Then(
			clientv3.OpGet(line(key), before...),
			clientv3.OpPut(mine, p.owner, clientv3.WithLease(g.id)),
		).Commit()
		cancel()
		switch {
		case err == nil && !answer.Succeeded:
			own = true
			continue
		case err == nil:
			g.holds++
			p.counted, p.rev, p.seen = true, answer.Header.Revision, answer.Header.Revision
			s.place = p
			p.stand(answer.Responses[0].GetResponseRange().Kvs)
			return nil
		case again && errors.Is(err, rpctypes.ErrLeaseNotFound):
			s.retire(g)
			continue
		case !drivers.NoEffect(fail("wait", err)):
			p.uncertain, s.place = true, p
			s.retire(g)
		}
		return err
	}
}

// follow looks at the line after an event of the watch, if necessary. It gives up at the deadline without an error.
func (s *session) follow(ctx context.Context, deadline time.Time, e event) error {
	p := s.place
	if e.created && e.rev <= p.seen {
		return nil // nothing has changed since
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	short := false // the deadline comes before the time-out of a request
	if !deadline.IsZero() {
		limited, cancel = context.WithDeadline(ctx, deadline)
		short = time.Until(deadline) < s.service.io
	}
	defer cancel()
	var err error
	if e.created {
		err = s.checkAhead(limited, e.rev)
	}
	if err == nil && (!e.created || p.seen < e.rev) {
		err = s.look(limited)
	}
	// gRPC tells the server the deadline; under load the server notices first that it has passed.
	if err != nil && ctx.Err() == nil && (limited.Err() != nil || short && outOfTime(err)) {
		return nil
	}
	return err
}

// checkAhead asks one member, which need not ask the others. That is enough to see that the key ahead still exists at or
// after the start of the watch, but not for a grant.
func (s *session) checkAhead(ctx context.Context, rev int64) error {
	p := s.place
	limited, cancel := s.request(ctx)
	defer cancel()
	answer, err := s.conn.Get(limited, p.ahead, clientv3.WithSerializable(), clientv3.WithKeysOnly())
	if err == nil && len(answer.Kvs) > 0 && answer.Kvs[0].CreateRevision == p.aheadRev && answer.Header.Revision >= rev {
		p.seen = answer.Header.Revision
	}
	return err
}

// look asks for the client's place in the line. It drops a place that no longer exists.
func (s *session) look(ctx context.Context) error {
	p := s.place
	limited, cancel := s.request(ctx)
	defer cancel()
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(p.rev-1), clientv3.WithKeysOnly())
	answer, err := s.conn.Txn(limited).Then(
		clientv3.OpGet(keyOf(p.key, p.owner), clientv3.WithKeysOnly()),
		clientv3.OpGet(line(p.key), before...),
	).Commit()
	if err != nil {
		return err
	}
	if mine := answer.Responses[0].GetResponseRange().Kvs; len(mine) == 0 || mine[0].CreateRevision != p.rev {
		s.leaveLine()
		return nil
	}
	p.seen = answer.Header.Revision
	p.stand(answer.Responses[1].GetResponseRange().Kvs)
	return nil
}

// confirm handles the Try of a client that is in line for the key.
func (s *session) confirm(ctx context.Context, l *drivers.Lease) (held, answered bool, err error) {
	p := s.place
	if p == nil || p.key != l.Key {
		return false, false, nil
	}
	l.Owner = p.owner
	l.Aux = &p.hold
	if err := s.usable(ctx); err != nil {
		return false, false, fail("try", err)
	}
	switch {
	case p.uncertain:
		err = s.withdraw(ctx)
	case p.grant.lost():
		s.leaveLine()
	case !p.granted:
		err = s.look(ctx)
	}
	if err != nil {
		return false, false, fail("try", err)
	}
	if s.place == nil {
		l.Reset()
		l.Aux = nil
		return false, false, nil // like a new client
	}
	if !p.granted {
		return false, true, nil
	}
	l.Fence, l.Aux = uint64(p.rev), &hold{s, p.owner, p.grant, true}
	p.counted = false
	s.place = nil
	return true, true, nil
}

// Leave implements drivers.Waiter.
func (s *session) Leave(ctx context.Context, l *drivers.Lease) error {
	if s.place == nil || s.place.key != l.Key {
		return nil
	}
	return fail("leave", s.withdraw(ctx))
}

// withdraw removes the client from its line.
func (s *session) withdraw(ctx context.Context) error {
	p := s.leavePlace()
	_, err := s.remove(ctx, p.key, p.owner, &p.hold)
	return err
}

// leaveLine records that the client's place is gone, and its lease with it.
func (s *session) leaveLine() {
	p := s.leavePlace()
	if p.counted {
		p.counted = false
		p.grant.holds--
	}
	s.retire(p.grant)
}
