// The addresses of the servers.
package zookeeper

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// target is one server, and the node below which the locks are.
type target struct {
	host, port string
	user       string
	password   drivers.Secret
	chroot     string // "/a/b", or empty for the root
	tls        bool
}

const howAddresses = "write host:port or zookeeper://host:port/chroot"

// parseTarget parses one of
//
//	host[:port][/chroot]
//	zookeeper://[user:password@]host[:port][/chroot]   zk:// for short
//	zookeepers://…                                    the same over TLS; zks:// for short
//
// with special characters of user and password percent-encoded. Errors quote nothing, because in a malformed URL the
// password may be anywhere.
func parseTarget(s string) (target, error) {
	var t target
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		scheme, rest = "zookeeper", s
	}
	switch scheme {
	case "zookeeper", "zk":
	case "zookeepers", "zks":
		t.tls = true
	default:
		return target{}, errors.New("the address has a scheme other than zookeeper://, zk://, zookeepers:// and " +
			"zks://: " + howAddresses)
	}
	if strings.ContainsAny(rest, "?#, \t\r\n") {
		return target{}, errors.New("the address has one of ? # , or a blank in it: give each server an address of its " +
			"own, and inside a password write them as %3F, %23, %2C and %20")
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(path, "@") {
		return target{}, errors.New("the address has an @ in the wrong place: inside a password write / as %2F and @ as %40")
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		var err error
		if t.user, t.password, err = drivers.ParseLogin(authority[:i]); err != nil {
			return target{}, err
		}
		if t.user == "" {
			return target{}, errors.New("the address has a password and no user: write zookeeper://user:password@host:port")
		}
		authority = authority[i+1:]
	}
	var err error
	if t.chroot, err = parseChroot(path); err != nil {
		return target{}, err
	}
	host, port, err := drivers.ParseHost(authority, zk.DefaultPort)
	if err != nil {
		return target{}, fmt.Errorf("%w; %s", err, howAddresses)
	}
	t.host, t.port = host, strconv.Itoa(port)
	return t, nil
}

func parseChroot(path string) (string, error) {
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return "", nil
	}
	if path[0] != '/' {
		path = "/" + path
	}
	for _, part := range strings.Split(path[1:], "/") {
		control := strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f })
		if part == "" || part == "." || part == ".." || control {
			return "", errors.New("the chroot of the address is not the path of a node: write it as /locks/test")
		}
	}
	return path, nil
}

func (t target) addr() string { return net.JoinHostPort(t.host, t.port) }

// ReadAddr implements drivers.Addressed.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	t, err := parseTarget(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	a := drivers.Addr{Redacted: "zookeeper://" + t.addr() + t.chroot, Network: "tcp", Password: t.password}
	if t.password == "" {
		a.User = t.user
	}
	if t.tls {
		a.Redacted, a.Network = "zookeepers://"+t.addr()+t.chroot, "tls"
	}
	return a, nil
}

// endpointOf returns the endpoint that cfg names. chroot is the node below which the locks are.
func endpointOf(cfg drivers.Config) (to *endpoint, chroot string, err error) {
	switch n := len(cfg.Addrs); {
	case cfg.Topology != "" && cfg.Topology != drivers.TopologySingle && cfg.Topology != drivers.TopologyEnsemble:
		return nil, "", fmt.Errorf("there is no topology %s of ZooKeeper servers: there are %s and %s", cfg.Topology,
			drivers.TopologySingle, drivers.TopologyEnsemble)
	case n == 0:
		return nil, "", errors.New("there is no address: " + howAddresses)
	case n > 1 && cfg.Topology != drivers.TopologyEnsemble:
		return nil, "", fmt.Errorf("there are %d addresses of a single server: give one, or choose topology %s", n,
			drivers.TopologyEnsemble)
	}
	var all target
	to = &endpoint{timeout: cfg.TTL, granted: new(atomic.Int64), io: cfg.IO()}
	for i, addr := range cfg.Addrs {
		t, err := parseTarget(addr)
		if err != nil {
			return nil, "", err
		}
		to.servers = append(to.servers, t.addr())
		switch {
		case i == 0:
			all = t
		case t.user != "" && all.user == "":
			all.user, all.password = t.user, t.password
		case t.user != "" && (t.user != all.user || t.password != all.password), t.tls != all.tls:
			return nil, "", errors.New("the addresses differ in user, password or TLS: give the same for all members of " +
				"the ensemble")
		}
		if t.chroot != "" && all.chroot == "" && i > 0 { // as in connect strings: once, at the end
			all.chroot = t.chroot
		}
		if t.chroot != "" && t.chroot != all.chroot {
			return nil, "", errors.New("the addresses differ in their chroot: it is one for the whole ensemble")
		}
	}
	if cfg.Database != "" {
		if all.chroot, err = parseChroot(cfg.Database); err != nil {
			return nil, "", err
		}
	}
	all.user, all.password = cmp.Or(cfg.Username, all.user), cmp.Or(cfg.Password, all.password)
	if (all.user == "") != (all.password == "") {
		return nil, "", errors.New("there is a user without a password, or the other way round: give both or neither")
	}
	to.acl = zk.WorldACL(zk.PermAll)
	if all.user != "" {
		to.auth, to.acl = all.user+":"+string(all.password), zk.AuthACL(zk.PermAll)
	}
	if cfg.TLS == nil && all.tls {
		cfg.TLS = &tls.Config{}
	}
	to.dial = dialer(cfg.TLS)
	return to, all.chroot, nil
}

// dialer connects, with TLS unless conf is nil. It checks the certificate for the host of the address.
func dialer(conf *tls.Config) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		if conf == nil {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
		own := conf.Clone()
		if own.ServerName == "" {
			own.ServerName, _, _ = net.SplitHostPort(address)
		}
		conn, err := (&tls.Dialer{Config: own}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, cmp.Or(drivers.CertificateError(address, err), err)
		}
		return conn, nil
	}
}
