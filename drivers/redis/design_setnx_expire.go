// The design setnx-expire: SETNX and then EXPIRE, as in most articles before Redis 2.6.12 and many since. A holder that
// dies between the two commands locks it for ever; the value identifies no owner, so anyone can release it.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var setnxExpire = design{
	Design: drivers.Design{
		Name:   "setnx-expire",
		Traits: drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		Models: "SETNX key 1, then PEXPIRE key ttl in a request of its own, and DEL key: the recipe of countless articles",
		Wrong: "a holder that dies between the two locks it for ever; anyone can release it, and a late release frees " +
			"the next holder's",
		Loses: slices.Concat(replicable, expiring, ownerless, []drivers.Hazard{
			drivers.HazardWrongReleaseChain, drivers.HazardCrashBeforeExpire, drivers.HazardAcquireReplyLost,
		}),
	},
	session: func(s session) drivers.Session { return &setnxExpireSession{untagged{s}} },
}

type setnxExpireSession struct{ untagged }

// Try implements drivers.Session with SETNX key 1 and, if that was granted, PEXPIRE key ttl. Like the recipe it ignores
// the answer to the second, so it does not notice a release by another client in between.
func (s *setnxExpireSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, opTry.fail(err)
	}
	l.Reset()
	held, err := opTry.count(s.do(ctx, append(s.args[:0], "SETNX", l.Key, "1")))
	if !held || err != nil {
		return false, err
	}
	if _, err := s.do(ctx, append(s.args[:0], "PEXPIRE", l.Key, ttl)); err != nil {
		return false, opTry.halfway(err)
	}
	return true, nil
}
