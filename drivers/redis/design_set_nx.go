// The design set-nx: the lock of the Redis manual's SET page ("Patterns"), and of redsync, redislock and rueidislock on
// one node. It is correct as long as no holder outlives its lease and the server loses nothing.
package redis

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

// andLost is what is wrong with every lock that one primary keeps.
const andLost = "; a fail-over, or a restart without persistence, can grant it twice"

var setNX = design{
	Design: drivers.Design{
		Name:     "set-nx",
		Traits:   drivers.Traits{Exclusive: true, Owned: true, Expires: true, Renews: true, Wakes: true, Blocks: true},
		Models:   "SET key owner NX PX ttl and a compare-and-delete script, as in the Redis manual and most libraries",
		Wrong:    "no fencing token: a holder that outlives its lease goes on beside the next" + andLost,
		Releases: compareAndDelete,
		Loses:    renewable,
	},
	single:  true,
	session: func(s session) drivers.Session { return &setNXPasser{setNXSession{tagged{s}}} },
}

type setNXSession struct{ tagged }

// Try implements drivers.Session with SET key owner NX PX ttl.
func (s *setNXSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, err := s.set(l)
	if err != nil {
		return false, opTry.fail(err)
	}
	return opTry.granted(s.do(ctx, args))
}

// heard implements asker.
func (s *setNXSession) heard(_ *drivers.Lease, reply Reply, err error) (bool, error) {
	return opTry.granted(reply, err)
}
