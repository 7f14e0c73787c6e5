package drivers

import "strings"

// Addressed is a Driver that can parse the addresses of its service without connecting. Every driver that needs a
// server is one: the example of this package shows such a driver as a whole.
type Addressed interface {
	// Service returns the kind of server: "redis", "zookeeper", "etcd", "mysql", "postgres". Drivers of one kind
	// measure the same servers. Package servers describes those that lockbench can start; others need -addr.
	Service() string

	// ReadAddr parses one of Config.Addrs. The error says what is wrong with it and how to write it, and quotes nothing
	// of it, because in a malformed address the password may be anywhere.
	ReadAddr(addr string) (Addr, error)
}

// Addr is what is known of an address without using it.
type Addr struct {
	Redacted string // the address without user and password
	User     string // of a database, if the address names one
	Network  string // "unix", "tcp" or "tls"
	Password Secret // the password that it logs in with, wherever the driver takes it from, to be kept out of errors
}

// SplitAddrs splits a comma-separated list of addresses. A comma in a password does not split: there, an @ follows
// before the next address begins.
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
