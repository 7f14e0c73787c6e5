// The design sequential: ZooKeeper's own lock recipe, as in Curator's InterProcessMutex. Each client that wants the
// lock makes a numbered ephemeral node in the key's container; the lowest holds, and each other client watches the node
// before its own, so that a release wakes one.
package zookeeper

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var sequential = design{
	Design: drivers.Design{
		Name:   "sequential",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Fenced: true, Fair: true, Waits: true, Session: true},
		Models: "ZooKeeper's lock recipe and Curator's InterProcessMutex: a numbered ephemeral node each, the lowest holds",
		Wrong:  "a holder paused beyond its session goes on unaware, unless the fence is checked",
		Loses:  []drivers.Hazard{drivers.HazardHolderPauses, drivers.HazardSessionLost, drivers.HazardAcquireReplyLost, drivers.HazardOrphanWatchdog},
	},
	session: func(s session) client { return &sequentialSession{session: s} },
	clean:   cleanLine,
}

type sequentialSession struct {
	session
	place place // in the line, if it is in one
	taken bool  // the last key that it tried was taken
}

// Try implements drivers.Session. It gets a free lock in one round trip; see enter. A client that is refused deletes
// its node again, which makes two useless changes. So a client that was refused the last time first checks whether the
// line is empty: without a change on a single server, with one on an ensemble; see inLine.
func (s *sequentialSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.place.node != "" && s.place.key == l.Key {
		l.Owner = s.place.owner
		if held, err := s.confirm(ctx, l); held || err != nil || s.place.owner != "" {
			return held, opTry.fail(err)
		}
	}
	l.Owner = s.owners.Next()
	if err := s.tidy(ctx); err != nil {
		return false, opTry.fail(err)
	}
	if s.taken {
		if n, err := s.inLine(ctx, l.Key); n > 0 || err != nil {
			return false, opTry.fail(err)
		}
	}
	p, err := s.enter(ctx, l.Key, l.Owner)
	if err != nil {
		return false, opTry.fail(err)
	}
	if s.taken = !p.first; s.taken {
		_, err := s.remove(ctx, 0, p.node)
		return false, opTry.halfway(err)
	}
	s.grant(l, p)
	return true, nil
}

func (s *sequentialSession) grant(l *drivers.Lease, p place) {
	l.Fence = p.fence
	s.holds[p.owner] = hold{node: p.node, session: p.session}
}

// Release implements drivers.Session.
func (s *sequentialSession) Release(ctx context.Context, l *drivers.Lease) (removed bool, err error) {
	if removed, err = s.release(ctx, l, s.free); err == nil && s.place.owner == l.Owner {
		s.place = place{} // a Try that would have confirmed it has failed
	}
	return removed, err
}
