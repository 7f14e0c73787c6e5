// The design fair: a queue on the server, first come, first served, after Redisson's RedissonFairLock and the queue of
// ZooKeeper's lock recipe. A release makes the head of the line the owner and notifies only that client's process, so
// there is no herd and no race: the notified client already has the lock. It needs more commands per lock than any
// other design here.
package redis

import (
	"context"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

var (
	fairTryScript     = loadScript("fair_line", "fair_try")
	fairReleaseScript = loadScript("fair_line", "fair_release")
)

// lineKind is the kind of key for a lock's line.
const lineKind = "line"

var fair = design{
	Design: drivers.Design{
		Name:   "fair",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Fair: true, Renews: true, Waits: true},
		Models: "a FIFO of waiters on the server, like Redisson's fair lock and ZooKeeper's recipe",
		Wrong: "no fencing token: a holder that outlives its lease goes on beside the next; several more commands per lock; " +
			"a waiter that dies in line may cost the others one TTL" + andLost,
		Loses: slices.Concat(onePrimary, expiring, []drivers.Hazard{drivers.HazardOrphanWatchdog}),
	},
	scripted:  true,
	extraKeys: []string{lineKind},
	prepare:   openInbox,
	session: func(s session) drivers.Session {
		return &fairSession{tagged: tagged{s}, signal: make(chan struct{}, 1)}
	},
}

type fairSession struct {
	tagged
	line   extraKeyCache
	place  place         // in the line, if it stands in one
	signal chan struct{} // when the place may have become the lock
	timer  *time.Timer
	heard  int64 // when the place became the lock, by the server's clock, or 0; guarded by the inbox's mutex
}

// Try implements drivers.Session. A client that is not in line takes the lock if it is free and no client waits;
// otherwise it takes no place in line, because a client that is refused and goes away would block the others. Wait
// takes a place; so does Try with Config.Polls, where Wait is not called.
func (s *fairSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.place.owner != "" && s.place.key != l.Key {
		s.forget() // it gave up without leaving; its place is dropped soon
	}
	switch {
	case s.place.owner != "" && s.granted(l):
		return true, nil
	case s.place.owner != "" || s.svc.cfg.Polls:
		held, err := s.stand(ctx, opTry, l)
		return held && s.granted(l), err
	}
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, opTry.fail(err)
	}
	l.Owner = s.token()
	args := s.call2(fairTryScript, l.Key, s.line.of(s.svc.cfg.Prefix, lineKind, l.Key))
	reply, err := s.run(ctx, fairTryScript, append(args, l.Owner, ttl))
	if err != nil {
		return false, opTry.fail(err)
	}
	return reply.kind == nil, nil // otherwise the rest of the holder's lease
}

// Release implements drivers.Session: it hands the lock to the first in line, or deletes it if there is none.
func (s *fairSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if l.Owner != "" && l.Owner == s.place.owner { // the outcome of a Try in line is unknown
		return opRelease.count(s.leave(ctx))
	}
	args := s.call2(fairReleaseScript, l.Key, s.line.of(s.svc.cfg.Prefix, lineKind, l.Key))
	return opRelease.count(s.run(ctx, fairReleaseScript, append(args, l.Owner)))
}
