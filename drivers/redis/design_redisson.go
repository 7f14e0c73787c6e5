// The design redisson: RLock of the Java library Redisson (RedissonLock), on its own wire format, so that it can share
// a lock with a Java process. The lock is a hash with one field for the holder, "<uuid of the process>:<thread>", that
// counts its entries. A thread has the same name in all its acquisitions, so a late release frees what the same thread
// has acquired since; and a retried request counts twice.
package redis

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

var redisson = design{
	Design: drivers.Design{
		Name:   "redisson",
		Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true, Reentrant: true, Renews: true, Wakes: true},
		Models: "Redisson's RLock: a hash of the holder's name and count, and an unlock message, on the same wire format",
		Wrong: "no fencing token: a holder that outlives its lease goes on beside the next; a late release frees what " +
			"the same thread has acquired since, and a retried request counts twice" + andLost,
		Loses: append(slices.Clip(renewable), drivers.HazardClientRetries),
	},
	scripted: true,
	channel:  &redissonChannels,
	single:   true,
	prepare: func(_ context.Context, s *service) error {
		s.process = uuid()
		return nil
	},
	session: func(s session) drivers.Session {
		thread := s.svc.threads.Add(1) // not the client's number: the successor of a client that died is another thread
		return &redissonSession{session: s, owner: s.svc.process + ":" + strconv.FormatInt(thread, 10)}
	},
}

type redissonSession struct {
	session
	owner   string // of all its acquisitions
	refused struct {
		key   string
		until time.Time // when the holder's lease ends, by the reply to the last Try
	}
}

// Try implements drivers.Session with a script that returns nil or the rest of the holder's lease.
func (s *redissonSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.request(ctx, opTry, redissonTryScript, l)
}

func (s *redissonSession) request(ctx context.Context, o op, script *Script, l *drivers.Lease) (bool, error) {
	args, err := s.ask(o, l)
	if err != nil {
		return false, o.fail(err)
	}
	reply, err := s.run(ctx, script, args)
	return s.hear(o, l, reply, err)
}

// set and heard implement asker.
func (s *redissonSession) set(l *drivers.Lease) ([]string, error) { return s.ask(opTry, l) }

func (s *redissonSession) heard(l *drivers.Lease, reply Reply, err error) (bool, error) {
	return s.hear(opTry, l, reply, err)
}

// ask implements asker.
func (s *redissonSession) ask(o op, l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	switch o {
	case opTry:
		l.Reset()
		l.Owner = s.owner
		return append(s.call(redissonTryScript, l.Key), ttl, s.owner), nil
	case opRelease:
		return append(s.call2(redissonReleaseScript, l.Key, redissonChannels.of(l.Key)), redissonUnlock, ttl, l.Owner), nil
	}
	return append(s.call(redissonRenewScript, l.Key), ttl, l.Owner), nil
}

// hear implements asker.
func (s *redissonSession) hear(o op, l *drivers.Lease, reply Reply, err error) (bool, error) {
	switch {
	case err != nil || o == opRenew:
		return o.count(reply, err)
	case o == opRelease && reply.kind == nil: // where Redisson throws an IllegalMonitorStateException
		return false, nil
	case o == opRelease:
		_, err = o.count(reply, nil)
		return err == nil, err
	case reply.kind == nil:
		return true, nil
	}
	rest, err := reply.AsInt()
	if err != nil {
		return false, o.fail(err)
	}
	s.refused.key, s.refused.until = l.Key, time.Now().Add(time.Duration(rest)*time.Millisecond)
	return false, nil
}

// Remaining implements drivers.Remainer from the reply to the last Try, if that was refused and that lease is not over
// yet.
func (s *redissonSession) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	if l.Key == s.refused.key {
		if rest := time.Until(s.refused.until); rest > 0 {
			return rest, nil
		}
	}
	return s.session.Remaining(ctx, l)
}

// Release implements drivers.Session with a script: it removes one entry and, after the last one, deletes the key and
// publishes that, whether or not anything listens. While entries are left it sets the full lease again, as Redisson
// does.
func (s *redissonSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.request(ctx, opRelease, redissonReleaseScript, l)
}

// Renew implements drivers.Renewer like Redisson's watchdog.
func (s *redissonSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.request(ctx, opRenew, redissonRenewScript, l)
}
