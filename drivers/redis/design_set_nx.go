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
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Renews: true, Wakes: true},
		Models: "SET key owner NX PX ttl and a compare-and-delete script, as in the Redis manual and most libraries",
		Wrong:  "a holder that outlives its lease overlaps the next one, which only a fencing token would catch",
	},
	session: func(s session) drivers.Session { return &setNXSession{s} },
}

type setNXSession struct{ session }

// Try implements drivers.Session with SET key owner NX PX ttl.
func (s *setNXSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, fail("try", err)
	}
	l.Reset()
	l.Owner = s.owners.Next()
	reply, err := s.do(ctx, append(s.args[:0], "SET", l.Key, l.Owner, "NX", "PX", ttl))
	if err != nil {
		return false, fail("try", err)
	}
	held, err := reply.granted()
	if err != nil {
		return false, fail("try", err)
	}
	return held, nil
}

// Release implements drivers.Session: it deletes the key if it still carries the owner's token, and publishes that.
func (s *setNXSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.wakes {
		reply, err := s.run(ctx, releaseScript, l.Key, l.Owner, releasedSuffix)
		return count("release", reply, err)
	}
	reply, err := s.run(ctx, releaseScript, l.Key, l.Owner)
	return count("release", reply, err)
}

// Renew implements drivers.Renewer: it sets the full lease again if the key still carries the owner's token.
func (s *setNXSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, fail("renew", err)
	}
	reply, err := s.run(ctx, renewScript, l.Key, l.Owner, ttl)
	return count("renew", reply, err)
}
