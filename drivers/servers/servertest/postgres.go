package servertest

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// Postgres is like Redis for PostgreSQL.
func Postgres(t testing.TB, o servers.PostgresOptions) *servers.Postgres {
	t.Helper()
	return start(t, func() (*servers.Postgres, error) { return servers.StartPostgres(t.Context(), o) })
}
