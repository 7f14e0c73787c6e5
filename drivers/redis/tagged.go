// Sessions of designs with and without an owner token in the key, which several designs build on.
package redis

import (
	"context"

	"github.com/lockbench/lockbench/drivers"
)

// untagged is a session of a design whose key carries no owner token.
type untagged struct{ session }

// Release implements drivers.Session with DEL key. A script replaces it only to publish in the same round trip.
func (s *untagged) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	return opRelease.count(s.remove(ctx, l.Key))
}

// ask implements asker for the release.
func (s *untagged) ask(_ op, l *drivers.Lease) ([]string, error) { return s.removal(l.Key), nil }

// heard implements asker for an attempt whose answer counts.
func (s *untagged) heard(_ *drivers.Lease, reply Reply, err error) (bool, error) {
	return opTry.count(reply, err)
}

// hear implements asker.
func (s *untagged) hear(o op, _ *drivers.Lease, reply Reply, err error) (bool, error) {
	return o.count(reply, err)
}

// tagged is a session of a design whose key carries the holder's token.
type tagged struct{ session }

// Renew implements drivers.Renewer: it sets the full lease again if the key still carries the owner's token.
func (s *tagged) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, err := s.extend(l)
	if err != nil {
		return false, opRenew.fail(err)
	}
	return opRenew.count(s.run(ctx, renewScript, args))
}

// extend returns the command of Renew.
func (s *tagged) extend(l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	return append(s.call(renewScript, l.Key), l.Owner, ttl), nil
}

// ask implements asker for the release and the renewal.
func (s *tagged) ask(o op, l *drivers.Lease) ([]string, error) {
	switch {
	case o == opRenew:
		return s.extend(l)
	case s.svc.cfg.Release == drivers.ReleaseLua:
		return s.compare(l), nil
	}
	return compareByCommand(s.svc.cfg.Release, s.args, l.Key, l.Owner), nil
}

// hear implements asker for the release and the renewal.
func (s *tagged) hear(o op, _ *drivers.Lease, reply Reply, err error) (bool, error) {
	return o.count(reply, err)
}

// set returns the command SET key owner NX PX ttl. Like compare it is not inlined.
//
//go:noinline
func (s *tagged) set(l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	l.Reset()
	l.Owner = s.token()
	return append(s.args[:0], "SET", l.Key, l.Owner, "NX", "PX", ttl), nil
}
