// Sleeping on the server: a client that waits for a release blocks in BLPOP, and each release leaves one token.
// The client does that on a bare connection of its own.
package redis

import (
	"bufio"
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

var (
	releaseTokenScript = loadScript("release_token") // compare the owner, leave a token, publish, then delete
	rouseScript        = loadScript("rouse")         // leave a token
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
	_, err := s.commands.run(ctx, rouseScript, args)
	return fail("rouse", err)
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
		all = append(all, key, key+tokensSuffix)
	}
	return all
}

// popper is a connection of one client, made when it is first needed and again after it broke. One goroutine at a time
// uses pop, any goroutine close.
type popper struct {
	options Options

	mu     sync.Mutex
	conn   net.Conn
	closed bool

	reader *bufio.Reader
}

// longAgo is a deadline that ends a read under way.
var longAgo = time.Unix(1, 0)

// pop sends a command that takes an element from a list, waiting for at most d, and reports whether there was one. If
// the server does not answer within the I/O time-out after that, pop drops the connection.
func (p *popper) pop(ctx context.Context, command []string, d time.Duration) (bool, error) {
	conn, err := p.connect(ctx)
	if err != nil {
		return false, err
	}
	conn.SetDeadline(time.Now().Add(d + p.options.IO()))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	reply, err := (&link{conn: conn, r: p.reader}).ask(command...)
	if !stop() || err != nil { // it may be in the middle of a reply
		if _, refused := asServerError(err); !refused || ctx.Err() != nil {
			p.drop(conn)
		}
	}
	switch {
	case err != nil:
		return false, p.explain(err)
	case reply.kind == nil:
		return false, nil
	}
	return true, nil
}

// connect returns the connection, a new one if there is none.
func (p *popper) connect(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	conn, closed := p.conn, p.closed
	p.mu.Unlock()
	if closed {
		return nil, Closed
	}
	if conn != nil {
		return conn, nil
	}
	conn, err := p.options.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if p.reader == nil {
		p.reader = bufio.NewReaderSize(conn, 512) // replies have a hundred bytes, and there are thousands of connections
	} else {
		p.reader.Reset(conn)
	}
	l := &link{conn: conn, r: p.reader}
	if err := p.options.introduce(ctx, p.options.Target, l, func(*link) error { return nil }); err != nil {
		conn.Close()
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		conn.Close()
		return nil, Closed
	}
	p.conn = conn
	return conn, nil
}

// explain returns Closed after close, because the connection's own error differs.
func (p *popper) explain(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Closed
	}
	return err
}

func (p *popper) drop(conn net.Conn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == conn {
		p.conn = nil
	}
}

func (p *popper) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.conn != nil {
		p.conn.Close()
	}
}
