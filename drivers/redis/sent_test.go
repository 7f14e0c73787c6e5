package redis_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// TestSent: what a service says that it has sent and received is what its server has, apart from what others do; and the server
// has executed no more commands than it says.
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
				others := func() drivers.Usage {
					_, usage, err := s.(drivers.Inspector).Inspect(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					own := s.(drivers.Sender).Sent()
					return drivers.Usage{Commands: usage.Commands - own.Commands, BytesIn: usage.BytesIn - own.BytesIn, BytesOut: usage.BytesOut - own.BytesOut}
				}
				const ping = 64 // one that a library sends by itself between the two totals
				before, sent := others(), s.(drivers.Sender).Sent()
				for range 100 {
					handOver(t, a, "k")
				}
				now := s.(drivers.Sender).Sent()
				if requests, writes := now.Requests-sent.Requests, now.Writes-sent.Writes; requests < 200 || writes < requests-20 || writes > requests {
					t.Errorf("%s, pipelining %q: %d requests of one client, of which each waits for the one before, in %d writes", name, pipelining, requests, writes)
				}
				n := others()
				if in := n.BytesIn - before.BytesIn; in < -ping || in > ping {
					t.Errorf("%s, pipelining %q: %d bytes without a sender", name, pipelining, in)
				}
				if out := n.BytesOut - before.BytesOut; out < -ping || out > ping {
					t.Errorf("%s, pipelining %q: %d bytes without a receiver", name, pipelining, out)
				}
				if more := n.Commands - before.Commands; more > 2 || more < -300 {
					t.Errorf("%s, pipelining %q: %d commands more than were sent for 100 locks", name, pipelining, more)
				}
				before = others()
				other := session(t, open(t, driver, cfg), 1)
				for range 100 {
					handOver(t, other, "other")
				}
				if n := others(); n.BytesIn-before.BytesIn < 10_000 || n.BytesOut-before.BytesOut < 400 || n.Commands-before.Commands < 300 {
					t.Errorf("%s, pipelining %q: %+v, then %+v with another client that has sent more than 10,000 bytes", name, pipelining, before, n)
				}
			}
		}
	})
}
