// The design fair: a line on the server, first come, first served, after Redisson's RedissonFairLock and the queue of
// ZooKeeper's lock recipe. A release makes the head of the line the owner and tells that one's process alone, so there is
// no herd and no race: who is told has the lock already. It costs more commands a lock than any other design here.
package redis

import (
	"context"
	_ "embed"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

//go:embed lua/fair_line.lua
var fairLineSource string

//go:embed lua/fair_try.lua
var fairTrySource string

//go:embed lua/fair_release.lua
var fairReleaseSource string

var (
	fairTryScript     = NewScript(fairLineSource + fairTrySource)
	fairReleaseScript = NewScript(fairLineSource + fairReleaseSource)
)

// lineKind makes the name of a key's line.
const lineKind = "line"

var fair = design{
	Design: drivers.Design{
		Name:   "fair",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Fair: true, Renews: true, Waits: true},
		Models: "a FIFO of waiters on the server, as Redisson's fair lock and ZooKeeper's recipe have it",
		Wrong: "several commands more a lock; a waiter that dies in line may cost the others one TTL; besides, what is " +
			"wrong with set-nx",
	},
	beside:  []string{lineKind},
	prepare: openInbox,
	session: func(s session) drivers.Session {
		return &fairSession{tagged: tagged{s}, bell: make(chan struct{}, 1)}
	},
}

type fairSession struct {
	tagged
	line  besideOf
	place place         // in the line, if it stands in one
	bell  chan struct{} // rings when the place may have become the lock
	timer *time.Timer
	heard int64 // when the place became the lock, by the server's clock and the inbox, whose lock guards it; 0: it has not
}

// Try implements drivers.Session. Who stands in no line takes the lock if it is free and nobody waits, and takes no place
// in line if not: a client that is refused and goes away would stand in the way. Wait takes a place; with Config.Polls,
// where nobody calls it, Try does.
func (s *fairSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	if s.place.owner != "" && s.place.key != l.Key {
		s.forget() // it has given up without a word; the place is not kept for long
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
	l.Owner = s.owners.Next()
	args := s.call2(fairTryScript, l.Key, s.line.of(s.svc.cfg.Prefix, lineKind, l.Key))
	reply, err := s.run(ctx, fairTryScript, append(args, l.Owner, ttl))
	if err != nil {
		return false, opTry.fail(err)
	}
	return reply.kind == nil, nil // else how long the holder's lease still lasts
}

// Release implements drivers.Session: it hands the lock to the first in line, or deletes it if nobody waits.
func (s *fairSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if l.Owner != "" && l.Owner == s.place.owner { // the outcome of a Try that stood in line is unknown
		return opRelease.count(s.leave(ctx))
	}
	args := s.call2(fairReleaseScript, l.Key, s.line.of(s.svc.cfg.Prefix, lineKind, l.Key))
	return opRelease.count(s.run(ctx, fairReleaseScript, append(args, l.Owner)))
}
