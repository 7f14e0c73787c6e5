// The design set-nx-get-del: set-nx whose release compares in the client, GET and then DEL, as in home-made locks that
// know owner tokens but not scripts. Between the two the lease may end and the next holder come in: then the release
// deletes the next holder's lock.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var setNXGetDel = design{
	Design: drivers.Design{
		Name:   "set-nx-get-del",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Renews: true, Wakes: true},
		Models: "SET key owner NX PX ttl; GET, compare in the client, DEL: the home-made version of set-nx",
		Wrong: "a lease that ends between GET and DEL lets the release free the next holder's lock; also the faults of " +
			"set-nx",
		Loses: slices.Concat(renewable, []drivers.Hazard{drivers.HazardGetDelGap, drivers.HazardClientRetries}),
	},
	session: func(s session) drivers.Session { return &setNXGetDelSession{setNXSession{tagged{s}}} },
}

type setNXGetDelSession struct{ setNXSession }

// Release implements drivers.Session with GET key and, if that was the owner's token, DEL key.
func (s *setNXGetDelSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	reply, err := s.do(ctx, append(s.args[:0], "GET", l.Key))
	if err != nil {
		return false, opRelease.fail(err)
	}
	if reply.kind == nil {
		return false, nil
	}
	owner, err := reply.AsText()
	if err != nil {
		return false, opRelease.fail(err)
	}
	if owner != l.Owner {
		return false, nil
	}
	return opRelease.count(s.remove(ctx, l.Key))
}
