// Passing a held lock on: one script swaps the owner, so that the lock is never free in between.
package redis

import (
	"context"
	_ "embed"

	"github.com/lockbench/lockbench/drivers"
)

//go:embed lua/pass.lua
var passSource string

//go:embed lua/pass_fenced.lua
var passFencedSource string

var (
	passScript       = NewScript(passSource)       // compare the owner, then set the next one and its lease
	passFencedScript = NewScript(passFencedSource) // the same, and count
)

// setNXPasser is a client of the design set-nx. It is a type of its own because others build on setNXSession whose
// locks are more than their key.
type setNXPasser struct{ setNXSession }

// Pass implements drivers.Passer. It publishes nothing, because other waiters have nothing to try for.
func (s *setNXPasser) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	args, err := s.swap(from, to)
	if err != nil {
		return false, opPass.fail(err)
	}
	return opPass.count(s.run(ctx, passScript, args))
}

// swap returns the command of Pass. The next owner's token comes from the passing client, whose goroutine runs this; it
// is equally random.
//
//go:noinline
func (s *setNXPasser) swap(from, to *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(to.TTL)
	if err != nil {
		return nil, err
	}
	to.Reset()
	to.Owner = s.owners.Next()
	return append(s.call(passScript, from.Key), from.Owner, to.Owner, ttl), nil
}

// Pass implements drivers.Passer. The next owner gets a new fencing token.
func (s *fencedSession) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	args, err := s.swap(from, to)
	if err != nil {
		return false, opPass.fail(err)
	}
	reply, err := s.run(ctx, passFencedScript, args)
	return fence(opPass, to, reply, err)
}

//go:noinline
func (s *fencedSession) swap(from, to *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(to.TTL)
	if err != nil {
		return nil, err
	}
	to.Reset()
	to.Owner = s.owners.Next()
	counter := s.counter.of(s.svc.cfg.Prefix, fenceKind, from.Key)
	return append(s.call2(passFencedScript, from.Key, counter), from.Owner, to.Owner, ttl), nil
}
