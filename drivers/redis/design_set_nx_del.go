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
	single:  true,
	session: func(s session) drivers.Session { return &setNXDelSession{untagged{s}} },
}

type setNXDelSession struct{ untagged }

// Try implements drivers.Session with SET key 1 NX PX ttl.
func (s *setNXDelSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, err := s.set(l)
	if err != nil {
		return false, opTry.fail(err)
	}
	return opTry.granted(s.do(ctx, args))
}

// set returns the command of Try.
func (s *setNXDelSession) set(l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	l.Reset()
	return append(s.args[:0], "SET", l.Key, "1", "NX", "PX", ttl), nil
}

// heard implements asker.
func (s *setNXDelSession) heard(_ *drivers.Lease, reply Reply, err error) (bool, error) {
	return opTry.granted(reply, err)
}
