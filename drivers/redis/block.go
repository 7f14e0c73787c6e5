// Sleeping on the server: a client that waits for a release blocks in BLPOP, and each release leaves one token.
package redis

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

//go:embed lua/release_token.lua
var releaseTokenSource string

//go:embed lua/rouse.lua
var rouseSource string

var (
	releaseTokenScript = NewScript(releaseTokenSource) // compare the owner, leave a token, publish, then delete
	rouseScript        = NewScript(rouseSource)        // leave a token
)

const (
	// tokensSuffix makes the name of a key's list of tokens. The list has at most one token: the client that has slept
	// longest takes it at once, and a second one would wake a client for nothing. A release leaves it even if no client
	// sleeps, because a client that was just refused may be about to.
	tokensSuffix = ":tokens"

	// tokenLife is how long a token is kept. It is only for a client that was refused before the release and does not
	// sleep yet: those that come later find the lock free.
	tokenLife = "10000" // ms
)

// sleeper is a session that can sleep on the server; it is a drivers.Blocker. The session has its own connection, made
// without the client library: neither library ends a blocked command when its context ends (both only know deadlines),
// go-redis would return the connection to its pool, and rueidis limits their number.
type sleeper struct {
	drivers.Session
	commands session // with its own buffers
	popper   *popper
}

// Unwrap returns the design's session.
func (s *sleeper) Unwrap() drivers.Session { return s.Session }

// Block implements drivers.Blocker with BLPOP.
func (s *sleeper) Block(ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	d = max(d, time.Millisecond) // 0 would mean for ever
	seconds := strconv.FormatFloat(float64((d+time.Millisecond-1)/time.Millisecond)/1000, 'f', 3, 64)
	woken, err := s.popper.pop(ctx, []string{"BLPOP", l.Key + tokensSuffix, seconds}, d)
	switch {
	case err == nil:
		return woken, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	return false, fail("block", err)
}

// Rouse implements drivers.Blocker.
func (s *sleeper) Rouse(ctx context.Context, l *drivers.Lease) error {
	args := append(s.commands.call(rouseScript, l.Key), tokensSuffix, tokenLife)
	if _, err := s.commands.run(ctx, rouseScript, args); err != nil {
		return fail("rouse", err)
	}
	return nil
}

// Close ends the session's own connection.
func (s *sleeper) Close() error {
	s.Crash()
	return nil
}

// Crash implements drivers.Crasher: the connection is all that the session owns, and closing it sends nothing.
func (s *sleeper) Crash() {
	svc := s.commands.svc
	svc.mu.Lock()
	delete(svc.poppers, s.popper)
	svc.mu.Unlock()
	s.popper.close()
}

// compareLeavingToken returns the command of a release that wakes a sleeper.
//
//go:noinline
func (s *tagged) compareLeavingToken(l *drivers.Lease) []string {
	args := append(s.call(releaseTokenScript, l.Key), l.Owner, tokensSuffix, tokenLife)
	if s.wakes {
		args = append(args, releasedSuffix)
	}
	return args
}

// wakesSleepers reports whether releases can wake sleepers: they must be scripts, and clients must reach the token, which
// takes a single server.
func (s *service) wakesSleepers() bool {
	several := s.cfg.Topology == drivers.TopologySentinel || s.cfg.Topology == drivers.TopologyCluster
	return !several && s.cfg.Release == drivers.ReleaseLua
}

// sleeping returns inner as a sleeper. The service closes its connection at the latest.
func (s *service) sleeping(inner drivers.Session) (drivers.Session, error) {
	p := &popper{options: s.options}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners == nil {
		return nil, fail("session", Closed)
	}
	s.poppers[p] = struct{}{}
	return &sleeper{Session: inner, commands: session{conn: s.conn, svc: s}, popper: p}, nil
}

// withTokens returns the keys of locks and of their lists of tokens.
func withTokens(keys []string) []string {
	all := make([]string, 0, 2*len(keys))
	for _, key := range keys {
		all = append(all, key, fmt.Sprint(key, tokensSuffix))
	}
	return all
}
