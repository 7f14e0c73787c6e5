// What the sessions of all designs share.
package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// design is a lock design and the way to make a client of it.
type design struct {
	drivers.Design
	session func(session) drivers.Session
}

// designs are all designs, the default one first.
var designs = []design{setNX, plainSETNX}

// session is what a client of any design needs. One goroutine uses it at a time, so it owns its buffers.
type session struct {
	conn    Conn
	wakes   bool // publish releases
	sharded bool // and with SPUBLISH
	ttl     time.Duration
	ttlText string // ttl in milliseconds, formatted once
	owners  drivers.Owners
	args    [8]string // of the command being made; Conn copies them
}

// do sends a command about a key, which is args[1]. The caller has appended it to s.args[:0], which is cheaper than to
// have it copied there: with hundreds of clients, what each of them touches is what the adapter costs.
func (s *session) do(ctx context.Context, args []string) (Reply, error) {
	return s.conn.Do(ctx, args, 1)
}

// millis spells a lease in the server's unit. Fractions are rounded up: a lock that expired before its TTL would be a
// broken promise.
func (s *session) millis(ttl time.Duration) (string, error) {
	if ttl == s.ttl && s.ttlText != "" {
		return s.ttlText, nil
	}
	if ttl < time.Millisecond {
		return "", fmt.Errorf("a TTL of %v is too short: Redis expires keys after 1ms at the earliest", ttl)
	}
	s.ttl, s.ttlText = ttl, strconv.FormatInt(int64((ttl+time.Millisecond-1)/time.Millisecond), 10)
	return s.ttlText, nil
}

// Remaining implements drivers.Remainer for every design whose lock is one key.
func (s *session) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	reply, err := s.do(ctx, append(s.args[:0], "PTTL", l.Key))
	if err != nil {
		return 0, opRemaining.fail(err)
	}
	ms, err := reply.AsInt()
	switch {
	case err != nil:
		return 0, opRemaining.fail(err)
	case ms == -2: // no such key
		return 0, nil
	case ms < 0: // no expiry
		return -1, nil
	}
	// PTTL rounds: a key in its last half millisecond answers 0 and is still there.
	return max(time.Duration(ms)*time.Millisecond, time.Millisecond), nil
}

// Adopt implements drivers.Adopter for every design whose tokens come from owners.
func (s *session) Adopt(owner string) { s.owners.Adopt(owner) }

// releasedSuffix makes the name of a key's channel. It comes last, so that the channel begins with the run's own
// prefix and keeps the key's hash tag, if it has one.
const releasedSuffix = ":released"

// op names what a request was for, and reads the answer to it. Its methods take what do and run return as it is, so
// that a design keeps nothing on the stack while it waits for the server.
type op uint8

const (
	opTry op = iota
	opRelease
	opRenew
	opRemaining
)

func (o op) String() string { return [...]string{"try", "release", "renew", "remaining"}[o] }

func (o op) fail(err error) error { return fail(o.String(), err) }

// count reads the reply of a script or command that answers how many locks it has touched.
//
//go:noinline
func (o op) count(reply Reply, err error) (bool, error) {
	if err != nil {
		return false, o.fail(err)
	}
	n, err := reply.AsInt()
	if err != nil {
		return false, o.fail(err)
	}
	return n > 0, nil
}

// granted reads the reply to SET … NX: OK when it was set, nil when something was there.
//
//go:noinline
func (o op) granted(reply Reply, err error) (bool, error) {
	switch {
	case err != nil:
		return false, o.fail(err)
	case reply.kind == nil:
		return false, nil
	case reply.kind == textReply && reply.text == "OK":
		return true, nil
	}
	return false, o.fail(reply.unexpected("OK or nil"))
}

func asServerError(err error) (ServerError, bool) {
	if err == nil {
		return "", false // before e is made, which lives on the heap
	}
	var e ServerError
	ok := errors.As(err, &e)
	return e, ok
}
