// Package postgres has the lock designs for a PostgreSQL server, each in its own file, over pgx, and registers them as
// the driver "postgres".
//
// A hold lasts as long as the connection that it was granted to: when that breaks, the lock is free at once, while the
// holder may live on without noticing. When a holder's process dies, its system closes the connection; when the
// machine dies, the lock is free when the server's TCP keep-alive finds out (see keepAlive).
//
// A pooler such as PgBouncer gives a connection to another client after each statement or transaction, and the lock of
// advisory with it: Open detects one and refuses, unless the address has default_query_exec_mode=exec. Then nothing is
// prepared, and no keep-alive is asked for, which poolers reject. A transaction keeps its connection, so row-lock is
// as it is without a pooler.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

func init() { drivers.Register("postgres", driver{}) }

type driver struct{}

var designs = []drivers.Design{advisoryDesign.Design, rowLockDesign.Design}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return designs }

// Service implements drivers.Addressed.
func (driver) Service() string { return "postgres" }

// Library implements drivers.Described. Sessions hold the locks, so each client has its own connection.
func (driver) Library() drivers.Library {
	return drivers.Library{Module: "github.com/jackc/pgx/v5", Pins: func(string) bool { return true }}
}

type service struct {
	cfg        drivers.Config
	target     *pgx.ConnConfig
	design     *design
	statements map[string]string // of the design
	table      string            // of the design's rows, quoted; "" if it needs none
	pooled     bool              // there may be a pooler before the server
	lends      bool              // there is one, and its connections do not keep what a session has locked
	limits     map[string]time.Duration
	traits     drivers.Traits
	crashes    atomic.Int64 // of sessions
	sent       traffic.Counter

	closing context.Context // ends with the service
	close   context.CancelFunc
	mu      sync.Mutex
	conns   map[*conn]struct{} // of the sessions

	control struct { // what belongs to no session; see use
		sync.Mutex
		conn *pgx.Conn
		made bool // the table exists
		over bool // the service has been closed
	}
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.prepare(cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	if err := s.use(ctx, s.meet); err != nil {
		s.Close()
		return nil, s.fail("open "+s.cfg.Addrs[0], err)
	}
	return s, nil
}

// prepare checks the configuration without asking the server.
func (d driver) prepare(cfg drivers.Config) (*service, error) {
	chosen, _, err := drivers.Chosen(d, cfg)
	if err == nil {
		err = cfg.OneServer()
	}
	switch {
	case err != nil:
		return nil, err
	case cfg.Embedded:
		return nil, errors.New("there is no embedded PostgreSQL: give the address of a server")
	case cfg.Conns > 0:
		return nil, fmt.Errorf("%d connections are not possible: each client has its own, which holds its locks", cfg.Conns)
	case cfg.Pipelining == drivers.PipeliningAuto:
		return nil, errors.New("pipelining auto is not possible: each client has a connection of its own")
	case cfg.Release != drivers.ReleaseDefault:
		return nil, fmt.Errorf("release %s: the designs of this driver release in one way only", cfg.Release)
	}
	target, addr, err := readAddr(cfg.Addrs[0])
	if err != nil {
		return nil, fmt.Errorf("the address %w", err)
	}
	s := &service{cfg: cfg, target: target, design: &advisoryDesign, conns: map[*conn]struct{}{},
		limits: map[string]time.Duration{}}
	s.cfg.Addrs, s.cfg.Password = []string{addr.Redacted}, "" // they may be printed
	target.User = cmp.Or(cfg.Username, target.User)
	target.Password = cmp.Or(string(cfg.Password), target.Password)
	target.Database = cmp.Or(cfg.Database, target.Database)
	target.ConnectTimeout = cfg.IO()
	var owners drivers.Owners
	target.RuntimeParams["application_name"] = "lockbench " + owners.Next() // tells who is lent what by a pooler
	target.DialFunc = s.dialer(target.DialFunc)
	if cfg.TLS != nil {
		if addr.Network == "unix" {
			return nil, errors.New("TLS is not possible over a unix socket")
		}
		target.TLSConfig = cfg.TLS.Clone()
		target.TLSConfig.ServerName = cmp.Or(target.TLSConfig.ServerName, target.Host)
	}
	if s.pooled = target.DefaultQueryExecMode == pgx.QueryExecModeExec; !s.pooled {
		keepAlive(target.RuntimeParams, cfg.TTL)
	}
	target.DefaultQueryExecMode = pgx.QueryExecModeExec // sessions prepare what they run
	if chosen.Name == rowLockDesign.Name {
		s.design, s.table = &rowLockDesign, tableName(cfg.Prefix)
	}
	s.statements = s.design.statements(s.table)
	s.traits = chosen.Traits
	s.traits.Fair = s.traits.Fair && !cfg.Polls // Try has no place in the queue
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// keepAlive makes the server notice after ttl that a client's machine is gone: it probes an idle connection after half
// of that, and twice more. It counts in whole seconds, so it needs three. Without a TTL the server's own setting
// applies, which is two hours on most systems. It has no effect on unix sockets, nor while a client waits for a lock.
func keepAlive(params map[string]string, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	seconds := func(d time.Duration) string { return fmt.Sprint(max(1, int((d+time.Second-1)/time.Second))) }
	params["tcp_keepalives_idle"] = seconds(ttl / 2)
	params["tcp_keepalives_interval"] = seconds(ttl / 4)
	params["tcp_keepalives_count"] = "2"
}

// counted is the key of a context in which the service makes connections. Its value counts what they send.
type counted struct{}

// dialer returns a dial function that makes no other connections: pgx by itself cancels what a broken one was asked.
func (s *service) dialer(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		counter, ours := ctx.Value(counted{}).(*traffic.Counter)
		if !ours {
			return nil, errClosed
		}
		socket, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return counter.Count(socket, nil), nil
	}
}

// Traits implements drivers.Service. MaxSessions is the number of connections that were left for this user when the
// service was opened.
func (s *service) Traits() drivers.Traits { return s.traits }

// Session implements drivers.Service. It connects, so that a server that accepts no more says so here. A full server
// takes a moment to notice the end of sessions that have crashed.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	one := &session{svc: s, holds: map[string]hold{}}
	c, err := one.dial(ctx)
	for start := time.Now(); stateOf(err) == "53300" && s.crashes.Load() > 0 && time.Since(start) < s.cfg.IO(); {
		time.Sleep(time.Millisecond)
		c, err = one.dial(ctx)
	}
	if err != nil {
		return nil, s.fail(fmt.Sprintf("session %d", id), cmp.Or(ctx.Err(), err))
	}
	one.idle = c
	return one, nil
}

