// The design reentrant-count: set-nx under a counter that each thread keeps locally, the ThreadLocal design of Java
// articles. To enter again costs no command, so it neither extends the lease nor notices that it is lost.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var reentrantCount = design{
	Design: drivers.Design{
		Name:   "reentrant-count",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Reentrant: true, Renews: true, Wakes: true},
		Models: "set-nx under a ThreadLocal counter, as Java articles make a Redis lock re-entrant",
		Wrong: "no fencing token: a holder that outlives its lease goes on beside the next; an inner section runs on " +
			"what is left of the lease, and enters even when that is lost" + andLost,
		Releases: compareAndDelete,
		Loses:    slices.Concat(renewable, []drivers.Hazard{drivers.HazardReentryNoExtend}),
	},
	session: func(s session) drivers.Session {
		return &reentrantCountSession{setNXSession{tagged{s}}, map[string]entered{}}
	},
}

type reentrantCountSession struct {
	setNXSession
	holds map[string]entered // by key; the ThreadLocal of an article
}

type entered struct {
	owner string
	times int
}

// Try implements drivers.Session: it counts if the session is already in, otherwise it sends SET key owner NX PX ttl.
func (s *reentrantCountSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if in, again := s.holds[l.Key]; again {
		l.Reset()
		l.Owner = in.owner
		s.holds[l.Key] = entered{in.owner, in.times + 1}
		return true, nil
	}
	held, err := s.setNXSession.Try(ctx, l)
	if held {
		s.holds[l.Key] = entered{l.Owner, 1}
	}
	return held, err
}

// Release implements drivers.Session: it counts, and the last one out compares and deletes. The count is gone before
// the server is asked, whatever it answers.
func (s *reentrantCountSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if in, inside := s.holds[l.Key]; inside && in.owner == l.Owner {
		if in.times > 1 {
			s.holds[l.Key] = entered{in.owner, in.times - 1}
			return true, nil
		}
		delete(s.holds, l.Key)
	}
	return s.setNXSession.Release(ctx, l)
}
