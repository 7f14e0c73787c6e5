// The design setnx-steal: the recipe that the SETNX page of the Redis manual warns of. The value is the time at which the
// lease ends, as in getset, but a waiter that finds it past deletes the key and sends SETNX again. Two waiters that have
// read the same stamp both do that: the second one deletes the first one's new lock.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var setnxSteal = design{
	Design: drivers.Design{
		Name:   "setnx-steal",
		Traits: drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		Models: "SETNX key time, GET, and DEL and SETNX of an expired lock: what the SETNX manual page warns of",
		Wrong: "two waiters that find the same expired lock both take it; it trusts the clocks of the clients; anyone can " +
			"release it whose own stamp is not past",
		Loses: slices.Concat(getset.Loses, []drivers.Hazard{drivers.HazardStealByDel}),
	},
	session: func(s session) drivers.Session { return &setnxStealSession{getsetSession{untagged: untagged{s}}} },
}

type setnxStealSession struct{ getsetSession }

// Try implements drivers.Session with SETNX and, if the key exists, GET and perhaps DEL and SETNX. A key that has no stamp
// was released meanwhile, and is not deleted. The DEL publishes nothing: it takes a lock and does not release one.
func (s *setnxStealSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if held, err := s.setnx(ctx, l); held || err != nil {
		return held, err
	}
	if old, err := s.get(ctx, l.Key); err != nil || old.Equal(noStamp) || !s.past(old) {
		return false, err
	}
	if _, err := s.do(ctx, append(s.args[:0], "DEL", l.Key)); err != nil {
		return false, opTry.fail(err)
	}
	return s.setnx(ctx, l)
}
