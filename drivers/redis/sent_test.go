package redis_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// TestSent: what a service says that it has sent is what its server has received, apart from what others send.
func TestSent(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		for name, o := range map[string]servers.RedisOptions{"plain": {}, "TLS": {TLS: true}} {
			for _, pipelining := range pipelinings {
				server := startRedis(t, o)
				cfg := drivers.Config{Addrs: []string{server.URL()}, Pipelining: pipelining, Wakes: true}
				if o.TLS {
					pem, err := os.ReadFile(server.CAFile())
					if err != nil {
						t.Fatal(err)
					}
					trusted := x509.NewCertPool()
					trusted.AppendCertsFromPEM(pem)
					cfg.TLS = &tls.Config{RootCAs: trusted}
				}
				s := open(t, driver, cfg)
				a := session(t, s, 0)
				handOver(t, a, "k") // loads scripts, makes connections
				others := func() int64 {
					_, usage, err := s.(drivers.Inspector).Inspect(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return usage.BytesIn - s.(drivers.Sender).Sent().BytesIn
				}
				const ping = 64 // one that a library sends by itself between the two totals
				before := others()
				for range 100 {
					handOver(t, a, "k")
				}
				if n := others() - before; n < -ping || n > ping {
					t.Errorf("%s, pipelining %q: %d bytes without a sender", name, pipelining, n)
				}
				before = others()
				other := session(t, open(t, driver, cfg), 1)
				for range 100 {
					handOver(t, other, "other")
				}
				if n := others() - before; n < 10_000 {
					t.Errorf("%s, pipelining %q: %d bytes of another client that has sent more than 10,000", name, pipelining, n)
				}
			}
		}
	})
}
