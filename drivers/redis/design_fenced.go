// The design fenced: set-nx with a fencing token, as M. Kleppmann asks for in "How to do distributed locking" (2016).
// The token grows with each acquisition of a key, so that the resource can reject a holder whose lease is over.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var fencedTryScript = loadScript("fenced_try")

// fenceKind is the kind of key for a lock's counter. Each grant keeps it for a day longer than the lease, so that no
// crashed run leaves it for ever. After a day without a grant the tokens begin at 1 again: a holder that has renewed
// one lease for that long then has a higher token than its successors, and a resource that has seen it rejects them.
const fenceKind = "fence"

var fenced = design{
	Design: drivers.Design{
		Name:   "fenced",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Fenced: true, Renews: true, Wakes: true},
		Models: "set-nx and a counter in one script: the fencing token of Kleppmann's \"How to do distributed locking\"",
		Wrong: "a holder that outlives its lease goes on beside the next one, unless the resource checks the token; tokens " +
			"begin at 1 again after a day without a grant or a restart without persistence, and a fail-over can repeat them",
		Releases: compareAndDelete,
		Loses:    slices.Concat(renewable, []drivers.Hazard{drivers.HazardFenceFailover}),
	},
	scripted:  true,
	extraKeys: []string{fenceKind},
	single:    true,
	session:   func(s session) drivers.Session { return &fencedSession{tagged: tagged{s}} },
}

type fencedSession struct {
	tagged
	counter extraKeyCache
}

// Try implements drivers.Session with a script that, if the key is free, sets it and counts.
func (s *fencedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, err := s.set(l)
	if err != nil {
		return false, opTry.fail(err)
	}
	reply, err := s.run(ctx, fencedTryScript, args)
	return fence(opTry, l, reply, err)
}

// fence reads the reply of a script that returns the fencing token of a grant, or 0.
func fence(o op, l *drivers.Lease, reply Reply, err error) (bool, error) {
	if err != nil {
		return false, o.fail(err)
	}
	token, err := reply.AsInt()
	if err != nil {
		return false, o.fail(err)
	}
	l.Fence = uint64(token)
	return token > 0, nil
}

// heard implements asker.
func (s *fencedSession) heard(l *drivers.Lease, reply Reply, err error) (bool, error) {
	return fence(opTry, l, reply, err)
}

// set returns the command of Try.
//
//go:noinline
func (s *fencedSession) set(l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	l.Reset()
	l.Owner = s.token()
	return append(s.call2(fencedTryScript, l.Key, s.counter.of(s.svc.cfg.Prefix, fenceKind, l.Key)), l.Owner, ttl), nil
}
