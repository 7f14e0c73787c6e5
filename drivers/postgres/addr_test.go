package postgres

import (
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// clearEnv clears the variables that libpq would read.
func clearEnv(t testing.TB) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSSLMODE", "PGSERVICE", "PGSSLROOTCERT"} {
		t.(interface{ Setenv(k, v string) }).Setenv(name, "")
	}
}

func TestReadAddr(t *testing.T) {
	clearEnv(t)
	t.Setenv("PGUSER", "someone")
	for _, tt := range []struct{ addr, network, redacted string }{
		{"postgres://al:s3cret@db.example:5433/app", "tcp", "postgres://db.example:5433/app"},
		{"postgresql://al:s3cret@db.example/app", "tcp", "postgres://db.example:5432/app"},
		{"db.example:5433", "tcp", "postgres://db.example:5433/"},
		{"al:s3cret@[::1]:5433/app", "tcp", "postgres://[::1]:5433/app"},
		{"postgres://al:s3cret@db.example/app?sslmode=verify-full", "tls", "postgres://db.example:5432/app?sslmode=verify-full"},
		{"postgres://al:s3cret@db.example/app?ssl=true", "tls", "postgres://db.example:5432/app?sslmode=require"},
		{"postgres://al:s3cret@db.example/app?ssl=false&schema=mine", "tcp", "postgres://db.example:5432/app?search_path=%22mine%22"},
		{"postgres://al:s3cret@db.example/app?sslmode=require&sslaccept=strict&pgbouncer=true&supa=x", "tls",
			"postgres://db.example:5432/app?default_query_exec_mode=exec&sslmode=verify-full"},
		{"postgres://al:s3cret@db.example/app?prepareThreshold=0&statement_cache_size=0", "tcp", "postgres://db.example:5432/app?default_query_exec_mode=exec"},
		{"postgres://al:s3cret@db.example/app?sslmode=disable&connect_timeout=3", "tcp", "postgres://db.example:5432/app"},
		{"host=db.example password='s3 cret' dbname=app", "tcp", "postgres://db.example:5432/app"},
		{"host=db.example password=s3cret sslmode = 'require'", "tls", "postgres://db.example:5432/?sslmode=require"},
		{"postgres://al:s3cret@/app?host=/run/pg", "unix", "postgres:///app?host=%2Frun%2Fpg&port=5432"},
		{"unix:///run/pg", "unix", "postgres:///?host=%2Frun%2Fpg&port=5432"},
		{"unix:///run/pg/.s.PGSQL.5433", "unix", "postgres:///?host=%2Frun%2Fpg&port=5433"},
	} {
		got, err := driver{}.ReadAddr(tt.addr)
		want := drivers.Addr{Redacted: tt.redacted, Network: tt.network, Unverified: strings.Contains(tt.redacted, "sslmode=require")}
		if strings.Contains(tt.addr, "al:") {
			want.User = "al"
		}
		switch {
		case strings.Contains(tt.addr, "s3 cret"):
			want.Password = "s3 cret"
		case strings.Contains(tt.addr, "s3cret"):
			want.Password = "s3cret"
		}
		if got != want || err != nil {
			t.Errorf("%s: %+v, %v; want %+v", tt.addr, got, err, want)
		}
	}
	for addr, want := range map[string]string{
		"":                                          "is empty",
		"redis://al:s3cret@db.example":              "another service",
		"postgres://al:s3cret@db:port/app":          "cannot be read",
		"postgres://al:s3cret%zz@db/app":            "cannot be read",
		"postgres://al:s3cret@a,b/app":              "more than one host",
		"postgres://al:s3cret@db/?sslmode=prefer":   "sslmode disable",
		"postgres://al:s3cret@db/?sslmode=s3cret":   "cannot be read",
		"postgres://al:s3cret@db/?sslaccept=strict": "give sslmode=verify-full",
		"host=db password=s3cret' x":                "cannot be read",
		"postgres://al:s3cret@db/?sslmode=verify-ca&sslrootcert=/nonexistent/s3cret": "cannot be read",
	} {
		_, err := driver{}.ReadAddr(addr)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v; want %q", addr, err, want)
		}
	}
	t.Setenv("PGSSLMODE", "require")
	if got, err := (driver{}).ReadAddr("db.example"); got.Network != "tls" || err != nil {
		t.Errorf("with PGSSLMODE: %+v, %v", got, err)
	}
}

// TestReadAddrIgnoresSessions sets variables that would change a session, or override the address.
func TestReadAddrIgnoresSessions(t *testing.T) {
	clearEnv(t)
	const addr = "postgres://al@/app?host=/run/pg"
	want, _, err := readAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ignored {
		t.Setenv(name, "-c synchronous_commit=off")
	}
	t.Setenv("PGSSLMODE", "prefer") // sockets do not have it
	got, described, err := readAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.RuntimeParams) != len(want.RuntimeParams) || got.Host != want.Host || got.ConnectTimeout != want.ConnectTimeout {
		t.Errorf("the environment makes it %v at %s", got.RuntimeParams, got.Host)
	}
	if os.Getenv("PGOPTIONS") == "" {
		t.Error("PGOPTIONS is lost")
	}
	if strings.Contains(described.Redacted, "options") {
		t.Errorf("%s shows what does not count", described.Redacted)
	}
	// In the address they are used, and shown.
	got, described, err = readAddr(addr + "&options=-c%20synchronous_commit%3Doff&passwort=s3cret")
	if err != nil || got.RuntimeParams["options"] != "-c synchronous_commit=off" ||
		!strings.Contains(described.Redacted, "options=-c+synchronous_commit%3Doff") || strings.Contains(described.Redacted, "s3cret") {
		t.Errorf("%v, %s, %v", got.RuntimeParams, described.Redacted, err)
	}
}
