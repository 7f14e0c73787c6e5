package drivertest

// Paths to servers on which connections can be broken.

import (
	"net/url"
	"testing"

	"github.com/lockbench/lockbench/drivers/fault"
)

// Proxies stand before the servers of a service, one each.
type Proxies []*fault.Proxy

// Through returns proxies to servers, of which it takes the URLs. They end with the test.
func Through(t testing.TB, urls ...string) (list Proxies) {
	t.Helper()
	for _, to := range urls {
		if u, err := url.Parse(to); err == nil && u.Host != "" {
			to = u.Host
		}
		p, err := fault.NewProxy(to)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		list = append(list, p)
	}
	return list
}

// Addrs returns the addresses of the proxies.
func (list Proxies) Addrs() (addrs []string) {
	for _, p := range list {
		addrs = append(addrs, p.Addr())
	}
	return addrs
}

// Run is the function Run with the faults of all proxies at once, and with their addresses, unless the Config has some.
func (list Proxies) Run(t *testing.T, s Setup) {
	t.Helper()
	if s.Config.Addrs == nil {
		s.Config.Addrs = list.Addrs()
	}
	s.Cut, s.Mute, s.Stall = list.every((*fault.Proxy).Outage), list.every((*fault.Proxy).Mute), list.every((*fault.Proxy).Stall)
	Run(t, s)
}

// every returns a fault of all proxies at once.
func (list Proxies) every(fault func(*fault.Proxy) (restore func())) func() (restore func()) {
	return func() func() {
		var restores []func()
		for _, p := range list {
			restores = append(restores, fault(p))
		}
		return func() {
			for _, restore := range restores {
				restore()
			}
		}
	}
}
