// Servers that permit less than a server of one's own: proxies, users with few rights, and another name for Redis.
package redis_test

import (
	"crypto/tls"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// TestCertificateErrors names the node, and the flag that helps.
func TestCertificateErrors(t *testing.T) {
	server := startRedis(t, servers.RedisOptions{TLS: true})
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
			"(-tls-cert, -":      {Addrs: []string{asking.Listener.Addr().String()}, TLS: unverified},
		} {
			_, err := lookup(t, driver).Open(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), "TLS with "+cfg.Addrs[0]) || !strings.Contains(err.Error(), flag) {
				t.Errorf("%v, want %s", err, flag)
			}
		}
	})
}
