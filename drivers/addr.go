package drivers

import "strings"

// Addressed is a Driver that can read the addresses of its service without connecting. Every driver that needs a server
// is one.
type Addressed interface {
	// Service is the kind of server: "redis", "zookeeper", "etcd", "mysql", "postgres". Drivers of one kind measure the
	// same servers. Package servers has a description of each, if lockbench is to start it; without one -addr names it.
	Service() string

	// ReadAddr reads one of Config.Addrs. The error says what is wrong with it and how it is written, and quotes
	// nothing of it, because in a malformed address the password may be anywhere.
	ReadAddr(addr string) (Addr, error)
}

// Addr is what can be said of an address without using it.
type Addr struct {
	Redacted string // the address without user and password
	Network  string // "unix", "tcp" or "tls"
	Password Secret // what it logs in with, from wherever the driver takes it: nobody who shows an error shows it
}

// SplitAddrs splits a comma list of addresses, but not at a comma that is part of a password: there an @ follows before the
// next address begins.
func SplitAddrs(list string) []string {
	var addrs []string
	start := 0
	for i := range len(list) {
		if list[i] != ',' {
			continue
		}
		at, scheme := strings.Index(list[i:], "@"), strings.Index(list[i:], "://")
		if at >= 0 && (scheme < 0 || at < scheme) {
			continue
		}
		addrs = append(addrs, strings.TrimSpace(list[start:i]))
		start = i + 1
	}
	return append(addrs, strings.TrimSpace(list[start:]))
}
