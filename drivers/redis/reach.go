// Where servers may be that other servers name: a cluster's nodes, and the sentinels' primary.
package redis

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// given reports whether the user has named the target.
func (o Options) given(t Target) bool {
	return len(o.Given) == 0 || t.Path != "" ||
		slices.ContainsFunc(o.Given, func(g Target) bool { return g.Host == t.Host && g.Port == t.Port })
}

// stayWithin is a net.Dialer's ControlContext: it is called with the resolved address, before anything is sent there. A
// server may direct lockbench, and with it the password, only to addresses of a kind that the user has named. To allow
// others, the user names one of them.
func (o Options) stayWithin(ctx context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	var kinds []string
	for _, t := range o.Given {
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", t.Host)
		if err != nil {
			continue // it does not resolve now
		}
		for _, a := range addrs {
			kinds = append(kinds, network(a))
		}
	}
	if kind := network(to.Addr()); !slices.Contains(kinds, kind) {
		slices.Sort(kinds)
		return fmt.Errorf("the server leads to %s, which is a %s address, and -addr names %s ones only: "+
			"if that is right, add an address of that network to -addr", to, kind, strings.Join(slices.Compact(kinds), " and "))
	}
	return nil
}

// carrierGrade are the addresses of RFC 6598, which clouds use as private ones.
var carrierGrade = netip.MustParsePrefix("100.64.0.0/10")

// network returns the kind of network that an address belongs to.
func network(a netip.Addr) string {
	switch a = a.Unmap(); {
	case a.IsLoopback():
		return "loopback"
	case a.IsLinkLocalUnicast(): // where clouds serve a machine's secrets
		return "link-local"
	case a.IsPrivate(), carrierGrade.Contains(a):
		return "private"
	case a.IsGlobalUnicast():
		return "public"
	}
	return "special" // multicast, unspecified
}
