// The addresses of the servers, and connections to them.
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
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

const howAddresses = "write host:port or zookeeper://host:port/chroot"

// address is that of one server, and the node below which the locks are.
type address struct {
	server   string // host:port
	user     string
	password drivers.Secret
	chroot   string // "/a/b", or empty for the root
	scheme   string // of schemes
}

// schemes are those of URLs, and their long forms; zookeepers is for TLS.
var schemes = map[string]string{
	"zookeeper": "zookeeper", "zk": "zookeeper", "zookeepers": "zookeepers", "zks": "zookeepers",
}

// parseAddress parses one of
//
//	host[:port][/chroot]
//	zookeeper://[user:password@]host[:port][/chroot]   zk:// for short
//	zookeepers://…                                    the same over TLS; zks:// for short
//
// with special characters of user and password percent-encoded. Errors quote nothing, because in a malformed URL the
// password may be anywhere.
func parseAddress(s string) (a address, err error) {
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		scheme, rest = "zookeeper", s
	}
	authority, path, _ := strings.Cut(rest, "/")
	if a.scheme = schemes[scheme]; a.scheme == "" {
		return a, errors.New("the address has a scheme other than zookeeper://, zk://, zookeepers:// and zks://: " +
			howAddresses)
	}
	if strings.ContainsAny(rest, "?#, \t\r\n") || strings.Contains(path, "@") {
		return a, errors.New("the address has one of ? # , or a blank in it, or an @ after a /: give each server an address " +
			"of its own, and inside a password write these as %3F, %23, %2C, %20, %40 and %2F")
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if a.user, a.password, err = drivers.ParseLogin(authority[:i]); err == nil && a.user == "" {
			err = errors.New("the address has a password and no user: write zookeeper://user:password@host:port")
		}
		authority = authority[i+1:]
	}
	if err == nil {
		a.chroot, err = parseChroot(path)
	}
	if err != nil {
		return a, err
	}
	host, port, err := drivers.ParseHost(authority, zk.DefaultPort)
	if err != nil {
		return a, fmt.Errorf("%w; %s", err, howAddresses)
	}
	a.server = net.JoinHostPort(host, strconv.Itoa(port))
	return a, nil
}

// parseChroot parses a chroot without its leading slash.
func parseChroot(path string) (string, error) {
	if path = strings.TrimSuffix(path, "/"); path == "" {
		return "", nil
	}
	for _, part := range strings.Split(path, "/") {
		control := strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f })
		if part == "" || part == "." || part == ".." || control {
			return "", errors.New("the chroot of the address is not the path of a node: write it as /locks/test")
		}
	}
	return "/" + path, nil
}

// ReadAddr implements drivers.Addressed.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	a, err := parseAddress(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	read := drivers.Addr{Redacted: a.scheme + "://" + a.server + a.chroot, Network: "tcp", Password: a.password}
	if a.scheme == "zookeepers" {
		read.Network = "tls"
	}
	if a.password == "" {
		read.User = a.user
	}
	return read, nil
}

// endpoint is where sessions connect to, and how.
type endpoint struct {
	servers []string // host:port
	chroot  string
	auth    string // user:password; empty: none
	acl     []zk.ACL
	tls     *tls.Config
	io      time.Duration // bounds a request and a connection attempt
}

// endpointOf returns the endpoint that cfg names.
func endpointOf(cfg drivers.Config) (*endpoint, error) {
	if err := cfg.OneServer(); err != nil && cfg.Topology != drivers.TopologyEnsemble {
		return nil, fmt.Errorf("%w, or choose topology %s", err, drivers.TopologyEnsemble)
	}
	var all address // what they have in common; as in connect strings, one may tell it for all
	to := &endpoint{acl: zk.WorldACL(zk.PermAll), tls: cfg.TLS, io: cfg.IO()}
	for _, addr := range cfg.Addrs {
		a, err := parseAddress(addr)
		if err != nil {
			return nil, err
		}
		to.servers = append(to.servers, a.server)
		if all.user == "" {
			all.user, all.password = a.user, a.password
		}
		if all.chroot = cmp.Or(all.chroot, a.chroot); a.scheme == "zookeepers" && to.tls == nil {
			to.tls = &tls.Config{}
		}
		if a.user != "" && (a.user != all.user || a.password != all.password) || a.chroot != "" && a.chroot != all.chroot {
			return nil, errors.New("the addresses differ in user, password or chroot: give one for the whole ensemble")
		}
	}
	var err error
	if to.chroot = all.chroot; cfg.Database != "" {
		if to.chroot, err = parseChroot(strings.TrimPrefix(cfg.Database, "/")); err != nil {
			return nil, err
		}
	}
	all.user, all.password = cmp.Or(cfg.Username, all.user), cmp.Or(cfg.Password, all.password)
	if (all.user == "") != (all.password == "") {
		return nil, errors.New("there is a user without a password, or the other way round: give both or neither")
	}
	if all.user != "" {
		to.auth, to.acl = all.user+":"+string(all.password), zk.AuthACL(zk.PermAll)
	}
	return to, nil
}

// dial connects to a server. With TLS it checks the certificate for the host of the address.
func (to *endpoint) dial(ctx context.Context, server string) (net.Conn, error) {
	if to.tls == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", server)
	}
	conf := to.tls.Clone()
	if conf.ServerName == "" {
		conf.ServerName, _, _ = net.SplitHostPort(server)
	}
	conn, err := (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", server)
	if err != nil {
		return nil, cmp.Or(drivers.CertificateError(server, err), err)
	}
	return conn, nil
}
