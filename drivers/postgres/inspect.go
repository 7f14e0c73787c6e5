package postgres

// What the server reports about itself.

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Ping implements drivers.Pinger with an empty packet, on the service's own connection.
func (s *service) Ping(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = s.use(ctx, func(c *conn) error { return c.must(c.ask(ctx, c.soon())) })
	}
	if err != nil {
		return fail("ping", cause(ctx, err))
	}
	return nil
}

// Probe implements drivers.Prober with SELECT 1. The server parses and runs it; but it reads no row, because every
// table belongs to an application.
func (s *service) Probe(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		err = s.use(ctx, func(c *conn) error {
			_, err := c.query(ctx, "SELECT 1")
			return err
		})
	}
	if err != nil {
		return fail("probe", cause(ctx, err))
	}
	return nil
}

// Inspect implements drivers.Inspector. Without an extension (pg_stat_statements) the server counts transactions, not
// statements, and reports those a second late; it knows neither bytes nor its CPU time.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	usage := drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	var server drivers.Server
	err := s.use(ctx, func(c *conn) error {
		row, err := c.row(ctx, 8, `SELECT current_setting('server_version'), pg_is_in_recovery(),
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
	if err != nil {
		return drivers.Server{}, usage, fail("inspect", cause(ctx, err))
	}
	return server, usage, nil
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
