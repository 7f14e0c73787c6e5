// What the sessions of both designs have in common.
package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// session is one simulated client. The sessions of the designs embed it.
type session struct {
	caller
	svc    *service
	own    bool // the session with the service is nobody else's
	owners drivers.Owners
	holds  map[string]hold // by owner: what has been granted and not released
	debts  []debt
	clock  *time.Timer // of Wait
}

// hold is a lock that was granted.
type hold struct {
	node    string // whose deletion releases it
	session int64  // whose end does too
}

// debt is a node that may be there and should not: its deletion has failed. Ephemeral nodes last as long as the
// session does, and nobody else would delete it.
type debt struct{ key, owner string }

// freeing is how a design deletes the node of an owner, if there is one.
type freeing func(context.Context, debt) (removed bool, err error)

// Adopt implements drivers.Adopter.
func (s *session) Adopt(owner string) { s.owners.Adopt(owner) }

// node returns the path of a key: one level below the chroot, whatever characters it has.
func (s *service) node(key string) string {
	name := url.PathEscape(key)
	if name == "." || name == ".." {
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return s.chroot + "/" + name
}

// release deletes the node of a lease: the one that was granted, or whatever free finds of its owner if the answer to
// the attempt was lost.
func (s *session) release(ctx context.Context, l *drivers.Lease, free freeing) (removed bool, err error) {
	if l.Owner == "" {
		return false, opRelease.fail(ctx.Err())
	}
	if h, ok := s.holds[l.Owner]; !ok {
		removed, err = free(ctx, debt{l.Key, l.Owner})
	} else if removed, err = s.remove(ctx, h.session, h.node); err == nil {
		delete(s.holds, l.Owner)
	}
	s.owe(l.Key, l.Owner, err)
	return removed, opRelease.fail(err)
}

// owe notes that free has failed, or pays that debt if it has not.
func (s *session) owe(key, owner string, err error) {
	d := debt{key, owner}
	s.debts = slices.DeleteFunc(s.debts, func(other debt) bool { return other == d })
	if err != nil {
		s.debts = append(s.debts, d)
	}
}

// pay deletes what could not be deleted when it should have been. Until that has succeeded the client tries nothing
// else.
func (s *session) pay(ctx context.Context, free freeing) error {
	for len(s.debts) > 0 {
		if _, err := free(ctx, s.debts[0]); err != nil {
			return err
		}
		s.debts = slices.Delete(s.debts, 0, 1)
	}
	return nil
}

// remove deletes a node that was made in a session of ours, which has taken it along if it has ended. 0 is any.
func (s *session) remove(ctx context.Context, within int64, node string) (removed bool, err error) {
	removed, err = ask(ctx, &s.caller, within, func(z *zk.Conn) (bool, error) { return true, z.Delete(node, -1) })
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, errExpired):
		return false, nil
	case err != nil:
		return false, err
	}
	return removed, nil
}

// catchUp makes the next read tell what is so by now. A member of an ensemble answers reads by itself, and may not
// have heard yet what others have changed, nor what we have, if the answer to that was lost with the connection to
// another.
func (s *session) catchUp(ctx context.Context, key string) error {
	if len(s.c.to.servers) == 1 {
		return nil
	}
	node := s.svc.node(key)
	_, err := ask(ctx, &s.caller, 0, func(z *zk.Conn) (string, error) { return z.Sync(node) })
	return err
}

// watch sets a watch on a node that tells when it goes. gone is true if there is none.
func (s *session) watch(ctx context.Context, node string) (event <-chan zk.Event, gone bool, err error) {
	type watched struct {
		event <-chan zk.Event
		gone  bool
	}
	w, err := ask(ctx, &s.caller, 0, func(z *zk.Conn) (watched, error) {
		found, _, event, err := z.ExistsW(node)
		return watched{event, !found}, err
	})
	return w.event, w.gone, err
}

// sleep waits for a watch event, a new connection, the deadline of l or the end of ctx; over tells that it was one of
// the last two.
func (s *session) sleep(ctx context.Context, l *drivers.Lease, event <-chan zk.Event) (over bool, err error) {
	var deadline <-chan time.Time
	if !l.Deadline.IsZero() {
		if s.clock == nil {
			s.clock = time.NewTimer(time.Until(l.Deadline))
		} else {
			s.clock.Reset(time.Until(l.Deadline))
		}
		defer s.clock.Stop()
		deadline = s.clock.C
	}
	select {
	case <-event:
		return false, nil
	case <-s.last.changed: // it may not be the same session any more, or closed
		return false, nil
	case <-deadline:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// outOfTime reports whether a Wait need not begin.
func outOfTime(ctx context.Context, l *drivers.Lease) (over bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, err
	}
	return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline), nil
}

// Crash implements drivers.Crasher. The server ends the session when it has not heard of it for its time-out.
func (s *session) Crash() { s.svc.crash(s.c) }

// end closes the session. If other clients share its session with the service, what it has there is deleted one by
// one, what the design knows of by tidy.
func (s *session) end(tidy func(context.Context) error) error {
	if s.own {
		s.svc.drop(s.c)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.c.to.io)
	defer cancel()
	err := tidy(ctx)
	for _, h := range s.holds {
		_, failed := s.remove(ctx, h.session, h.node)
		err = errors.Join(err, failed)
	}
	clear(s.holds)
	if errors.Is(err, errClosed) {
		return nil // the service is, and that has freed them
	}
	return opRelease.fail(err)
}
