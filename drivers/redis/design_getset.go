// The design getset: the lock of the Ruby library redis-objects (Redis::Lock), after the old recipe on the SETNX page.
// The value is the time at which the lease ends, by the client's clock. A client that finds it past writes its own by
// GETSET, and has won if the old value is still past. So losers overwrite the winner's time stamp, the value identifies
// no owner, and a client whose clock is ahead takes locks that are held.
package redis

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

var getset = design{
	Design: drivers.Design{
		Name:   "getset",
		Traits: drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		Models: "SETNX key time, GET, GETSET: the lock of redis-objects and of the old SETNX manual page",
		Wrong: "it trusts the clocks of the clients; losers overwrite the winner's time stamp; anyone can release it " +
			"whose own stamp is not past",
		Loses: slices.Concat(replicable, leased, ownerless, []drivers.Hazard{
			drivers.HazardGetDelGap, drivers.HazardClientClock,
		}),
	},
	session: func(s session) drivers.Session { return &getsetSession{untagged: untagged{s}} },
}

type getsetSession struct{ untagged }

// Try implements drivers.Session with SETNX and, if the key exists, GET and perhaps GETSET. redis-objects adds a second
// to the requested lease; here it is as long as in the other designs.
func (s *getsetSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if held, err := s.setnx(ctx, l); held || err != nil {
		return held, err
	}
	if old, err := s.get(ctx, l.Key); err != nil || !s.past(old) {
		return false, err
	}
	old, err := readStamp(s.do(ctx, append(s.args[:0], "GETSET", l.Key, s.stamp(l))))
	return err == nil && s.past(old), err
}

// setnx sends SETNX with the time at which the lease ends if it begins now.
func (s *getsetSession) setnx(ctx context.Context, l *drivers.Lease) (bool, error) {
	if _, err := s.millis(l.TTL); err != nil {
		return false, opTry.fail(err)
	}
	l.Reset()
	return opTry.count(s.do(ctx, append(s.args[:0], "SETNX", l.Key, s.stamp(l))))
}

// stamp begins a lease and returns its end by the client's clock.
func (s *getsetSession) stamp(l *drivers.Lease) string {
	l.ValidUntil = time.Now().Add(l.TTL).Round(0) // wall clock, as in the recipe
	return stamp(l.ValidUntil.Add(s.svc.cfg.ClockOffset))
}

// get returns the holder's stamp.
func (s *getsetSession) get(ctx context.Context, key string) (time.Time, error) {
	return readStamp(s.do(ctx, append(s.args[:0], "GET", key)))
}

// past reports whether a stamp is past by the client's clock.
func (s *getsetSession) past(stamp time.Time) bool { return stamp.Before(s.now()) }

func (s *getsetSession) now() time.Time { return time.Now().Add(s.svc.cfg.ClockOffset) }

// Release implements drivers.Session with DEL key, unless its own stamp is past: then the lock may be another client's
// by now.
func (s *getsetSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if !l.ValidUntil.IsZero() && !l.ValidUntil.After(time.Now()) {
		return false, nil
	}
	return s.untagged.Release(ctx, l)
}

// Remaining implements drivers.Remainer by the holder's stamp: the server knows no expiry.
func (s *getsetSession) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	end, err := s.get(ctx, l.Key)
	return max(0, end.Sub(s.now())), err
}

// stamp formats a time in seconds, like Ruby's Time#to_f.
func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', 6, 64) }

// noStamp is what a missing or invalid value is taken for, as by Ruby's to_f.
var noStamp = time.UnixMicro(0)

// readStamp parses a stamp, or returns noStamp.
func readStamp(reply Reply, err error) (time.Time, error) {
	if err != nil {
		return time.Time{}, opTry.fail(err)
	}
	text, _ := reply.AsText()
	seconds, _ := strconv.ParseFloat(text, 64)
	return time.UnixMicro(int64(seconds * 1e6)), nil
}
