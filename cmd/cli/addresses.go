// The addresses of the user's servers: where they may stand, and which service each belongs to.

package cli

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// findAddrs returns the addresses of each service, and the flag or variable that has them. There are none if the servers
// are to be our own; otherwise every service has some.
func findAddrs(o *options, env environ, wanted []*servers.Service) (addrs map[*servers.Service][]string, why string, err error) {
	kind, addr := o.get("server"), o.get("addr")
	own := kind.text == matrix.Private || kind.text == matrix.Embedded
	switch {
	case own && addr.from == fromFlag && kind.from == fromFlag:
		return nil, "", usageErrorf("-addr and %s exclude each other: the one names your server, the other asks for one of our own",
			kind.written())
	case addr.text != "" && (!own || addr.from > kind.from):
		why = addr.flagOrVariable()
		addrs, err = assign(drivers.SplitAddrs(addr.text), why, wanted)
	case !own:
		addrs = map[*servers.Service][]string{}
		for _, s := range wanted {
			if list := env.addrs(s); list != nil {
				why, addrs[s] = s.Variable, list
			}
		}
	}
	if err != nil || len(addrs) == 0 {
		return nil, "", err
	}
	for _, s := range wanted {
		if len(addrs[s]) == 0 {
			remedy := "drop it"
			if why != addr.flagOrVariable() || addr.from == fromVariable {
				remedy = "give -server private"
			}
			return nil, "", usageErrorf("%s names no server of %s, and yours and ours do not compare: "+
				"add %s to -addr, or %s, and lockbench starts all of them",
				why, s.Name, s.Example(), remedy)
		}
	}
	return addrs, why, nil
}

// assign gives each address to the service of its scheme, and one without to the only service of the run. Nothing of an
// address is quoted but a known scheme, because a password may be anywhere.
func assign(list []string, why string, wanted []*servers.Service) (map[*servers.Service][]string, error) {
	addrs := map[*servers.Service][]string{}
	for _, addr := range list {
		scheme, _, isURL := strings.Cut(addr, "://")
		owner := ownerOf(scheme)
		switch {
		case isURL && owner != nil && !slices.Contains(wanted, owner):
			return nil, usageErrorf("%s: %s:// is an address of %s, and no -driver of this run measures that: they need %s",
				why, scheme, owner.Name, examples(wanted))
		case isURL && owner != nil:
			addrs[owner] = append(addrs[owner], addr)
		case len(wanted) == 1:
			addrs[wanted[0]] = append(addrs[wanted[0]], addr)
		default:
			return nil, usageErrorf("%s: the run has several services, and an address that does not say whose it is: "+
				"begin each with one of %s",
				why, examples(wanted))
		}
	}
	return addrs, nil
}

// addrs returns the addresses of a service in its variable; nil if there are none, or it has none.
func (e environ) addrs(s *servers.Service) []string {
	if url, _ := e.lookup(s.Variable); s.Variable != "" && url != "" {
		return drivers.SplitAddrs(url)
	}
	return nil
}

// ownerOf returns the service whose addresses begin with the scheme, or nil.
func ownerOf(scheme string) *servers.Service {
	for _, s := range servers.Services() {
		if slices.Contains(s.Schemes, scheme) {
			return s
		}
	}
	return nil
}

// examples lists the schemes of some services.
func examples(list []*servers.Service) string {
	var all []string
	for _, s := range list {
		for _, scheme := range s.Schemes {
			all = append(all, scheme+"://")
		}
	}
	return strings.Join(all, ", ")
}
