// Asking the server what it is and what it has spent.
package mysql

import (
	"context"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// about is what a server says of itself.
type about struct {
	version, comment    string
	maxConns, connected int64
	flush, syncBinlog   int64
	binlog              bool
	questions, in, out  int64
}

// free is how many connections sessions may pin.
func (a about) free() int { return int(a.maxConns - a.connected - reserved) }

func (a about) maria() bool { return strings.Contains(a.version+a.comment, "MariaDB") }

func (s *service) ask(ctx context.Context) (a about, err error) {
	err = s.controlled(ctx, "inspect", func(c *conn) error {
		row, err := c.row(ctx, "SELECT @@version, @@version_comment, @@max_connections, "+
			"@@innodb_flush_log_at_trx_commit, @@sync_binlog, @@log_bin")
		if err != nil {
			return err
		}
		a.version, _ = row[0].(string)
		a.comment, _ = row[1].(string)
		a.maxConns, a.flush, a.syncBinlog, a.binlog = number(row[2]), number(row[3]), number(row[4]), number(row[5]) != 0
		status, err := c.rowsWithin(ctx, 0, "SHOW GLOBAL STATUS WHERE Variable_name IN "+
			"('Questions', 'Bytes_received', 'Bytes_sent', 'Threads_connected')")
		for _, row := range status {
			switch name, _ := row[0].(string); strings.ToLower(name) {
			case "questions":
				a.questions = number(row[1])
			case "bytes_received":
				a.in = number(row[1])
			case "bytes_sent":
				a.out = number(row[1])
			case "threads_connected":
				a.connected = number(row[1])
			}
		}
		return err
	})
	return a, err
}

// Inspect implements drivers.Inspector with variables and status that every user may read. The server does not tell
// how much CPU it has used. It counts statements ("Questions"), and not what happens inside them.
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
		Name: name, Version: version, Mode: "standalone", Persistence: s.persistence(a),
		MaxClients: int(a.maxConns), Connected: int(a.connected),
	}
	return server, drivers.Usage{CPU: -1, Commands: a.questions, BytesIn: a.in, BytesOut: a.out}, nil
}

// persistence is what is on disk when a grant is answered. Row locks and user locks live in the server's memory alone,
// whatever it does with its data.
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
