package postgres

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestPrivateServerInAnyEnvironment: the variables are for a server of the user's own.
func TestPrivateServerInAnyEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"PGHOST": "nowhere", "PGPORT": "1", "PGDATABASE": "none", "PGUSER": "nobody", "PGPASSWORD": "wrong", "PGPASSFILE": "/nonexistent",
		"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "system", "PGSSLCERT": "/nonexistent", "PGSSLKEY": "/nonexistent",
		"PGCHANNELBINDING": "require",
		"PGOPTIONS":        "-cnonsense=1", "PGSERVICE": "none", "PGSERVICEFILE": "/nonexistent", "PGTZ": "nowhere",
		"PGTARGETSESSIONATTRS": "standby", "PGCONNECT_TIMEOUT": "x", "PGMINPROTOCOLVERSION": "9", "PGMAXPROTOCOLVERSION": "1",
	} {
		t.Setenv(name, value)
	}
	p := servertest.Postgres(t, servers.Options{Conns: 20})
	svc, err := driver{}.Open(t.Context(), drivers.Config{Addrs: []string{p.URL()}, Lock: "row-lock", Prefix: "env:"})
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Close(); err != nil {
		t.Error(err)
	}
}
