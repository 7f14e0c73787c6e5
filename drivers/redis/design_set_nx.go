// The design set-nx: the lock of the Redis manual's SET page ("Patterns"), and of redsync, redislock and rueidislock
// on one node. It is right for as long as no one holds longer than his lease.
package redis

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var setNX = design{
	Design: drivers.Design{
		Name:   "set-nx",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Renews: true, Wakes: true, Blocks: true},
		Models: "SET key owner NX PX ttl and a compare-and-delete script, as in the Redis manual and most libraries",
		Wrong:  "a holder that outlives its lease overlaps the next one, which only a fencing token would catch",
	},
	session: func(s session) drivers.Session { return &setNXSession{s} },
}

type setNXSession struct{ session }

// Try implements drivers.Session with SET key owner NX PX ttl.
func (s *setNXSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, err := s.set(l)
	if err != nil {
		return false, opTry.fail(err)
	}
	return opTry.granted(s.do(ctx, args))
}

// set makes the command of Try. Like remove it is not inlined, so that what it needs is off the stack while the client
// waits for the server.
//
//go:noinline
func (s *setNXSession) set(l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	l.Reset()
	l.Owner = s.owners.Next()
	return append(s.args[:0], "SET", l.Key, l.Owner, "NX", "PX", ttl), nil
}

// Release implements drivers.Session: it deletes the key if it still carries the owner's token, and publishes that.
func (s *setNXSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.blocks {
		return opRelease.count(s.run(ctx, releaseTokenScript, s.removeLeavingToken(l)))
	}
	return opRelease.count(s.run(ctx, releaseScript, s.remove(l)))
}

// remove makes the command of Release.
//
//go:noinline
func (s *setNXSession) remove(l *drivers.Lease) []string {
	args := append(s.call(releaseScript, l.Key), l.Owner)
	if s.wakes {
		args = append(args, releasedSuffix)
	}
	return args
}

// Renew implements drivers.Renewer: it sets the full lease again if the key still carries the owner's token.
func (s *setNXSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, opRenew.fail(err)
	}
	return opRenew.count(s.run(ctx, renewScript, append(s.call(renewScript, l.Key), l.Owner, ttl)))
}
