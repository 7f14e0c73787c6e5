// Asking the server what it is and what it has used.
package mysql

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// about is a server's description of itself.
type about struct {
	version, comment    string
	maxConns, connected int64
	userConns, ofUser   int64 // the limit of the user, or 0, and the user's connections
	flush, syncBinlog   int64
	binlog              bool
	questions, in, out  int64
	started             int64                    // in seconds since 1970; 0: unknown
	limits              map[string]time.Duration // those that are set, of a holder or a statement
}

// room returns the nearest limit of connections, by its name, and how many there are.
func (a about) room() (limit string, most, used int) {
	if a.userConns > 0 && a.userConns-a.ofUser < a.maxConns-a.connected {
		return "max_user_connections", int(a.userConns), int(a.ofUser)
	}
	return "max_connections", int(a.maxConns), int(a.connected)
}

func (a about) maria() bool { return strings.Contains(a.version+a.comment, "MariaDB") }

func (s *service) ask(ctx context.Context) (a about, err error) {
	err = s.controlled(ctx, "inspect", func(c *conn) error {
		for range asks {
			begun, err := a.settings(ctx, c)
			if err != nil {
				return err
			}
			uptime, err := a.status(ctx, c)
			if err != nil {
				return err
			}
			ended, err := c.row(ctx, "SELECT UNIX_TIMESTAMP()")
			if err != nil {
				return err
			}
			if begun == number(ended[0]) {
				a.started = begun - uptime
				return nil
			}
		}
		return nil
	})
	return a, err
}

// asks bounds how often a server is asked until its clock and its uptime, both in whole seconds, fit together.
const asks = 3

// settings reads what does not change, and the server's clock, in seconds since 1970.
func (a *about) settings(ctx context.Context, c *conn) (clock int64, err error) {
	row, err := c.row(ctx, "SELECT @@version, @@version_comment, @@max_connections, "+
		"@@innodb_flush_log_at_trx_commit, @@sync_binlog, @@log_bin, UNIX_TIMESTAMP(), @@max_user_connections, "+
		"(SELECT COUNT(*) FROM information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), '@', 1))")
	if err != nil {
		return 0, err
	}
	a.version, _ = row[0].(string)
	a.comment, _ = row[1].(string)
	a.maxConns, a.flush, a.syncBinlog, a.binlog = number(row[2]), number(row[3]), number(row[4]), number(row[5]) != 0
	a.userConns, a.ofUser = number(row[7]), number(row[8])
	return number(row[6]), nil
}

// readLimits reads the variables that end a holder's connection or a statement. Those that a server does not have are
// missing in its answer.
func (s *service) readLimits(ctx context.Context) error {
	names := strings.Join(append(slices.Collect(maps.Values(settings)), s.limits...), "', '")
	return s.controlled(ctx, "read limits", func(c *conn) error {
		rows, err := c.rowsWithin(ctx, 0, "SHOW SESSION VARIABLES WHERE Variable_name IN ('"+names+"')")
		s.about.limits = map[string]time.Duration{}
		for _, row := range rows {
			name, _ := row[0].(string)
			value, _ := row[1].(string)
			limit, bad := strconv.ParseFloat(value, 64)
			if name = strings.ToLower(name); name == "max_execution_time" {
				limit /= 1000 // the others are in seconds
			}
			if bad == nil && limit > 0 {
				s.about.limits[name] = time.Duration(limit * float64(time.Second))
			}
		}
		return err
	})
}

// status reads the server's counters and its uptime in seconds.
func (a *about) status(ctx context.Context, c *conn) (uptime int64, err error) {
	status, err := c.rowsWithin(ctx, 0, "SHOW GLOBAL STATUS WHERE Variable_name IN "+
		"('Questions', 'Bytes_received', 'Bytes_sent', 'Threads_connected', 'Uptime')")
	values := map[string]int64{}
	for _, row := range status {
		name, _ := row[0].(string)
		values[strings.ToLower(name)] = number(row[1])
	}
	a.questions, a.in, a.out = values["questions"], values["bytes_received"], values["bytes_sent"]
	a.connected, uptime = values["threads_connected"], values["uptime"]
	return uptime, err
}

// runID identifies this run of the server by its start time. The server has an id of its own, but that survives
// restarts.
func (a about) runID() string {
	if a.started == 0 {
		return ""
	}
	return strconv.FormatInt(a.started, 10)
}

// Inspect implements drivers.Inspector with variables and status that every user may read. The server does not tell its
// CPU time. It counts statements ("Questions"), and not what happens inside them.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	a, err := s.ask(ctx)
	if err != nil {
		return drivers.Server{}, drivers.Usage{}, err
	}
	name := "mysql"
	if a.maria() {
		name = "mariadb"
	}
	version, _, _ := strings.Cut(a.version, "-")
	server := drivers.Server{
		Name: name, Version: version, Mode: "standalone", RunID: a.runID(), Persistence: s.persistence(a),
	}
	server.ClientLimit, server.MaxClients, server.Connected = a.room()
	return server, drivers.Usage{CPU: -1, Commands: a.questions, BytesIn: a.in, BytesOut: a.out}, nil
}

// persistence returns what is on disk when a grant is answered. Row locks and user locks exist only in the server's
// memory, whatever it does with its data.
func (s *service) persistence(a about) string {
	if s.Design.Traits.Session {
		return "none"
	}
	switch {
	case a.flush != 1:
		return "fsync each second"
	case a.binlog && a.syncBinlog != 1:
		return "fsync each commit, binlog not"
	}
	return "fsync each commit"
}
