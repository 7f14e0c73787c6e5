package deploy

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// Service returns the service of a driver, and nil for one that needs no server.
func Service(driver string) *servers.Service {
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

// Services returns the services of a list of drivers, each once, in the order in which they come.
func Services(driverNames []string) (list []*servers.Service) {
	for _, name := range driverNames {
		if s := Service(name); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// ReadAddr reads an address of the service, as any of its drivers would.
func ReadAddr(s *servers.Service, addr string) (drivers.Addr, error) {
	for _, name := range drivers.Names() {
		if d, _ := drivers.Lookup(name); Service(name) == s {
			return d.(drivers.Addressed).ReadAddr(addr)
		}
	}
	panic("lockbench: no driver reads addresses of " + s.Name)
}

// Redact returns a list of addresses without users and passwords.
func Redact(s *servers.Service, addrs []string) string {
	var list []string
	for _, addr := range addrs {
		read, err := ReadAddr(s, addr)
		if err != nil {
			return "an address of " + s.Name // quoting it might show a password
		}
		list = append(list, read.Redacted)
	}
	return strings.Join(list, ",")
}
