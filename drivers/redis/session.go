// What the sessions of all designs share.
package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// design is a lock design and how to make a client of it.
type design struct {
	drivers.Design
	session func(session) drivers.Session

	single   bool // its sessions are askers; see service.stepwise
	scripted bool // an attempt is a script

	// What only some designs have; nil if they do not.
	extraKeys []string                                    // kinds of further keys for each lock; see extraKey
	channel   *channelNames                               // the channels on which releases are published; nil is releasedChannels
	prepare   func(ctx context.Context, s *service) error // opens what the sessions of a service share
}

// designs are all designs: the default, and then the others in historical order.
var designs = []design{
	setNX, plainSETNX, setnxExpire, luaSetnxExpire, setNXDel, setNXGetDel, getset,
	setnxSteal, reentrantCount, redisson, fenced, fair,
}

// session is what a client of any design needs. One goroutine uses it at a time, so it owns its buffers.
//
// The fields are in the order in which a request needs them, and few enough to fill exactly four cache lines: with
// hundreds of clients, none of them is cached when its turn comes.
type session struct {
	conn    Conn
	svc     *service
	wakes   bool            // publish releases
	sharded bool            // with SPUBLISH
	blocks  bool            // leave a token at releases
	owners  *drivers.Owners // nil until a token is needed
	ttl     time.Duration
	ttlText string   // ttl in milliseconds, formatted once
	args    []string // of the next command, which Conn copies; in batches it is lent
}

// maxArgs is how many words a command of the designs has at most.
const maxArgs = 10

// token returns the owner of the next acquisition.
func (s *session) token() string { return s.tokens().Next() }

// tokens returns the session's own source of tokens, or the one that it is lent.
func (s *session) tokens() *drivers.Owners {
	if s.owners == nil {
		s.owners = new(drivers.Owners)
	}
	return s.owners
}

// lend lets a session put its next command into args, and draw its tokens from owners if it has none of its own.
func (s *session) lend(args []string, owners *drivers.Owners) {
	s.args = args
	if s.owners == nil {
		s.owners = owners
	}
}

// giveBack is the end of lend.
func (s *session) giveBack(owners *drivers.Owners) {
	s.args = nil
	if s.owners == owners {
		s.owners = nil
	}
}

// stepConn returns the Conn of a session whose requests go in steps.
func (s *session) stepConn() *stepConn { return s.conn.(*stepConn) }

// do sends a command about a key, which is args[1]. The caller has appended it to s.args[:0], which is cheaper than
// copying it: with hundreds of clients, the cost of the adapter is the memory that each of them touches.
func (s *session) do(ctx context.Context, args []string) (Reply, error) {
	return s.conn.Do(ctx, args, 1)
}

// millis formats a lease in the server's unit. It rounds up: a lock must not expire before its TTL.
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
	// PTTL rounds: a key in its last half millisecond returns 0 and is still there.
	return max(time.Duration(ms)*time.Millisecond, time.Millisecond), nil
}

// Adopt implements drivers.Adopter for every design whose tokens come from owners.
func (s *session) Adopt(owner string) { s.tokens().Adopt(owner) }

// releasedSuffix makes the name of a key's channel. It is a suffix, so that the channel begins with the run's prefix
// and keeps the key's hash tag, if any.
const releasedSuffix = ":released"

// channelNames maps a key to its channel, and back.
type channelNames struct{ of, key func(string) string }

var releasedChannels = channelNames{
	of:  func(key string) string { return key + releasedSuffix },
	key: func(channel string) string { return strings.TrimSuffix(channel, releasedSuffix) },
}

// extraKey returns the name of a further key of a lock: its counter, its line. The name begins with the run's prefix
// and is in the lock's cluster slot: it has the lock's hash tag or, if there is none, the lock's whole name as one.
// (That is impossible for a name with a brace but without a tag, such as "a}b".)
func extraKey(prefix, kind, key string) string {
	if tagged := strings.IndexByte(key, '{'); tagged >= 0 && strings.IndexByte(key[tagged:], '}') > 1 {
		return prefix + kind + ":" + key
	}
	return prefix + kind + ":{" + key + "}"
}

// extraKeyCache remembers the last name that extraKey made, which saves an allocation for clients that stay with a key.
type extraKeyCache struct{ key, name string }

func (b *extraKeyCache) of(prefix, kind, key string) string {
	if b.key != key {
		b.key, b.name = key, extraKey(prefix, kind, key)
	}
	return b.name
}

// op is the purpose of a request, and reads the answer to it. Its methods take the results of do and run as they are,
// so that a design keeps nothing on the stack while it waits for the server.
type op uint8

const (
	opTry op = iota
	opRelease
	opRenew
	opRemaining
	opWait
	opLeave
	opPass
	opListeners
)

func (o op) String() string {
	return [...]string{"try", "release", "renew", "remaining", "wait", "leave", "pass", "listeners"}[o]
}

func (o op) fail(err error) error { return fail(o.String(), err) }

// halfway returns fail for the second of two requests, when the first one had an effect: then even the server's refusal
// does not mean that nothing has happened.
func (o op) halfway(err error) error {
	err = o.fail(err)
	if drivers.NoEffect(err) {
		return &drivers.Error{Class: drivers.ClassOther, Op: "redis: " + o.String() + ": halfway", Err: errors.Unwrap(err)}
	}
	return err
}

// count reads the reply of a script or command that returns how many locks it changed.
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

// granted reads the reply to SET … NX: OK if it was set, nil if the key exists.
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

func asServerError(err error) (ServerError, bool) { return errors.AsType[ServerError](err) }

var (
	// onePrimary is for every lock that one primary keeps.
	onePrimary = []drivers.Hazard{drivers.HazardFailover, drivers.HazardRestartEmpty, drivers.HazardEviction}

	// replicable is for those that replicas can acknowledge as well (drivers.TopologyReplicated).
	replicable = slices.Concat(onePrimary, []drivers.Hazard{drivers.HazardWaitOne, drivers.HazardWaitForever})

	// leased is for locks that end with a lease, by whatever clock. No design compares the lease with the time that an
	// answer took.
	leased = []drivers.Hazard{drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardLateGrant}

	// expiring is for those that end by the server's clock.
	expiring = slices.Concat(leased, []drivers.Hazard{drivers.HazardServerClock})

	// ownerless is for locks that any client can delete.
	ownerless = []drivers.Hazard{drivers.HazardUnlockAfterRefusal, drivers.HazardClientRetries}

	// renewable is for set-nx and what is built like it: an owner, an expiry, and renewals.
	renewable = slices.Concat(replicable, expiring, []drivers.Hazard{drivers.HazardOrphanWatchdog})
)