// dial opens a connection of a session and, unless there may be a pooler, prepares the statements of the design.
func (s *service) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.IO())
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	pg, err := pgconn.ConnectConfig(context.WithValue(ctx, counted{}, &s.sent), &s.target.Config)
	if err != nil {
		return nil, s.connectError(ctx, err)
	}
	c := &conn{PgConn: pg, svc: s}
	if s.pooled {
		err = c.Ping(ctx) // the pooler may have no connection to the server
	}
	for name, statement := range s.statements {
		if err == nil && !s.pooled {
			_, err = c.Prepare(ctx, name, statement, nil)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.closing.Err() == nil {
		s.conns[c] = struct{}{}
		return c, nil
	}
	_ = c.Conn().Close()
	return nil, s.connectError(ctx, cmp.Or(err, error(errClosed)))
}

// drop closes a connection's socket. The server may notice later.
func (s *service) drop(c *conn) {
	_ = c.Conn().Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Close implements drivers.Service. Connections of sessions that were not closed are cut; the server then frees what
// they held.
func (s *service) Close() error {
	if s.closing.Err() != nil {
		return nil
	}
	s.close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Conn().Close()
	}
	s.mu.Unlock()
	err := s.dropTable()
	s.control.Lock()
	defer s.control.Unlock()
	if s.control.over = true; s.control.conn != nil {
		_ = s.control.conn.Close(context.Background())
	}
	return s.fail("close", err)
}
