package postgres

// The service: what all its sessions have in common, and what the server reports about itself.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

type service struct {
	cfg     drivers.Config
	target  *pgconn.Config
	pooled  bool // there may be a pooler before the server
	addr    drivers.Addr
	design  design
	traits  drivers.Traits
	table   string // of the locks' rows, quoted; "" if the design has none
	token   string // part of the name of each connection
	dialed  atomic.Int64
	crashes atomic.Int64 // of sessions

	closing context.Context // ends with the service
	close   context.CancelFunc

	sent traffic.Counter // of the sessions

	mu    sync.Mutex
	conns map[*conn]struct{}

	control control
}

// control is a connection that belongs to no session.
type control struct {
	sync.Mutex
	conn   *conn
	lost   []string // names of earlier ones that the server may still keep, with their lock of the table
	keeper *conn    // of the table behind a pooler; see lockTable
	made   bool     // the table exists
	over   bool     // the service has been closed
}

// use calls f with the service's own connection, a new one if it is gone. If the server ends it just now because it was idle,
// it has not read the request, and f is called again.
func (s *service) use(ctx context.Context, f func(c *conn) error) error {
	s.control.Lock()
	defer s.control.Unlock()
	for again := true; ; again = false {
		err := s.connectControl(ctx)
		if err == nil {
			err = f(s.control.conn)
		}
		if err == nil || stateOf(err) != "" && !dead(err) {
			return err
		}
		if s.control.conn != nil {
			s.loseControl(s.control.conn)
		}
		if !again || stateOf(err) != "57P05" {
			return err
		}
	}
}

// controlled is use for a request of the caller's, which is not made if ctx is over.
func (s *service) controlled(ctx context.Context, op string, f func(c *conn) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.use(ctx, f)
	}
	return fail(op, cause(ctx, err))
}

// connectControl makes sure that the service has its own connection.
func (s *service) connectControl(ctx context.Context) error {
	if s.control.over {
		return errClosed
	}
	if c := s.control.conn; c != nil && !c.alive() {
		s.loseControl(c)
	}
	if s.control.conn != nil {
		return nil
	}
	c, err := s.dial(ctx, true, nil, s.control.lost)
	if err != nil {
		return err
	}
	s.control.lost = nil
	if err := s.keepTable(ctx, c); err != nil {
		s.loseControl(c)
		return err
	}
	s.control.conn = c
	return nil
}

// loseControl gives up a connection of the service's own.
func (s *service) loseControl(c *conn) {
	s.drop(c)
	s.control.conn, s.control.lost = nil, append(s.control.lost, c.name)
}

// countClients counts connections. A user without privileges sees little more than the database of other users'
// connections.
const countClients = "SELECT count(*) FROM pg_stat_activity " +
	"WHERE datid IS NOT NULL AND backend_type IS DISTINCT FROM 'autovacuum worker'"

// meet connects for the first time and asks for what the sessions depend on.
func (s *service) meet(ctx context.Context) error {
	return s.use(ctx, func(c *conn) error {
		row, err := c.row(ctx, `SELECT pg_backend_pid(), current_setting('server_version_num'),
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
			- coalesce(current_setting('reserved_connections', true), '0')::int
			- (`+countClients+`)`)
		if err != nil {
			return err
		}
		pid, _ := strconv.ParseUint(row[0], 10, 32)
		version, _ := strconv.Atoi(row[1])
		left, _ := strconv.Atoi(row[2])
		switch {
		case uint32(pid) != c.pg.PID() && !s.pooled:
			return unsupported("there is a pooler such as PgBouncer before the server, which may give the connection that holds a lock " +
				"to another client: " + poolerHint)
		case version < 100000:
			return unsupported("the server is older than PostgreSQL 10: name a newer one")
		}
		s.traits.MaxSessions = max(1, left)
		return nil
	})
}

// poolerHint says what to do about a pooler.
const poolerHint = "give the server's own address, or add " + execMode + "=exec to the pooler's (for row-lock, which keeps a transaction open; " +
	"advisory loses its locks there, unless the pooler lends connections for whole sessions)"

// unsupported returns the error for a server that does not work here.
func unsupported(why string) error {
	return &drivers.Error{Class: drivers.ClassServer, Op: "connect", Err: errors.New(why)}
}

