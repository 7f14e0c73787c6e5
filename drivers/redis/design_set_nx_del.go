// The design set-nx-del: SET with NX and PX, and a plain DEL, as in the READMEs and quick-start guides of client
// libraries. The lock expires, but the value identifies no owner: a late release frees the next holder's lock.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var setNXDel = design{
	Design: drivers.Design{
		Name:   "set-nx-del",
		Traits: drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		Models: "SET key 1 NX PX ttl and DEL key, the quick start of many a client library",
		Wrong:  "anyone can release it, and a late release frees the next holder's lock",
		Loses:  slices.Concat(replicable, expiring, ownerless, []drivers.Hazard{drivers.HazardWrongReleaseChain}),
	},
	session: func(s session) drivers.Session { return &setNXDelSession{untagged{s}} },
}

type setNXDelSession struct{ untagged }

// Try implements drivers.Session with SET key 1 NX PX ttl.
func (s *setNXDelSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, opTry.fail(err)
	}
	l.Reset()
	return opTry.granted(s.do(ctx, append(s.args[:0], "SET", l.Key, "1", "NX", "PX", ttl)))
}
