// Servers that permit less than a server of one's own: users with few rights, and another name for Redis.
package redis_test

import (
	"crypto/tls"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
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
