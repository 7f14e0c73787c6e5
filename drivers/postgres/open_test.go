package postgres

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// Configurations that cannot work are rejected with helpful errors, before any server is asked.
func TestConfigIsChecked(t *testing.T) {
	clearEnv(t)
	one := []string{"127.0.0.1:1"}
	for want, cfg := range map[string]drivers.Config{
		"topology sentinel":     {Addrs: one, Topology: drivers.TopologySentinel},
		"there are 2 addresses": {Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}},
		"there are 0 addresses": {},
		"no embedded":           {Addrs: one, Embedded: true},
		"4 connections":         {Addrs: one, Conns: 4},
		"pipelining auto":       {Addrs: one, Pipelining: drivers.PipeliningAuto},
		"release lua":           {Addrs: one, Release: drivers.ReleaseLua},
		`unknown parameter "x"`: {Addrs: one, Params: map[string]string{"x": "y"}},
		"unknown lock":          {Addrs: one, Lock: "spin"},
		"over a unix socket":    {Addrs: []string{"unix:///nonexistent"}, TLS: &tls.Config{}},
		"the address is empty":  {Addrs: []string{""}},
		"no server listens":     {Addrs: one, IOTimeout: 5 * time.Second},
		"start it":              {Addrs: []string{"unix:///nonexistent"}},
	} {
		_, err := driver{}.Open(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// Logins, and how they fail. No error shows a password, right or wrong.
func TestLogins(t *testing.T) {
	t.Parallel()
	const password, wrong = `p@ss/w"ö'rd`, "hunter2"
	p := servertest.Postgres(t, servers.Options{TLS: true, Password: password, Conns: 20})
	text, err := os.ReadFile(p.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	u, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = ""
	plain := u.String()
	u.User = url.UserPassword("postgres", password)
	full := u.String()
	u.User = url.UserPassword("postgres", wrong)
	mistaken := u.String()
	root := "sslmode=verify-full&sslrootcert=" + url.QueryEscape(p.CAFile())
	for _, tt := range []struct {
		name  string
		cfg   drivers.Config
		want  string // of the error; "" if it opens
		class drivers.Class
	}{
		{name: "URL", cfg: drivers.Config{Addrs: []string{full}}},
		{name: "fields", cfg: drivers.Config{Addrs: []string{u.Host}, Username: "postgres", Password: password, Database: "postgres"}},
		{name: "fields first", cfg: drivers.Config{Addrs: []string{mistaken}, Password: password}},
		{name: "TLS of the URL", cfg: drivers.Config{Addrs: []string{full + "?" + root}}},
		{name: "TLS of the config", cfg: drivers.Config{Addrs: []string{full}, TLS: &tls.Config{RootCAs: roots}}},
		{name: "wrong password", cfg: drivers.Config{Addrs: []string{mistaken}}, want: "check user, password", class: drivers.ClassAuth},
		{name: "wrong field", cfg: drivers.Config{Addrs: []string{full}, Password: wrong}, want: "check user, password", class: drivers.ClassAuth},
		{name: "no password", cfg: drivers.Config{Addrs: []string{plain}}, want: "password", class: drivers.ClassAuth},
		{name: "unknown user", cfg: drivers.Config{Addrs: []string{full}, Username: "nobody"}, want: "check user, password", class: drivers.ClassAuth},
		{name: "unknown database", cfg: drivers.Config{Addrs: []string{full}, Database: "nowhere"}, want: "name a database that exists", class: drivers.ClassServer},
		{name: "unknown CA", cfg: drivers.Config{Addrs: []string{full}, TLS: &tls.Config{}}, want: "(-tls-ca)", class: drivers.ClassConnect},
		{name: "another name", cfg: drivers.Config{Addrs: []string{full}, TLS: &tls.Config{RootCAs: roots, ServerName: "elsewhere"}}, want: "(-tls-server-name)", class: drivers.ClassConnect},
		{name: "not verified", cfg: drivers.Config{Addrs: []string{full}, TLS: &tls.Config{InsecureSkipVerify: true}}},
		{name: "of a provider", cfg: drivers.Config{Addrs: []string{full + "?ssl=true&schema=public&supa=base-pooler.x&channel_binding=prefer"}}},
		{name: "of node-postgres", cfg: drivers.Config{Addrs: []string{full + "?sslmode=no-verify&uselibpqcompat=true"}}},
		{name: "of Prisma", cfg: drivers.Config{Addrs: []string{full + "?sslmode=require&sslaccept=strict"}}, want: "(-tls-ca)", class: drivers.ClassConnect},
		{name: "of no server", cfg: drivers.Config{Addrs: []string{full + "?sslmode=require&nosuch=1"}}, want: `"nosuch" (SQLSTATE 42704); it stands in the address`, class: drivers.ClassServer},
	} {
		for _, lock := range []string{"advisory", "row-lock"} {
			tt.cfg.Lock = lock
			s, err := driver{}.Open(t.Context(), tt.cfg)
			if err != nil {
				if text := err.Error(); strings.Contains(text, password) || strings.Contains(text, wrong) || strings.Contains(text, "user=") || strings.Contains(text, url.PathEscape(password)) {
					t.Errorf("%s: the error shows a password, or what pgx begins with: %v", tt.name, err)
				}
				if tt.want == "" || !strings.Contains(err.Error(), tt.want) || drivers.ClassOf(err) != tt.class {
					t.Errorf("%s: %q of class %q; want %q of class %q", tt.name, err, drivers.ClassOf(err), tt.want, tt.class)
				}
				continue
			}
			if tt.want != "" {
				t.Errorf("%s: it opens", tt.name)
			}
			one := newSession(t, s.(*service))
			l := &drivers.Lease{Key: "k"}
			mustTry(t, one, l, true)
			mustRelease(t, one, l, true)
			one.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A server that requires TLS says so.
func TestHints(t *testing.T) {
	address := server(t)
	_, err := driver{}.Open(t.Context(), drivers.Config{Addrs: []string{address + "?sslmode=require"}})
	if err == nil || !strings.Contains(err.Error(), "sslmode=disable") {
		t.Errorf("a server without TLS: %v", err)
	}
	for _, greeting := range []string{"C\x00\x00\x00\x05\x00", "[\x00\x00\x00\x0a5.5.5-10.11.19-MariaDB", ""} { // the last is silent
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(conn, greeting)
				io.Copy(io.Discard, conn)
				conn.Close()
			}
		}()
		_, err = driver{}.Open(t.Context(), drivers.Config{Addrs: []string{"postgres://u@" + l.Addr().String() + "/db?sslmode=disable"}, IOTimeout: time.Second})
		if err == nil || !strings.Contains(err.Error(), "does not answer like PostgreSQL") {
			t.Errorf("a server that says %q: %v", greeting, err)
		}
		l.Close()
		<-done
	}
}

// A pooler has its own connections to the server, so the backend has another number than the client was told.
func TestPoolerIsRefused(t *testing.T) {
	u, err := url.Parse(server(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Host = relay(t, u.Host, func(client, server net.Conn) {
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		buf := make([]byte, 4096)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			if at := bytes.Index(buf[:n], []byte("K\x00\x00\x00\x0c")); at >= 0 {
				binary.BigEndian.PutUint32(buf[at+5:], 1) // the process by which it may be cancelled
			}
			client.Write(buf[:n])
		}
	})
	_, err = driver{}.Open(t.Context(), drivers.Config{Addrs: []string{u.String()}})
	if err == nil || !strings.Contains(err.Error(), "PgBouncer") || !strings.Contains(err.Error(), "the server's own address") {
		t.Errorf("Open answered %v", err)
	}
}

// The server's first probe comes after half the time, and it gives a client up after the whole of it.
func TestKeepAlive(t *testing.T) {
	for ttl, want := range map[time.Duration]string{
		0: "- - -", time.Millisecond: "1 1 2", 2 * time.Second: "1 1 2", 10 * time.Second: "5 3 2", time.Minute: "30 15 2",
	} {
		params := map[string]string{}
		keepAlive(params, ttl)
		var got []string
		for _, name := range []string{"idle", "interval", "count"} {
			value, ok := params["tcp_keepalives_"+name]
			if !ok {
				value = "-"
			}
			got = append(got, value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v: %q, want %q", ttl, got, want)
		}
	}
	address := server(t)
	s := open(t, drivers.Config{Addrs: []string{address}, TTL: 20 * time.Second})
	idle := ""
	err := s.use(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SHOW tcp_keepalives_idle").Scan(&idle)
	})
	if err != nil || idle != "10" {
		t.Errorf("the server says %q, %v", idle, err)
	}
}

// The driver's own share of a cycle is small compared with the server's.
func TestCycleAllocatesNothing(t *testing.T) {
	forDesigns(t, func(t *testing.T, lock string) {
		one := newSession(t, open(t, drivers.Config{Lock: lock, Addrs: []string{server(t)}}))
		l := &drivers.Lease{Key: "k"}
		if n := testing.AllocsPerRun(50, func() {
			one.Try(context.Background(), l)
			one.Release(context.Background(), l)
		}); n > 0 {
			t.Errorf("Try and Release allocate %v times", n)
		}
	})
}

// The server reports what it was started with.
func TestInspect(t *testing.T) {
	address := server(t)
	for lock, persists := range map[string]string{"advisory": "none", "row-lock": "none, fsync off"} {
		s := open(t, drivers.Config{Lock: lock, Addrs: []string{address}})
		got, usage, err := s.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != "postgres" || got.Version == "" || strings.Contains(got.Version, " ") || got.Mode != "standalone" || got.RunID == "" ||
			got.Persistence != persists || got.MaxClients != 160 || got.Connected < 1 {
			t.Errorf("%s: %+v", lock, got)
		}
		if want := (drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}); usage != want {
			t.Errorf("%s: %+v", lock, usage)
		}
	}
	for _, tt := range []struct {
		fsync, late bool
		want        string
	}{{true, false, "none, fsync at release"}, {true, true, "none, fsync late"}, {false, true, "none, fsync off"}} {
		if got := rowLockDesign.persists(tt.fsync, tt.late); got != tt.want {
			t.Errorf("fsync %t, synchronous_commit off %t: %q, want %q", tt.fsync, tt.late, got, tt.want)
		}
	}
}
