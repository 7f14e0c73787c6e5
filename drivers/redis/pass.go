// Passing a lock on: one script swaps the owner, so that the lock is never free in between.
package redis

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

var (
	passScript       = loadScript("pass")        // compare the owner, then set the next one and its lease
	passFencedScript = loadScript("pass_fenced") // the same, and count
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
	reply, err := s.run(ctx, passScript, args)
	return s.swapped(to, reply, err)
}

// swapped implements swapper.
func (s *setNXPasser) swapped(_ *drivers.Lease, reply Reply, err error) (bool, error) {
	return opPass.count(reply, err)
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
	to.Owner = s.token()
	return append(s.call(passScript, from.Key), from.Owner, to.Owner, ttl), nil
}

// Pass implements drivers.Passer. The next owner gets a new fencing token.
func (s *fencedSession) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	args, err := s.swap(from, to)
	if err != nil {
		return false, opPass.fail(err)
	}
	reply, err := s.run(ctx, passFencedScript, args)
	return s.swapped(to, reply, err)
}

// swapped implements swapper.
func (s *fencedSession) swapped(to *drivers.Lease, reply Reply, err error) (bool, error) {
	return fence(opPass, to, reply, err)
}

//go:noinline
func (s *fencedSession) swap(from, to *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(to.TTL)
	if err != nil {
		return nil, err
	}
	to.Reset()
	to.Owner = s.token()
	counter := s.counter.of(s.svc.cfg.Prefix, fenceKind, from.Key)
	return append(s.call2(passFencedScript, from.Key, counter), from.Owner, to.Owner, ttl), nil
}

// Listeners implements drivers.ListenerCounter.
func (s *setNXPasser) Listeners(ctx context.Context, l *drivers.Lease) (int, error) {
	return s.listeners(ctx, l)
}

// Listeners implements drivers.ListenerCounter.
func (s *fencedSession) Listeners(ctx context.Context, l *drivers.Lease) (int, error) {
	return s.listeners(ctx, l)
}

// listeners is drivers.ListenerCounter for designs that publish on releasedChannels. In a cluster without sharded
// publications, a node counts its own subscribers only.
func (s *session) listeners(ctx context.Context, l *drivers.Lease) (int, error) {
	args, key := append(s.args[:0], "PUBSUB", "NUMSUB", l.Key+releasedSuffix), 0
	if s.sharded {
		args[1], args[2], key = "SHARDNUMSUB", shardChannel(args[2]), 2
	}
	reply, err := s.conn.Do(ctx, args, key)
	if err != nil {
		return 0, opListeners.fail(err)
	}
	pair, err := reply.AsArray() // the channel, and its subscribers
	if err != nil {
		return 0, opListeners.fail(err)
	}
	n, err := pair[1].AsInt()
	if err != nil {
		return 0, opListeners.fail(err)
	}
	return int(n), nil
}
