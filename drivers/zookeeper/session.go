// What the sessions of both designs have in common.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
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
	svc       *service
	own       bool // it does not share its session with the service
	owners    drivers.Owners
	holds     map[string]hold // by owner: what has been granted and not released
	leftovers []leftover
	clock     *time.Timer // of Wait
	ended     error       // why the last hold was gone
}

// Ended implements drivers.Ender: a hold ends with its session.
func (s *session) Ended() error { return s.ended }

// hold is a lock that was granted.
type hold struct {
	node    string // its deletion releases the lock
	session int64  // its end releases it, too
	asked   bool   // a deletion may have been sent, whose answer was lost
}

// leftover is a node that may exist but should not: its deletion has failed. Ephemeral nodes last as long as the
// session, and no other client would delete it.
type leftover struct{ key, owner string }

// freeing deletes the node of an owner, if there is one.
type freeing func(context.Context, leftover) (removed bool, err error)

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

// release deletes the node of a lease: the one that was granted, or whatever free finds of its owner if an answer was
// lost, because a node of the same name may be the next holder's by now.
func (s *session) release(ctx context.Context, l *drivers.Lease, free freeing) (removed bool, err error) {
	if l.Owner == "" {
		return false, opRelease.fail(ctx.Err())
	}
	h, granted := s.holds[l.Owner]
	if !granted || h.asked && !s.c.wasSession(h.session) {
		removed, err = free(ctx, leftover{l.Key, l.Owner})
	} else if removed, err = s.remove(ctx, h.session, h.node); err != nil {
		h.asked = h.asked || !drivers.NoEffect(opRelease.fail(err))
		s.holds[l.Owner] = h
	}
	if err == nil {
		delete(s.holds, l.Owner)
	}
	s.noteLeftover(l.Key, l.Owner, err)
	return removed, opRelease.fail(err)
}

// noteLeftover records that free has failed, or has succeeded if err is nil.
func (s *session) noteLeftover(key, owner string, err error) {
	d := leftover{key, owner}
	s.leftovers = slices.DeleteFunc(s.leftovers, func(other leftover) bool { return other == d })
	if err != nil {
		s.leftovers = append(s.leftovers, d)
	}
}

// deleteLeftovers deletes what could not be deleted before. Until that succeeds, the client tries nothing else.
func (s *session) deleteLeftovers(ctx context.Context, free freeing) error {
	for len(s.leftovers) > 0 {
		if _, err := free(ctx, s.leftovers[0]); err != nil {
			return err
		}
		s.leftovers = slices.Delete(s.leftovers, 0, 1)
	}
	return nil
}

// remove deletes a node that was made in the session within; if that session has ended, the node has gone with it. 0
// means any.
func (s *session) remove(ctx context.Context, within int64, node string) (removed bool, err error) {
	err = s.delete(ctx, within, node)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		s.ended = nil
		return false, nil
	case errors.Is(err, errExpired):
		s.ended = fmt.Errorf("ZooKeeper has ended the session 0x%x: it had not heard of it for %v, or was told to", within, s.c.to.lasts())
		return false, nil
	}
	return err == nil, err
}

// catchUp makes later reads return the latest state, if they are made in the session that it returns; 0 means any. A
// member of an ensemble answers reads by itself, and may not know yet what others have changed, nor what this client
// has changed, if the answer to that was lost with the connection to another member. It has applied all earlier changes
// when it answers a transaction, even one that changes nothing or fails. Sync would not do: the leader answers its own
// clients at once, and it announces a change to the other members before it applies that itself.
func (s *session) catchUp(ctx context.Context, key string) (within int64, err error) {
	if !s.svc.ensemble() {
		return 0, nil
	}
	_, err = s.multi(ctx, &zk.CheckVersionRequest{Path: s.svc.node(key), Version: -1})
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	return s.last.session, err
}

// watch sets a watch on the deletion of a node. gone is true if there is no such node.
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

// sleep waits for a watch event, a new connection, the deadline of l or the end of ctx; over reports whether it was one
// of the last two.
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
	case <-s.last.changed: // the session may be another one now, or closed
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

// Crash implements drivers.Crasher. The server ends the session after its time-out without a message.
func (s *session) Crash() { s.svc.crash(s.c) }

// end closes the session. If other clients share its session with the service, tidy and then end delete its nodes one
// by one.
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
		return nil // the service is closed, and that has freed them
	}
	return opRelease.fail(err)
}
