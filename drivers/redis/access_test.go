// Servers that permit less than a server of one's own: users with few rights, and another name for Redis.
package redis_test

import (
	"crypto/tls"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestPrefixRefused: a user who may use other names hears so, and of the flag: before the run if scripts are asked for anyway,
// otherwise where it happens.
func TestPrefixRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		refused := func(err error, want string) {
			t.Helper()
			if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "(-prefix)") {
				t.Errorf("%v (%s), want %s", err, drivers.ClassOf(err), want)
			}
		}
		restrict(t, server, "resetkeys", "~app:*", "resetchannels", "&app:*")
		cfg := drivers.Config{Addrs: []string{server.URL()}, Prefix: "app:", Wakes: true}
		permitted := open(t, driver, cfg)
		handOver(t, session(t, permitted, 0), "app:k")
		for _, prefix := range []string{"test:", "app"} {
			cfg.Prefix = prefix
			_, err := lookup(t, driver).Open(t.Context(), cfg)
			refused(err, fmt.Sprintf("the user default may not use names that begin with %q", prefix))
		}
		l := &drivers.Lease{Key: "test:k", TTL: time.Minute}
		_, err := session(t, open(t, driver, drivers.Config{Addrs: cfg.Addrs, Lock: "set-nx-del"}), 0).Try(t.Context(), l)
		refused(err, "key")
		restrict(t, server, "resetchannels")
		l.Key = "app:k"
		a := session(t, permitted, 0)
		try(t, a, l, true)
		_, err = a.Release(t.Context(), l)
		refused(err, "channel")
		var w woken
		refused(listen(t, permitted, &w).Add(t.Context(), "app:k"), "channel")
	})
}

// TestTakesNoWrites opens a service on servers that refuse writes, and on the same ones when they take them.
func TestTakesNoWrites(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		cfg := drivers.Config{Addrs: []string{server.URL()}}
		rdb := bare(t, cfg)
		do := func(command string) string {
			t.Helper()
			var args []any
			for word := range strings.FieldsSeq(command) {
				args = append(args, strings.ReplaceAll(word, ",", " "))
			}
			reply, err := rdb.Do(t.Context(), args...).Result()
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(reply)
		}
		_, dir, _ := strings.Cut(do("CONFIG GET dir"), "dir:")
		if err := os.Mkdir(filepath.Join(strings.Trim(dir, "]"), "dump.rdb"), 0o700); err != nil { // no snapshot takes its place
			t.Fatal(err)
		}
		for _, tc := range []struct{ refuses, takes, want string }{
			{"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY You can't write against a read only replica: give the address"},
			{"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS Not enough good replicas to write: start"},
			{"CONFIG SET save 3600,1", "CONFIG SET stop-writes-on-bgsave-error no", "MISCONF"},
		} {
			if tc.want == "MISCONF" {
				do("BGSAVE")
				testwait.Until(t, "the snapshot fails", func() bool {
					return strings.Contains(do("INFO persistence"), "rdb_last_bgsave_status:err")
				})
			}
			handOver(t, session(t, open(t, driver, cfg), 0), "k")
			do(tc.refuses)
			_, err := lookup(t, driver).Open(t.Context(), cfg)
			if drivers.ClassOf(err) != drivers.ClassReadOnly || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v (%s)", tc.refuses, err, drivers.ClassOf(err))
			}
			do(tc.takes)
		}
		handOver(t, session(t, open(t, driver, cfg), 0), "k")
	})
}

// TestCertificateErrors names the node, and the flag that helps.
func TestCertificateErrors(t *testing.T) {
	server := startRedis(t, servers.Options{TLS: true})
	asking := httptest.NewUnstartedServer(nil)
	asking.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	asking.StartTLS()
	defer asking.Close()
	unverified := &tls.Config{InsecureSkipVerify: true}
	forBoth(t, func(t *testing.T, driver string) {
		handOver(t, session(t, open(t, driver, drivers.Config{Addrs: []string{server.address()}, TLS: unverified}), 0), "k")
		for flag, cfg := range map[string]drivers.Config{
			"(-tls-ca)":          {Addrs: []string{server.address()}, TLS: &tls.Config{}},
			"(-tls-server-name)": {Addrs: []string{server.address()}, TLS: trusting(t, server.CAFile(), "elsewhere")},
			"(-tls-cert)":        {Addrs: []string{asking.Listener.Addr().String()}, TLS: unverified},
		} {
			_, err := lookup(t, driver).Open(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), "TLS with "+cfg.Addrs[0]) || !strings.Contains(err.Error(), flag) {
				t.Errorf("%v, want %s", err, flag)
			}
		}
	})
}

// TestValkey locks on a Valkey, where one is installed.
func TestValkey(t *testing.T) {
	if testing.Short() {
		t.Skip("a second kind of server: make test-all")
	}
	binary, err := exec.LookPath("valkey-server")
	if err != nil {
		t.Skip("no valkey-server is installed: Debian has the package valkey-server from release 13 on")
	}
	server := startRedis(t, servers.Options{Binary: binary, TCP: true})
	forBoth(t, func(t *testing.T, driver string) {
		d := lookup(t, driver)
		about, _, err := open(t, driver, drivers.Config{Addrs: []string{server.URL()}}).(drivers.Inspector).Inspect(t.Context())
		if err != nil || about.Name != "valkey" || about.Persistence != "none" {
			t.Errorf("Inspect: %+v, %v", about, err)
		}
		for _, cell := range cells(d, 0) {
			t.Run(cell.name, func(t *testing.T) { conform(t, d, cell.Config, server.URL()) })
		}
	})
}
