package etcd

import (
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// proxyTo puts a proxy before a member.
func proxyTo(t *testing.T, e *servers.Etcd) *fault.Proxy {
	t.Helper()
	u, err := url.Parse(e.URL())
	if err != nil {
		t.Fatal(err)
	}
	p, err := fault.NewProxy(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestConformance(t *testing.T) {
	e := servertest.Etcd(t, 1, servers.EtcdOptions{Durability: servers.Relaxed})
	p := proxyTo(t, e.Nodes[0])
	drivertest.Run(t, drivertest.Setup{
		Driver: driver{},
		Config: drivers.Config{
			// On a machine that stalls for longer than the TTL a holder loses its lease.
			Lock: "lease", Addrs: []string{p.Addr()}, TTL: 10 * time.Second, IOTimeout: 2 * time.Second,
		},
		SessionTimeout: 11 * time.Second, // the lease, and the second in which etcd looks for expired ones
		Cut:            p.Outage,
		Mute:           p.Mute,
		Stall:          p.Stall,
	})
}
