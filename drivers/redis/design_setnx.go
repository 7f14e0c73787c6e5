// The design setnx: the oldest recipe, SETNX and DEL, still found in tutorials. A holder that dies keeps the lock for
// ever, and anyone can release it.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var plainSETNX = design{
	Design: drivers.Design{
		Name:   "setnx",
		Traits: drivers.Traits{Exclusive: true, Wakes: true},
		Models: "SETNX key 1 and DEL key, the recipe of old tutorials",
		Wrong:  "a holder that dies locks it for ever; anyone can release it, and a late release frees the next holder's",
		Loses: slices.Concat(replicable, ownerless, []drivers.Hazard{
			drivers.HazardHolderDies, drivers.HazardAcquireReplyLost, drivers.HazardHalfOpen,
		}),
	},
	single:  true,
	session: func(s session) drivers.Session { return &plainSETNXSession{untagged{s}} },
}

type plainSETNXSession struct{ untagged }

// Try implements drivers.Session with SETNX key 1.
func (s *plainSETNXSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, _ := s.set(l)
	return opTry.count(s.do(ctx, args))
}

// set implements asker.
func (s *plainSETNXSession) set(l *drivers.Lease) ([]string, error) {
	l.Reset()
	return append(s.args[:0], "SETNX", l.Key, "1"), nil
}
