// The design sequential: ZooKeeper's own lock recipe, as in Curator's InterProcessMutex. Each client that wants the
// lock makes a numbered ephemeral node in the key's container; the lowest holds, and each other client watches the node
// before its own, so that a release wakes one.
package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

var sequential = drivers.Design{
	Name:   "sequential",
	Traits: drivers.Traits{Exclusive: true, Owned: true, Fenced: true, Fair: true, Waits: true, Session: true},
	Models: "ZooKeeper's lock recipe and Curator's InterProcessMutex: a numbered ephemeral node each, the lowest holds",
	Wrong:  "a holder paused beyond its session goes on unaware, unless the fence is checked",
	Loses: []drivers.Hazard{
		drivers.HazardHolderPauses, drivers.HazardSessionLost, drivers.HazardAcquireReplyLost, drivers.HazardOrphanWatchdog,
	},
}

type sequentialSession struct {
	session
	place *node // in line, not a hold; the owner is part of its name, to find it if the server's answer was lost
	taken bool  // the last key that it tried, and did not wait for, was taken
}

// Try implements drivers.Session. It gets a free lock in one round trip; see enter. A client that is refused deletes
// its node again, which makes two useless changes. So a client that was refused the last time first looks whether the
// line is empty, unless a member of an ensemble would answer that too early; see upToDate.
func (s *sequentialSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	waited := s.waits(l.Key)
	// Wait knows whether the place has become the lock, unless the connection has been lost since.
	if waited && !(s.place.first && s.place.conn.connected()) {
		l.Owner = s.place.owner
		if _, err := s.look(ctx, true); err != nil {
			return false, fail("try", err)
		}
		waited = s.place != nil
	}
	if !waited {
		l.Owner = s.owners.Next()
		c, err := s.leave(ctx)
		if err == nil && s.taken && !s.svc.ensemble() {
			var stat *zk.Stat
			if stat, err = s.exists(ctx, c, s.svc.node(l.Key)); stat != nil && stat.NumChildren > 0 {
				return false, nil
			}
		}
		if err == nil {
			err = s.enter(ctx, c, l.Key, l.Owner)
		}
		if err != nil {
			return false, fail("try", err)
		}
	}
	n := s.place
	l.Owner = n.owner
	if !waited { // after a wait there are usually others in line
		s.taken = !n.first
	}
	if n.first { // it is a place no more
		l.Fence, s.place = n.fence, nil
		return true, nil
	}
	if waited {
		return false, nil
	}
	_, err := s.leave(ctx)
	return false, halfway("try", err)
}

// waits reports whether the client is in line for a key, as far as known.
func (s *sequentialSession) waits(key string) bool {
	return s.place != nil && s.place.key == key && s.place.path != ""
}

// enter makes a node at the end of the line. The same transaction sets the container's data, only because the answer to
// that tells the container's state: if there is one node it is this client's, the lock is held, and the transaction's
// number is that of the node's creation. That takes one round trip; the recipe takes two (create, list), and this
// library another one for the fence, because it has no create that returns the node's state. A transaction cannot make
// the container only if there is none. After an error the place is one that leave must look for.
func (s *sequentialSession) enter(ctx context.Context, c *conn, key, owner string) error {
	n := &node{key: key, owner: owner}
	s.place, s.nodes[owner] = n, n
	parent, acl := s.svc.node(key), s.svc.to.acl
	create := &zk.CreateRequest{Path: parent + "/" + nameOf(owner), Acl: acl, Flags: zk.FlagEphemeralSequential}
	for {
		answers, err := s.multi(ctx, c, create, &zk.SetDataRequest{Path: parent, Version: -1})
		if err == nil {
			stat := answers[1].Stat
			n.path, n.conn, n.fence, n.first = answers[0].String, c, uint64(stat.Mzxid), stat.NumChildren == 1
			return nil
		}
		if errors.Is(err, zk.ErrNoNode) { // the server deletes a container that has been empty for a while
			_, err = ask(ctx, &s.caller, c, func(z *zk.Conn) (string, error) {
				return z.CreateContainer(parent, nil, zk.FlagContainer, acl)
			})
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
}

// line returns the names of the nodes in line, in order, and which of them is an owner's; -1: none. latest says that
// the client may not have made a change before.
func (s *sequentialSession) line(ctx context.Context, key, owner string, latest bool) (
	c *conn, names []string, at int, err error,
) {
	if latest {
		c, err = s.upToDate(ctx, key)
	} else {
		c, err = s.conn(ctx)
	}
	if err != nil {
		return nil, nil, -1, err
	}
	names, err = s.children(ctx, c, s.svc.node(key))
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	at = slices.IndexFunc(names, func(name string) bool { return strings.TrimSuffix(name, number(name)) == nameOf(owner) })
	return c, names, at, err
}

// look returns the node before this client's. If there is none, it records that, or forgets a place that is no longer
// in line, because the session has ended or another client has cleaned up.
func (s *sequentialSession) look(ctx context.Context, latest bool) (before string, err error) {
	c, names, at, err := s.line(ctx, s.place.key, s.place.owner, latest)
	if err != nil {
		return "", err
	}
	if at < 0 || c != s.place.conn { // that of an earlier session is about to vanish
		delete(s.nodes, s.place.owner)
		s.place = nil
		return "", nil
	}
	if s.place.first = at == 0; at > 0 {
		before = s.svc.node(s.place.key) + "/" + names[at-1]
	}
	return before, nil
}

// Wait implements drivers.Waiter. It takes a place in line and returns when that is the lock.
func (s *sequentialSession) Wait(ctx context.Context, l *drivers.Lease) error {
	for {
		err := ctx.Err()
		over := !l.Deadline.IsZero() && !time.Now().Before(l.Deadline)
		if err != nil || over || s.waits(l.Key) && s.place.first {
			return fail("wait", err)
		}
		var before string
		if !s.waits(l.Key) {
			var c *conn
			if c, err = s.leave(ctx); err == nil {
				err = s.enter(ctx, c, l.Key, s.owners.Next())
			}
		} else if before, err = s.look(ctx, false); before != "" {
			err = s.watch(ctx, l, before)
		}
		if err != nil {
			return fail("wait", err)
		}
	}
}

// Leave implements drivers.Waiter: it gives up the place, and the lock if it has come meanwhile.
func (s *sequentialSession) Leave(ctx context.Context, _ *drivers.Lease) error {
	if s.place == nil {
		return nil
	}
	_, err := s.leave(ctx)
	return fail("leave", err)
}

// leave gives up a place that is no longer wanted; see also tidy.
func (s *sequentialSession) leave(ctx context.Context) (*conn, error) {
	p := s.place
	if s.place = nil; p != nil && s.nodes[p.owner] == p { // it may have been released
		if _, err := s.discard(ctx, p); err != nil {
			return nil, err
		}
	}
	return s.tidy(ctx)
}

// freeOwn deletes the node of an owner, wherever it is in line. It was the lock if it was the first.
func (s *sequentialSession) freeOwn(ctx context.Context, key, owner string) (removed bool, err error) {
	c, names, at, err := s.line(ctx, key, owner, true)
	if err != nil || at < 0 {
		return false, err
	}
	removed, err = s.remove(ctx, c, s.svc.node(key)+"/"+names[at])
	return removed && at == 0, err
}

// nameOf returns the beginning of the name of an owner's node.
func nameOf(owner string) string { return url.PathEscape(owner) + "-" }

// number returns the number that the server has given to a node: ten digits, at the end.
func number(name string) string { return name[max(0, len(name)-10):] }
