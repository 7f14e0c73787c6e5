// Standing in line in the design sequential.
package zookeeper

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// place is a node in line. A session has at most one that is not a hold.
type place struct {
	key     string
	owner   string // part of the node's name, to find it if the server's answer was lost; empty: none
	node    string // empty if unknown
	session int64
	fence   uint64
	first   bool // it holds the lock
}

// enter makes a node at the end of the line. The same transaction sets the container's data, only because the answer to
// that tells the container's state: if there is one node it is this client's, the lock is held, and the transaction's
// number is that of the node's creation. That takes one round trip; the recipe takes two (create, list), and this
// library another one for the fence, because it has no create that returns the node's state. A transaction cannot make
// the node only if there is no other.
func (s *session) enter(ctx context.Context, key, owner string) (place, error) {
	p := place{key: key, owner: owner}
	parent := s.svc.node(key)
	create := &zk.CreateRequest{Path: parent + "/" + nameOf(owner), Acl: s.svc.to.acl, Flags: zk.FlagEphemeralSequential}
	for {
		answers, err := s.multi(ctx, create, &zk.SetDataRequest{Path: parent, Version: -1})
		if errors.Is(err, zk.ErrNoNode) {
			if err := s.makeLine(ctx, parent); err != nil {
				return p, err
			}
			continue // the server may have deleted it again, but it waits a while before that
		}
		if err != nil {
			return p, err
		}
		p.node, p.session, p.fence = answers[0].String, s.last.session, uint64(answers[1].Stat.Mzxid)
		p.first = answers[1].Stat.NumChildren == 1
		return p, nil
	}
}

