package postgres

// What the service asks the server, on a connection of its own.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

// use calls f with the service's own connection, for no longer than a request may take. A connection that nobody has
// used for long may have ended: then f is called again, with a new one.
func (s *service) use(caller context.Context, f func(ctx context.Context, c *pgx.Conn) error) (err error) {
	ctx, cancel := context.WithTimeout(caller, s.cfg.IO())
	defer cancel()
	s.control.Lock()
	defer s.control.Unlock()
	for fresh := false; !fresh && ctx.Err() == nil; {
		if s.control.over {
			return errClosed
		}
		if fresh = s.control.conn == nil; fresh {
			if s.control.conn, err = s.connect(ctx); err != nil {
				break
			}
		}
		if err = f(ctx, s.control.conn); !s.control.conn.IsClosed() {
			break
		}
		_ = s.control.conn.PgConn().Conn().Close()
		s.control.conn = nil
	}
	if caller.Err() != nil {
		return caller.Err()
	}
	return err
}

func (s *service) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(context.WithValue(ctx, counted{}, (*traffic.Counter)(nil)), s.target)
	if err == nil && s.pooled {
		err = c.Ping(ctx) // the pooler may have no connection to the server
	}
	if err != nil {
		return nil, s.connectError(ctx, err)
	}
	return c, nil
}

// aboutServer asks what the server is, and which limit of connections is the nearest: its name, its number, how many
// there are, and how many are left. Those of roles and databases do not apply to superusers. A user without privileges
// sees little more than the database and the user of other connections.
const aboutServer = `WITH clients AS (SELECT usename, datname FROM pg_stat_activity
		WHERE datid IS NOT NULL AND backend_type IS DISTINCT FROM 'autovacuum worker')
	SELECT pg_backend_pid(), split_part(current_setting('server_version'), ' ', 1), pg_is_in_recovery(),
		extract(epoch FROM pg_postmaster_start_time())::text, current_setting('fsync') = 'on',
		current_setting('synchronous_commit') = 'off', name, most, used::int, (most - used - kept)::int
	FROM (SELECT 'max_connections', current_setting('max_connections')::int, (SELECT count(*) FROM clients),
			current_setting('superuser_reserved_connections')::int
				+ coalesce(current_setting('reserved_connections', true), '0')::int
		UNION ALL SELECT 'the CONNECTION LIMIT of the role', rolconnlimit,
			(SELECT count(*) FROM clients WHERE usename = rolname), 0
			FROM pg_roles WHERE rolname = session_user AND NOT rolsuper
		UNION ALL SELECT 'the CONNECTION LIMIT of the database', datconnlimit,
			(SELECT count(*) FROM clients AS c WHERE c.datname = d.datname), 0
			FROM pg_database AS d, pg_roles WHERE d.datname = current_database() AND rolname = session_user AND NOT rolsuper
	) AS room (name, most, used, kept) WHERE most >= 0 ORDER BY 10 LIMIT 1`

// look returns what the server is, the process that serves c, and how many connections are left.
func (s *service) look(ctx context.Context, c *pgx.Conn) (about drivers.Server, pid uint32, left int, err error) {
	about = drivers.Server{Name: "postgres", Mode: "standalone"}
	var recovers, fsync, late bool
	err = c.QueryRow(ctx, aboutServer).Scan(&pid, &about.Version, &recovers, &about.RunID, &fsync, &late,
		&about.ClientLimit, &about.MaxClients, &about.Connected, &left)
	about.Persistence = s.design.persists(fsync, late)
	if recovers {
		about.Mode = "stand-by"
	}
	if s.lends {
		about.Mode = drivers.Lent
	}
	return about, pid, left, err
}

// meet asks for what the sessions depend on, and makes it.
func (s *service) meet(ctx context.Context, c *pgx.Conn) error {
	_, pid, left, err := s.look(ctx, c)
	if err != nil {
		return err
	}
	if pid != c.PgConn().PID() && !s.pooled {
		return &drivers.Error{Class: drivers.ClassServer, Op: "connect", Err: errors.New(
			"there is a pooler such as PgBouncer before the server: " + s.poolerRemedy())}
	}
	s.traits.MaxSessions = max(1, left)
	var name string
	var milliseconds int64
	rows, _ := c.Query(ctx, "SELECT name, setting::int8 FROM pg_settings WHERE name = ANY($1)",
		slices.Collect(maps.Values(endings)))
	_, err = pgx.ForEachRow(rows, []any{&name, &milliseconds}, func() error {
		s.limits[name] = time.Duration(milliseconds) * time.Millisecond
		return nil
	})
	switch {
	case err != nil:
		return err
	case s.table != "":
		return s.makeTable(ctx, c)
	case s.pooled:
		s.lends = s.askPooler(ctx, c)
	}
	return nil
}

// askPooler reports whether the pooler lends connections to the server for one transaction each: a client of ours is
// given another one, or that of the other. In session mode neither happens.
func (s *service) askPooler(ctx context.Context, c *pgx.Conn) (lends bool) {
	other, err := s.connect(ctx)
	if err != nil {
		return false // a pool of sessions may have no other connection left
	}
	defer other.Close(ctx)
	var pids [4]int
	for i, one := range []*pgx.Conn{c, other, other, c} {
		if one.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pids[i]) != nil {
			return false
		}
	}
	return pids[0] != pids[3] || pids[1] != pids[2] || pids[0] == pids[1]
}

// Ping implements drivers.Pinger.
func (s *service) Ping(ctx context.Context) error {
	return s.fail("ping", s.use(ctx, func(ctx context.Context, c *pgx.Conn) error { return c.Ping(ctx) }))
}

// Probe implements drivers.Prober with SELECT 1. It reads no row, because every table belongs to an application.
func (s *service) Probe(ctx context.Context) error {
	return s.fail("probe", s.use(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT 1")
		return err
	}))
}

// Inspect implements drivers.Inspector. Without an extension (pg_stat_statements) the server counts transactions, not
// statements, and reports those a second late; it knows neither bytes nor its CPU time.
func (s *service) Inspect(ctx context.Context) (about drivers.Server, _ drivers.Usage, err error) {
	err = s.use(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		about, _, _, err = s.look(ctx, c)
		return err
	})
	return about, drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}, s.fail("inspect", err)
}

// Traffic implements drivers.Counter. Each packet of statements is one write.
func (s *service) Traffic() drivers.Traffic { return drivers.Traffic{RoundTrips: s.sent.Sent().Writes} }