// Traits implements drivers.Service. MaxSessions is the number of connections that were left for this user when the
// service was opened.
func (s *service) Traits() drivers.Traits { return s.traits }

// Session implements drivers.Service. It connects, so that a server that accepts no more says so here.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	one := s.design.session(s)
	err := one.open(ctx)
	for start := time.Now(); s.tooManyConns(err) && time.Since(start) < s.cfg.IO(); err = one.open(ctx) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	if err != nil {
		return nil, fail(fmt.Sprintf("session %d", id), cause(ctx, err))
	}
	return one, nil
}

// tooManyConns reports whether the server has refused a connection because it has too many, some of which may belong to
// crashed sessions: it takes a moment to notice their end.
func (s *service) tooManyConns(err error) bool {
	return stateOf(err) == "53300" && s.crashes.Load() > 0
}

// Traffic implements drivers.Counter. Each packet of statements is one write.
func (s *service) Traffic() drivers.Traffic { return drivers.Traffic{RoundTrips: s.sent.Sent().Writes} }

// add registers an open connection, so that Close can end it.
func (s *service) add(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil && !c.own {
		return errClosed
	}
	s.conns[c] = struct{}{}
	return nil
}

// drop closes a connection's socket. The server may notice later.
func (s *service) drop(c *conn) {
	c.net.Close()
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
		if !c.own {
			c.net.Close()
		}
	}
	s.mu.Unlock()
	err := s.dropTable() // uses the service's own connection, which closes last
	s.control.Lock()
	defer s.control.Unlock()
	s.control.over = true
	for _, c := range []*conn{s.control.keeper, s.control.conn} {
		if c != nil {
			c.leave()
		}
	}
	s.control.keeper, s.control.conn = nil, nil
	return fail("close", err)
}

// Ping implements drivers.Pinger with an empty packet, on the service's own connection.
func (s *service) Ping(ctx context.Context) error {
	return s.controlled(ctx, "ping", func(c *conn) error { return c.must(c.ask(ctx, c.soon())) })
}

// Probe implements drivers.Prober with SELECT 1. The server parses and runs it; but it reads no row, because every
// table belongs to an application.
func (s *service) Probe(ctx context.Context) error {
	return s.controlled(ctx, "probe", func(c *conn) error {
		_, err := c.query(ctx, "SELECT 1")
		return err
	})
}

// Inspect implements drivers.Inspector. Without an extension (pg_stat_statements) the server counts transactions, not
// statements, and reports those a second late; it knows neither bytes nor its CPU time.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	usage := drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	var server drivers.Server
	err := s.controlled(ctx, "inspect", func(c *conn) error {
		row, err := c.row(ctx, `SELECT current_setting('server_version'), pg_is_in_recovery(),
			extract(epoch FROM pg_postmaster_start_time()), current_setting('fsync'), current_setting('synchronous_commit'),
			current_setting('max_connections'), (`+countClients+`),
			(SELECT string_agg(name || '=' || setting, ',' ORDER BY name) FROM pg_settings WHERE name = ANY(string_to_array($1, ',')))`,
			strings.Join(s.design.limits, ","))
		if err != nil {
			return err
		}
		version, _, _ := strings.Cut(row[0], " ") // "15.13 (Debian 15.13-0+deb12u1)"
		server = drivers.Server{Name: "postgres", Version: version, Mode: "standalone", RunID: row[2],
			Persistence: s.design.persists(row[3] == "on", row[4] == "off")}
		if row[1] == "t" {
			server.Mode = "stand-by"
		}
		server.MaxClients, _ = strconv.Atoi(row[5])
		server.Connected, _ = strconv.Atoi(row[6])
		server.Limits = limits(row[7])
		return nil
	})
	return server, usage, err
}

// limits reads "NAME=MILLISECONDS,…", of which 0 is no limit. Servers lack those that are newer than they are.
func limits(text string) (list []drivers.Limit) {
	for setting := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(setting, "=")
		if ms, err := strconv.Atoi(value); err == nil && ms > 0 {
			list = append(list, drivers.Limit{Name: name, Of: time.Duration(ms) * time.Millisecond})
		}
	}
	return list
}
