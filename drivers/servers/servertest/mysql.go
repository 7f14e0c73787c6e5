package servertest

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// MySQL is like Redis for MariaDB or MySQL.
func MySQL(t testing.TB, o servers.MySQLOptions) *servers.MySQL {
	t.Helper()
	return start(t, func() (*servers.MySQL, error) { return servers.StartMySQL(t.Context(), o) })
}
