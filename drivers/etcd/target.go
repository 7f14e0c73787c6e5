// The addresses of etcd.
package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

const defaultPort = 2379

// target is one member, and how to log in.
type target struct {
	host, port string
	username   string
	password   drivers.Secret
	tls        *tls.Config // nil: no TLS
}

const howAddr = "write host:port, etcd://host:port or, for TLS, etcds://host:port"

// parseTarget parses one of
//
//	host[:port]
//	etcd://[user:password@]host[:port]    also http://
//	etcds://…                             the same over TLS; also https://
//
// with special characters of user and password percent-encoded. Errors quote nothing, because in a malformed address
// the password may be anywhere.
func parseTarget(addr string) (target, error) {
	var t target
	scheme, rest, isURL := strings.Cut(addr, "://")
	switch {
	case addr == "":
		return t, errors.New("the address is empty: " + howAddr)
	case !isURL:
		rest = addr
		if strings.ContainsAny(rest, "@/") {
			return t, errors.New("the address has a user, a password or a path and no scheme: " +
				"write etcd://user:password@host:port")
		}
	case scheme == "etcds" || scheme == "https":
		t.tls = &tls.Config{}
	case scheme != "etcd" && scheme != "http":
		return t, errors.New("the address has a scheme other than etcd://, etcds://, http:// and https://")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		var err error
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
	case n == 0:
		return nil, errors.New("there is no address: " + howAddr)
	case n != 1 && cfg.Topology != drivers.TopologyEnsemble:
		return nil, fmt.Errorf("there are %d addresses: give exactly one, or ask for the topology %s",
			n, drivers.TopologyEnsemble)
	}
	list := make([]target, len(cfg.Addrs))
	for i, addr := range cfg.Addrs {
		t, err := parseTarget(addr)
		if err != nil {
			return nil, err
		}
		t.username = cmp.Or(cfg.Username, t.username)
		t.password = cmp.Or(cfg.Password, t.password)
		if cfg.TLS != nil {
			t.tls = cfg.TLS.Clone()
		}
		if (t.username == "") != (t.password == "") {
			return nil, errors.New("etcd logs in with a user and a password: give both or neither")
		}
		if i > 0 && !t.alike(list[0]) {
			return nil, errors.New("the addresses differ in user, password or TLS: the members of an ensemble are logged " +
				"in to alike, so give the same for all")
		}
		list[i] = t
	}
	return list, nil
}

// alike reports whether two members have the same login.
func (t target) alike(o target) bool {
	return t.username == o.username && t.password == o.password && (t.tls == nil) == (o.tls == nil)
}

func (t target) address() string { return net.JoinHostPort(t.host, t.port) }

// endpoint returns the target in the client library's notation.
func (t target) endpoint() string {
	u := url.URL{Scheme: "http", Host: t.address()}
	if t.tls != nil {
		u.Scheme = "https"
	}
	return u.String()
}

// refuseTLS returns an error that says which flag helps if the certificates of the member and of this client do not fit.
func (t target) refuseTLS(ctx context.Context) error {
	if t.tls == nil {
		return nil
	}
	own := t.tls.Clone()
	own.ServerName = cmp.Or(own.ServerName, t.host)
	conn, err := (&tls.Dialer{Config: own}).DialContext(ctx, "tcp", t.address())
	if err == nil {
		return conn.Close()
	}
	return drivers.CertificateError(t.address(), err)
}

// redacted returns the target as a URL without user and password.
func (t target) redacted() string {
	if t.tls != nil {
		return "etcds://" + t.address()
	}
	return "etcd://" + t.address()
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
