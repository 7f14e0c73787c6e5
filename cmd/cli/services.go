// The services of drivers.

package cli

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// serviceOf is the service of a driver, and nil for one that needs no server.
func serviceOf(driver string) *servers.Service {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return nil
	}
	a, ok := d.(drivers.Addressed)
	if !ok {
		return nil
	}
	return servers.Named(a.Service())
}

// servicesOf are the services of a list of drivers, each once, in the order in which they come.
func servicesOf(driverNames []string) (list []*servers.Service) {
	for _, name := range driverNames {
		if s := serviceOf(name); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// readAddr reads an address of the service, as any of its drivers would.
func readAddr(s *servers.Service, addr string) (drivers.Addr, error) {
	for _, name := range drivers.Names() {
		if d, _ := drivers.Lookup(name); serviceOf(name) == s {
			return d.(drivers.Addressed).ReadAddr(addr)
		}
	}
	panic("lockbench: no driver reads addresses of " + s.Name)
}

// orVariable adds the environment variable that does as well.
func orVariable(s *servers.Service) string {
	if s.Variable == "" {
		return ""
	}
	return " or " + s.Variable
}

func serviceNames(list []*servers.Service) string {
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}
