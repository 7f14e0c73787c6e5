// Releasing a lock: delete it whoever holds it, or compare and delete in one of four variants (-release). And passing
// it on: one script swaps the owner, so that the lock is never free in between.
package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// remove deletes a key, whoever holds it.
func (s *session) remove(ctx context.Context, key string) (Reply, error) {
	if s.wakes {
		return s.run(ctx, deleteScript, s.removal(key))
	}
	return s.do(ctx, s.removal(key))
}

// removal returns the command of remove.
func (s *session) removal(key string) []string {
	if s.wakes {
		return append(s.call(deleteScript, key), releasedSuffix)
	}
	return append(s.args[:0], "DEL", key)
}

// tagged is a session of a design whose key carries the holder's token.
type tagged struct{ session }

// compareAndDelete are the variants of designs that release by tagged.Release.
var compareAndDelete = []drivers.Release{
	drivers.ReleaseLua, drivers.ReleaseWatch, drivers.ReleaseDelIfEq, drivers.ReleaseDelEx,
}

// Release implements drivers.Session: it deletes the key if it still carries the owner's token, and publishes that.
func (s *tagged) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.svc.cfg.Release != drivers.ReleaseLua || s.blocks {
		return s.releaseOtherwise(ctx, l)
	}
	return opRelease.count(s.run(ctx, releaseScript, s.compare(l)))
}

// compare returns the command of Release. It is not inlined, so that its locals are off the stack while the client
// waits for the server.
//
//go:noinline
func (s *tagged) compare(l *drivers.Lease) []string {
	args := append(s.call(releaseScript, l.Key), l.Owner)
	if s.wakes {
		args = append(args, releasedSuffix)
	}
	return args
}

// releaseOtherwise is Release without the usual script.
//
//go:noinline
func (s *tagged) releaseOtherwise(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	if s.blocks {
		return opRelease.count(s.run(ctx, releaseTokenScript, s.compareLeavingToken(l)))
	}
	switch s.svc.cfg.Release {
	case drivers.ReleaseDelIfEq, drivers.ReleaseDelEx:
		owned, err = opRelease.count(s.do(ctx, s.compareByCommand(l)))
	default:
		if err = s.conn.Dedicated(ctx, l.Key, func(link Link) error {
			owned, err = s.watch(ctx, link, l)
			return err
		}); err != nil {
			return false, opRelease.fail(err)
		}
		return owned, nil
	}
	if owned && s.wakes {
		// A second request, unlike the other variants: the command publishes nothing, and publishing before it would
		// wake waiters while the lock is still there. If the client dies in between, they sleep until the end of the
		// lease.
		if _, err := s.conn.Do(ctx, s.publication(l.Key), 1); err != nil {
			return false, opRelease.halfway(err)
		}
	}
	return owned, err
}

// compareByCommand returns the command of Release for servers that have one.
func (s *tagged) compareByCommand(l *drivers.Lease) []string {
	if s.svc.cfg.Release == drivers.ReleaseDelEx {
		return append(s.args[:0], "DELEX", l.Key, "IFEQ", l.Owner)
	}
	return append(s.args[:0], "DELIFEQ", l.Key, l.Owner)
}

// publication returns the command that publishes a release.
func (s *session) publication(key string) []string {
	if s.sharded {
		return []string{"SPUBLISH", shardChannel(key + releasedSuffix), ""}
	}
	return []string{"PUBLISH", key + releasedSuffix, ""}
}

// watch deletes in a transaction that fails if the key has changed since it was read. Then it reads again, because a
// renewal changes the key too. The publication is part of the transaction.
func (s *tagged) watch(ctx context.Context, link Link, l *drivers.Lease) (owned bool, err error) {
	transaction := [][]string{{"MULTI"}, {"DEL", l.Key}, {"EXEC"}}
	if s.wakes {
		transaction = slices.Insert(transaction, 1, s.publication(l.Key))
	}
	defer func() {
		if err != nil { // it may have left a WATCH or MULTI on a reused connection
			clean := context.WithoutCancel(ctx)
			send(clean, link, []string{"DISCARD"})
			send(clean, link, []string{"UNWATCH"})
		}
	}()
	for {
		seen, err := send(ctx, link, []string{"WATCH", l.Key}, []string{"GET", l.Key})
		if err != nil {
			return false, err
		}
		if value, err := seen[1].AsText(); err != nil || value != l.Owner { // nil, or another owner
			_, err := send(ctx, link, []string{"UNWATCH"})
			return false, err
		}
		done, err := send(ctx, link, transaction...)
		if err != nil {
			return false, err
		}
		results, err := done[len(done)-1].AsArray()
		if err != nil { // nil: the key has changed
			continue
		}
		n, err := results[len(results)-1].AsInt()
		return n > 0, err
	}
}

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
	return s.compareByCommand(l), nil
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

// chooseRelease decides how the design releases, and rejects what it or the server cannot do.
func (s *service) chooseRelease(ctx context.Context) error {
	wanted, able := s.cfg.Release, s.design.Releases
	switch {
	case wanted == drivers.ReleaseDefault && len(able) > 0:
		s.cfg.Release = able[0]
		return nil
	case wanted == drivers.ReleaseDefault:
		return nil
	case len(able) == 0:
		return fmt.Errorf("the lock %s has one way to release, which is not compare-and-delete: drop the release %q",
			s.design.Name, wanted)
	case !slices.Contains(able, wanted):
		return fmt.Errorf("the release %q is unknown; there are %s", wanted, names(able))
	}
	switch wanted {
	case drivers.ReleaseDelIfEq:
		return s.needs(ctx, "DELIFEQ", "Valkey has it from 9.0 on, Redis has not")
	case drivers.ReleaseDelEx:
		if s.cfg.Embedded {
			return nil // miniredis has it, and answers COMMAND with an older server's list
		}
		return s.needs(ctx, "DELEX", "Redis has it from 8.4 on, Valkey has not")
	}
	return nil
}

func names(releases []drivers.Release) string {
	names := make([]string, len(releases))
	for i, r := range releases {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// needs asks the server whether it knows a command.
func (s *service) needs(ctx context.Context, command, who string) error {
	reply, err := s.conn.Do(ctx, []string{"COMMAND", "INFO", command}, 0)
	if err != nil {
		return fmt.Errorf("asking the server by COMMAND INFO whether it has %s, for the release %s: %w",
			command, s.cfg.Release, err)
	}
	known, err := reply.AsArray() // one element for the one question, or all commands if it is not understood
	if err != nil {
		return err
	}
	for _, one := range known {
		fields, err := one.AsArray()
		if err != nil || len(fields) == 0 {
			continue // nil: not known
		}
		if name, err := fields[0].AsText(); err == nil && strings.EqualFold(name, command) {
			return nil
		}
	}
	return errors.New("the server has no command " + command + ", which the release " + string(s.cfg.Release) +
		" needs: " + who + "; lua and watch work with every server")
}

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
	if len(pair) != 2 {
		return 0, opListeners.fail(reply.unexpected("a channel and a number"))
	}
	n, err := pair[1].AsInt()
	if err != nil {
		return 0, opListeners.fail(err)
	}
	return int(n), nil
}
