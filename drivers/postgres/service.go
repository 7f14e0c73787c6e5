package postgres

// The service: what all its sessions have in common, and what the server reports about itself.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	lends   bool // there is one, and its connections do not keep what a session has locked
	addr    drivers.Addr
	design  design
	limits  map[string]time.Duration // of endings, those that are set
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

// use calls f with the service's own connection, a new one if it is gone.
func (s *service) use(ctx context.Context, f func(c *conn) error) error {
	s.control.Lock()
	defer s.control.Unlock()
	err := s.connectControl(ctx)
	if err == nil {
		err = f(s.control.conn)
	}
	if err != nil && (stateOf(err) == "" || dead(err)) && s.control.conn != nil {
		s.loseControl(s.control.conn)
	}
	return err
}

// controlled is use for a request of the caller's, which is not made if ctx is over.
func (s *service) controlled(ctx context.Context, op string, f func(c *conn) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.use(ctx, f)
	}
	return s.fail(op, cause(ctx, err))
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
	if err = s.readLimits(ctx, c); err == nil {
		err = s.keepTable(ctx, c)
	}
	if err != nil {
		s.loseControl(c)
		return err
	}
	s.control.conn = c
	return nil
}

// readLimits reads the limits of the sessions, once, and lifts them for the service's own connection. Behind a pooler
// that may be anybody's next.
func (s *service) readLimits(ctx context.Context, c *conn) error {
	lift := ", CASE WHEN current_setting(name, true) IS NOT NULL THEN set_config(name, '0', false) END"
	if s.pooled {
		lift = ""
	}
	rows, err := c.query(ctx, "SELECT name, extract(epoch FROM current_setting(name, true)::interval)"+lift+
		" FROM unnest(string_to_array($1, ',')) AS name", strings.Join(slices.Collect(maps.Values(endings)), ","))
	limits := map[string]time.Duration{}
	for _, row := range rows {
		if seconds, _ := strconv.ParseFloat(row[1], 64); seconds > 0 {
			limits[row[0]] = time.Duration(seconds * float64(time.Second))
		}
	}
	if err == nil && s.limits == nil {
		s.limits = limits
	}
	return err
}

// loseControl gives up a connection of the service's own.
func (s *service) loseControl(c *conn) {
	s.drop(c)
	s.control.conn, s.control.lost = nil, append(s.control.lost, c.name)
}

// askRoom asks which limit of connections is the nearest: its name, its number, how many there are, and how many are
// left. Those of roles and databases do not apply to superusers. A user without privileges sees little more than the
// database and the user of other connections.
const askRoom = `WITH clients AS (SELECT usename, datname FROM pg_stat_activity
		WHERE datid IS NOT NULL AND backend_type IS DISTINCT FROM 'autovacuum worker')
	SELECT name, most, used, most - used - kept FROM (
		SELECT 'max_connections', current_setting('max_connections')::int, (SELECT count(*) FROM clients),
			current_setting('superuser_reserved_connections')::int
				+ coalesce(current_setting('reserved_connections', true), '0')::int
		UNION ALL SELECT 'the CONNECTION LIMIT of the role', rolconnlimit,
			(SELECT count(*) FROM clients WHERE usename = rolname), 0
			FROM pg_roles WHERE rolname = session_user AND NOT rolsuper
		UNION ALL SELECT 'the CONNECTION LIMIT of the database', datconnlimit,
			(SELECT count(*) FROM clients AS c WHERE c.datname = d.datname), 0
			FROM pg_database AS d, pg_roles WHERE d.datname = current_database() AND rolname = session_user AND NOT rolsuper
	) AS room (name, most, used, kept) WHERE most >= 0 ORDER BY 4 LIMIT 1`

// meet connects for the first time and asks for what the sessions depend on.
func (s *service) meet(ctx context.Context) error {
	return s.use(ctx, func(c *conn) error {
		row, err := c.row(ctx, "SELECT pg_backend_pid(), current_setting('server_version_num'), room.* "+
			"FROM ("+askRoom+") AS room")
		if err != nil {
			return err
		}
		pid, _ := strconv.ParseUint(row[0], 10, 32)
		version, _ := strconv.Atoi(row[1])
		left, _ := strconv.Atoi(row[5])
		switch {
		case uint32(pid) != c.pg.PID() && !s.pooled:
			return unsupported("there is a pooler such as PgBouncer before the server: " + s.poolerHint())
		case version < 100000:
			return unsupported("the server is older than PostgreSQL 10: name a newer one")
		}
		s.traits.MaxSessions = max(1, left)
		if s.pooled && s.table == "" {
			s.lends, err = s.askPooler(ctx, c)
		}
		return err
	})
}

// askPooler reports whether the pooler lends connections to the server for one transaction each: a session of ours is
// given another one, or that of the other. In session mode neither happens.
func (s *service) askPooler(ctx context.Context, c *conn) (lends bool, err error) {
	other, err := s.dial(ctx, true, nil, nil)
	if err != nil {
		return false, nil // a pool of sessions may have no other connection left
	}
	defer other.leave()
	first := [2]string{}
	for _, i := range []int{0, 1, 1, 0} {
		row, err := [2]*conn{c, other}[i].row(ctx, "SELECT pg_backend_pid()")
		if err != nil {
			return false, err
		}
		first[i] = cmp.Or(first[i], row[0])
		lends = lends || row[0] != first[i] || row[0] == first[1-i]
	}
	return lends, nil
}

// poolerHint says what to do about a pooler.
func (s *service) poolerHint() string {
	if s.table != "" {
		return "add pgbouncer=true to the address, or give the server's own address"
	}
	return "give the server's own address, or add pgbouncer=true to the pooler's for -lock row-lock, " +
		"or for a pooler in session mode"
}

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
		return nil, s.fail(fmt.Sprintf("session %d", id), cause(ctx, err))
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
	return s.fail("close", err)
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
			room.* FROM (`+askRoom+`) AS room`)
		if err != nil {
			return err
		}
		version, _, _ := strings.Cut(row[0], " ") // "15.13 (Debian 15.13-0+deb12u1)"
		server = drivers.Server{Name: "postgres", Version: version, Mode: "standalone", RunID: row[2],
			Persistence: s.design.persists(row[3] == "on", row[4] == "off")}
		if row[1] == "t" {
			server.Mode = "stand-by"
		}
		if s.lends {
			server.Mode = drivers.Lent
		}
		server.ClientLimit = row[5]
		server.MaxClients, _ = strconv.Atoi(row[6])
		server.Connected, _ = strconv.Atoi(row[7])
		return nil
	})
	return server, usage, err
}
