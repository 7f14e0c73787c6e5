// What the server tells about itself.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// ask reads variables and counters of the server, and how many connections its user has, by their names in lower case.
// Every user may read them.
func (s *service) ask(ctx context.Context) (map[string]string, error) {
	about := map[string]string{}
	add := func(query string) error {
		rows, err := s.own.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			about[strings.ToLower(name)] = value
		}
		return rows.Err()
	}
	if err := add("SHOW SESSION VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'max_connections', " +
		"'max_user_connections', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin', 'wait_timeout', " +
		"'max_statement_time', 'max_execution_time', 'innodb_lock_wait_timeout', 'idle_transaction_timeout', " +
		"'idle_readonly_transaction_timeout')"); err != nil {
		return nil, err
	}
	schema := "performance_schema"
	if maria(about) {
		schema = "information_schema"
	}
	// In one statement, the clock and the uptime are of the same moment.
	return about, add("SELECT variable_name, variable_value FROM " + schema + ".global_status " +
		"WHERE variable_name IN ('Questions', 'Bytes_received', 'Bytes_sent', 'Threads_connected', 'Uptime') " +
		"UNION ALL SELECT 'clock', UNIX_TIMESTAMP() UNION ALL SELECT 'of_user', COUNT(*) " +
		"FROM information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), '@', 1)")
}

func maria(about map[string]string) bool {
	return strings.Contains(about["version"]+about["version_comment"], "MariaDB")
}

// room returns the nearest limit of connections, by its name, and how many there are.
func room(about map[string]string) (limit string, most, used int) {
	all, ofUser := atoi(about["threads_connected"]), atoi(about["of_user"])
	most, mine := atoi(about["max_connections"]), atoi(about["max_user_connections"])
	if mine > 0 && mine-ofUser < most-all {
		return "max_user_connections", mine, ofUser
	}
	return "max_connections", most, all
}

// limit returns a time limit of the server's, 0 if it has none. All but max_execution_time are in seconds.
func (s *service) limit(name string) time.Duration {
	n, _ := strconv.ParseFloat(s.about[name], 64)
	if name == "max_execution_time" {
		n /= 1000
	}
	return time.Duration(n * float64(time.Second))
}

// Inspect implements drivers.Inspector. The server does not tell its CPU time. It counts statements ("Questions"), and
// not what happens inside them. Its id survives restarts, so the second of its start identifies a run.
func (s *service) Inspect(ctx context.Context) (server drivers.Server, usage drivers.Usage, err error) {
	err = s.controlled(ctx, "inspect", func(ctx context.Context, _ *sql.DB) error {
		about, err := s.ask(ctx)
		server.Name, server.Mode, server.Persistence = "mysql", "standalone", s.persistence(about)
		if maria(about) {
			server.Name = "mariadb"
		}
		server.Version, _, _ = strings.Cut(about["version"], "-")
		server.RunID = fmt.Sprint(atoi(about["clock"]) - atoi(about["uptime"]))
		server.ClientLimit, server.MaxClients, server.Connected = room(about)
		usage = drivers.Usage{CPU: -1, Commands: int64(atoi(about["questions"])),
			BytesIn: int64(atoi(about["bytes_received"])), BytesOut: int64(atoi(about["bytes_sent"]))}
		return err
	})
	return server, usage, err
}

// persistence returns what is on disk when a grant is answered. Row locks and user locks exist only in the server's
// memory, whatever it does with its data.
func (s *service) persistence(about map[string]string) string {
	switch {
	case s.Design.Traits.Session:
		return "none"
	case about["innodb_flush_log_at_trx_commit"] != "1":
		return "fsync each second"
	case about["log_bin"] == "ON" && about["sync_binlog"] != "1":
		return "fsync each commit, binlog not"
	}
	return "fsync each commit"
}

// atoi returns a number that the server sent as text; 0 for anything else.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