// makeLine makes the container of a key: one that the server deletes when it becomes empty, if it supports that (from
// 3.5 on).
func (s *session) makeLine(ctx context.Context, parent string) error {
	_, err := ask(ctx, &s.caller, 0, func(z *zk.Conn) (string, error) {
		return z.CreateContainer(parent, nil, zk.FlagContainer, s.svc.to.acl)
	})
	if err != nil && strings.HasSuffix(err.Error(), ": -6") { // "unimplemented", which the library has no name for
		_, err = ask(ctx, &s.caller, 0, func(z *zk.Conn) (string, error) {
			return z.Create(parent, nil, zk.FlagPersistent, s.svc.to.acl)
		})
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// inLine returns the length of the line, including the holder. An ensemble is asked for it with a change of the
// container's data, because its members answer reads too early; see catchUp.
func (s *session) inLine(ctx context.Context, key string) (int32, error) {
	parent := s.svc.node(key)
	stat, err := ask(ctx, &s.caller, 0, func(z *zk.Conn) (stat *zk.Stat, err error) {
		if s.svc.ensemble() {
			return z.Set(parent, nil, -1)
		}
		_, stat, err = z.Exists(parent)
		return stat, err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return stat.NumChildren, nil
}

// list returns the names of the nodes in line, unordered. within, unless 0, is the session in which it asks.
func (s *session) list(ctx context.Context, within int64, key string) ([]string, error) {
	names, err := s.children(ctx, within, s.svc.node(key))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// free deletes the node of an owner, wherever it is in line. It was the lock if it was the first.
func (s *sequentialSession) free(ctx context.Context, d leftover) (removed bool, err error) {
	within, err := s.catchUp(ctx, d.key)
	if err != nil {
		return false, err
	}
	names, err := s.list(ctx, within, d.key)
	if err != nil {
		return false, err
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	for i, name := range names {
		if strings.TrimSuffix(name, number(name)) == nameOf(d.owner) {
			removed, err = s.remove(ctx, 0, s.svc.node(d.key)+"/"+name)
			return removed && i == 0, err
		}
	}
	return false, nil
}

// tidy gives up a place that is no longer wanted, and deletes leftovers.
func (s *sequentialSession) tidy(ctx context.Context) error {
	if err := s.leave(ctx); err != nil {
		return err
	}
	return s.deleteLeftovers(ctx, s.free)
}

// confirm reports whether the place has become the lock. Wait knows that already, unless the connection has been lost
// since, perhaps with the session.
func (s *sequentialSession) confirm(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	if !s.place.first || !s.c.isCurrent(s.place.session) {
		if _, err = s.catchUp(ctx, s.place.key); err == nil {
			_, err = s.look(ctx)
		}
	}
	if err != nil || !s.place.first {
		return false, err
	}
	s.grant(l, s.place)
	s.place = place{}
	return true, nil
}

// look reads the line. It returns the node before this client's, records that there is none, or forgets a place that is
// no longer in line, because the session has ended or another client has cleaned up. A node of an earlier session is
// about to vanish with that, if it still exists.
func (s *sequentialSession) look(ctx context.Context) (before string, err error) {
	names, err := s.list(ctx, 0, s.place.key)
	if err != nil {
		return "", err
	}
	parent := s.svc.node(s.place.key) + "/"
	ours, found := strings.TrimPrefix(s.place.node, parent), false
	for _, name := range names {
		switch {
		case name == ours:
			found = s.last.session == s.place.session
		case number(name) < number(ours) && (before == "" || number(name) > number(before)):
			before = name
		}
	}
	if !found {
		s.noteLeftover(s.place.key, s.place.owner, errExpired) // to make sure
		s.place = place{}
		return "", nil
	}
	s.place.first = before == ""
	return parent + before, nil
}

// number returns the number that the server has given to a node: ten digits, at the end.
func number(name string) string { return name[max(0, len(name)-10):] }

// Wait implements drivers.Waiter. It takes a place in line and returns when that is the lock.
func (s *sequentialSession) Wait(ctx context.Context, l *drivers.Lease) error {
	for {
		if over, err := outOfTime(ctx, l); over {
			return err
		}
		if s.place.owner == "" || s.place.key != l.Key || s.place.node == "" {
			if err := s.tidy(ctx); err != nil {
				return opWait.fail(err)
			}
			s.place = place{key: l.Key, owner: s.owners.Next()} // so that Leave finds it, whatever happens
			p, err := s.enter(ctx, l.Key, s.place.owner)
			if err != nil {
				return opWait.fail(err)
			}
			s.place = p
		}
		if s.place.first {
			return nil
		}
		before, err := s.look(ctx)
		if err != nil {
			return opWait.fail(err)
		}
		if s.place.first || s.place.owner == "" {
			continue
		}
		event, gone, err := s.watch(ctx, before)
		if err != nil {
			return opWait.fail(err)
		}
		if gone {
			continue
		}
		if over, err := s.sleep(ctx, l, event); over {
			return opWait.fail(err)
		}
	}
}

// Leave implements drivers.Waiter: it gives up the place, and the lock if it has come meanwhile.
func (s *sequentialSession) Leave(ctx context.Context, _ *drivers.Lease) error {
	return opLeave.fail(s.leave(ctx))
}

func (s *sequentialSession) leave(ctx context.Context) (err error) {
	p := s.place
	if s.place = (place{}); p.owner == "" {
		return nil
	}
	if p.node != "" {
		_, err = s.remove(ctx, p.session, p.node)
	} else {
		_, err = s.free(ctx, leftover{p.key, p.owner})
	}
	s.noteLeftover(p.key, p.owner, err)
	return err
}

// Close implements io.Closer. It frees what the session holds.
func (s *sequentialSession) Close() error { return s.end(s.tidy) }

// cleanLine deletes a container with all its nodes.
func cleanLine(ctx context.Context, k *caller, parent string) error {
	for {
		names, err := k.children(ctx, 0, parent)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := remove(ctx, k, parent+"/"+name); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
		}
		if err := remove(ctx, k, parent); !errors.Is(err, zk.ErrNotEmpty) { // a client has come meanwhile
			return err
		}
	}
}

// nameOf returns the beginning of the name of an owner's node.
func nameOf(owner string) string { return url.PathEscape(owner) + "-" }
