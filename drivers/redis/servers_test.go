// The servers that the tests of this package start, and the two client libraries.
package redis_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	_ "github.com/lockbench/lockbench/drivers/redis/goredis"
	_ "github.com/lockbench/lockbench/drivers/redis/rueidis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// realServer is a private redis-server; if its faults cannot be made, the test fails.
type realServer struct {
	t testing.TB
	*servers.Redis
}

// startRedis starts a redis-server on a unix socket, unless the options say otherwise.
func startRedis(t testing.TB, o servers.Options) realServer {
	t.Helper()
	return realServer{t, servertest.Redis(t, o)}
}

func (s realServer) start()                    { s.t.Helper(); s.check(s.Restart(context.Background())) }
func (s realServer) kill()                     { s.t.Helper(); s.check(s.Kill()) }
func (s realServer) signal(sig syscall.Signal) { s.t.Helper(); s.check(s.Signal(sig)) }

func (s realServer) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// address returns the part of a URL after the scheme: a socket's path, or host:port.
func (s realServer) address() string {
	_, address, _ := strings.Cut(s.URL(), "://")
	return address
}

// restrict changes the permissions of the default user.
func restrict(t *testing.T, s realServer, rules ...any) {
	t.Helper()
	rdb := bare(t, drivers.Config{Addrs: []string{s.URL()}})
	if err := rdb.Do(t.Context(), append([]any{"ACL", "SETUSER", "default"}, rules...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// plainRedis returns the address of a redis-server without any options.
func plainRedis(t testing.TB) []string { return []string{startRedis(t, servers.Options{}).URL()} }

// embedded returns the configuration for the embedded server.
func embedded(t testing.TB) drivers.Config {
	return drivers.Config{Addrs: []string{servertest.Embedded(t)}, Embedded: true}
}

// forEach runs a test for both libraries, on one server.
func forEach(t *testing.T, test func(t *testing.T, driver string, cfg drivers.Config)) {
	addrs := plainRedis(t)
	forBoth(t, func(t *testing.T, driver string) {
		test(t, driver, drivers.Config{Addrs: addrs, Prefix: "test:" + t.Name() + ":"})
	})
}

// forBoth runs a test for both libraries, which starts its own server.
func forBoth(t *testing.T, test func(t *testing.T, driver string)) {
	for _, driver := range []string{"go-redis", "rueidis"} {
		t.Run(driver, func(t *testing.T) { test(t, driver) })
	}
}

// open opens a service that is closed with the test.
func open(t testing.TB, driver string, cfg drivers.Config) drivers.Service {
	t.Helper()
	d, err := drivers.Lookup(driver)
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Open(t, d, cfg)
}

func session(t testing.TB, s drivers.Service, id int) drivers.Session {
	t.Helper()
	return drivertest.SessionOf[drivers.Session](t, s, id)
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// trusting returns a TLS configuration that trusts an authority, and expects a name in its certificates, or that of the address.
func trusting(t *testing.T, file, name string) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	return &tls.Config{RootCAs: trusted, ServerName: name}
}
