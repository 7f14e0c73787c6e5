// The addresses of etcd.
package etcd

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

const (
	defaultPort = 2379
	howAddr     = "write host:port, etcd://host:port or, for TLS, etcds://host:port"
)

// target is one member, and how to log in.
type target struct {
	host, port string
	username   string
	password   drivers.Secret
	tls        *tls.Config // nil: no TLS
}

// parseTarget parses one of
//
//	host[:port]
//	etcd://[user:password@]host[:port]    also http://
//	etcds://…                             the same over TLS; also https://
//
// with special characters of user and password percent-encoded. Errors quote nothing, because in a malformed address
// the password may be anywhere.
func parseTarget(addr string) (t target, err error) {
	scheme, rest, isURL := strings.Cut(addr, "://")
	switch {
	case addr == "":
		return t, errors.New("the address is empty: " + howAddr)
	case !isURL && strings.ContainsAny(addr, "@/"):
		return t, errors.New("the address has a user, a password or a path and no scheme: " +
			"write etcd://user:password@host:port")
	case !isURL:
		rest = addr
	case scheme == "etcds" || scheme == "https":
		t.tls = &tls.Config{}
	case scheme != "etcd" && scheme != "http":
		return t, errors.New("the address has a scheme other than etcd://, etcds://, http:// and https://")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if t.username, t.password, err = drivers.ParseLogin(rest[:at]); err != nil {
			return target{}, err
		}
		rest = rest[at+1:]
	}
	rest = strings.TrimSuffix(rest, "/")
	if strings.ContainsAny(rest, "/?#") {
		return target{}, errors.New("the address has a /, ? or #: an etcd has no databases and takes no parameters; " +
			"inside a password write / as %2F, ? as %3F and # as %23")
	}
	host, port, err := drivers.ParseHost(rest, defaultPort)
	t.host, t.port = host, strconv.Itoa(port)
	return t, err
}

// targetsOf returns the members that cfg names. They have the same login.
func targetsOf(cfg drivers.Config) ([]target, error) {
	switch n := len(cfg.Addrs); {
	case cfg.Topology != "" && cfg.Topology != drivers.TopologySingle && cfg.Topology != drivers.TopologyEnsemble:
		return nil, fmt.Errorf("topology %s: an etcd is %s or an %s",
			cfg.Topology, drivers.TopologySingle, drivers.TopologyEnsemble)
	case n == 0, n != 1 && cfg.Topology != drivers.TopologyEnsemble:
		return nil, fmt.Errorf("there are %d addresses: give exactly one, or ask for the topology %s; %s",
			n, drivers.TopologyEnsemble, howAddr)
	}
	var list []target
	for _, addr := range cfg.Addrs {
		t, err := parseTarget(addr)
		if err != nil {
			return nil, err
		}
		t.username, t.password = cmp.Or(cfg.Username, t.username), cmp.Or(cfg.Password, t.password)
		if cfg.TLS != nil {
			t.tls = cfg.TLS
		}
		list = append(list, t)
		first := list[0]
		switch {
		case (t.username == "") != (t.password == ""):
			return nil, errors.New("etcd logs in with a user and a password: give both or neither")
		case t.username != first.username || t.password != first.password || (t.tls == nil) != (first.tls == nil):
			return nil, errors.New("the addresses differ in user, password or TLS: the members of an ensemble are logged " +
				"in to alike, so give the same for all")
		}
	}
	return list, nil
}

func (t target) address() string { return net.JoinHostPort(t.host, t.port) }

// scheme returns the name of a scheme, with an s if there is TLS.
func (t target) scheme(name string) string {
	if t.tls != nil {
		name += "s"
	}
	return name
}

// redacted returns the target as a URL without user and password.
func (t target) redacted() string { return t.scheme("etcd") + "://" + t.address() }

// endpoint returns the target in the client library's notation.
func (t target) endpoint() string {
	u := url.URL{Scheme: t.scheme("http"), Host: t.address()} // it encodes the zone of an IPv6 address
	return u.String()
}

// Service implements drivers.Addressed.
func (driver) Service() string { return "etcd" }

// ReadAddr implements drivers.Addressed.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	t, err := parseTarget(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	a := drivers.Addr{Redacted: t.redacted(), Network: "tcp", Password: t.password}
	if t.password == "" {
		a.User = t.username
	}
	if t.tls != nil {
		a.Network = "tls"
	}
	return a, nil
}
