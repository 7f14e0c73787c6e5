// The address of a server.
package redis

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

// Target is one Redis server and how to log in to it.
type Target struct {
	Path     string // of the unix socket; empty for TCP
	Host     string // name or address, IPv6 without brackets; empty for a unix socket
	Port     int
	Username string
	Password drivers.Secret
	Database int
	TLS      *tls.Config // nil: no TLS

	master, user string // a sentinel's name for the primary; the user there, if the sentinel has a login of its own
	apart        bool   // a sentinel with a login of its own, which is not that of the servers that it names
}

// DefaultPort is the port of an address without one.
const DefaultPort = 6379

// ParseTarget parses one of
//
//	host[:port]
//	redis://[[user]:password@]host[:port][/database]
//	rediss://…                                           the same over TLS
//	redis://…?master=name[&user=name]                    a sentinel: its name for the primary, and the user there
//	unix://[[user]:password@]/path/to.sock[?db=database]
//
// with special characters of user, password and path percent-encoded. Errors name the part that is wrong and quote
// nothing, because in a malformed URL the password may be anywhere.
func ParseTarget(s string) (Target, error) {
	if s == "" {
		return Target{}, errors.New("the address is empty: write host:port, redis://host:port, rediss://host:port or unix:///path/to.sock")
	}
	scheme, rest, isURL := strings.Cut(s, "://")
	if !isURL {
		return parseHostPort(s)
	}
	if strings.Contains(rest, "#") {
		return Target{}, errors.New("the address contains a #: inside a password or path write %23")
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if hasQuery && strings.Contains(query, "@") || strings.Contains(path, "@") && !strings.Contains(authority, "@") {
		return Target{}, errors.New("the address has an @ in the wrong place: inside a password write / as %2F, ? as %3F and @ as %40; inside a path write @ as %40")
	}
	var t Target
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		var err error
		if t.Username, t.Password, err = drivers.ParseLogin(authority[:i]); err != nil {
			return Target{}, err
		}
		authority = authority[i+1:]
	}
	var err error
	switch scheme {
	case "redis", "rediss":
		if hasQuery && !t.parseSentinel(query) {
			return Target{}, errors.New("the address has parameters after a ? other than a sentinel's master=name and user=name: " +
				"write the database as /0, and a ? inside a password as %3F")
		}
		err = t.parseTCP(authority, path, scheme == "rediss")
	case "unix":
		err = t.parseUnix(authority, path, query)
	default:
		err = errors.New("the address has a scheme other than redis://, rediss:// and unix://")
	}
	if err != nil {
		return Target{}, err
	}
	return t, nil
}

func parseHostPort(s string) (Target, error) {
	var t Target
	switch {
	case strings.Contains(s, "@"):
		return t, errors.New("the address has a user or password and no scheme: write redis://user:password@host:port")
	case strings.Contains(s, "/"):
		return t, errors.New("the address looks like a path: write unix:///path/to.sock for a socket, or redis://host:port/database")
	}
	var err error
	t.Host, t.Port, err = drivers.ParseHost(s, DefaultPort)
	return t, err
}

func (t *Target) parseTCP(addr, path string, secure bool) error {
	var err error
	if t.Host, t.Port, err = drivers.ParseHost(addr, DefaultPort); err != nil {
		return err
	}
	if path = strings.TrimPrefix(path, "/"); path != "" {
		if t.Database, err = parseDatabase(path); err != nil {
			return err
		}
	}
	if secure {
		t.TLS = &tls.Config{ServerName: t.Host}
	}
	return nil
}

// parseSentinel reads what the address of a sentinel says of the primary.
func (t *Target) parseSentinel(query string) bool {
	params, err := url.ParseQuery(query)
	t.master, t.user = params.Get("master"), params.Get("user")
	params.Del("master")
	params.Del("user")
	return err == nil && len(params) == 0 && t.master+t.user != ""
}

func (t *Target) parseUnix(host, path, query string) error {
	if host != "" || path == "" || path == "/" {
		return errors.New("the address of a unix socket needs an absolute path: write unix:///path/to.sock")
	}
	path, err := url.PathUnescape(path)
	if err != nil || strings.ContainsRune(path, 0) {
		return errors.New("the path of the address has a % that is not followed by two hexadecimal digits: write % as %25")
	}
	t.Path = path
	if query == "" {
		return nil
	}
	db, ok := strings.CutPrefix(query, "db=")
	if !ok {
		return errors.New("the address of a unix socket takes one parameter, the database: write ?db=0")
	}
	t.Database, err = parseDatabase(db)
	return err
}

func parseDatabase(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, errors.New("the database of the address is not a number from 0")
	}
	return int(n), nil
}

// targetsOf returns the targets that cfg names: one server, or the sentinels or nodes by which to find the others.
// These have the same login as the servers that they name, except for sentinels whose addresses have a password where cfg has one
// too.
func targetsOf(cfg drivers.Config) ([]Target, error) {
	many := cfg.Topology == drivers.TopologySentinel || cfg.Topology == drivers.TopologyCluster
	switch n := len(cfg.Addrs); {
	case n == 0 && cfg.Topology == drivers.TopologySentinel:
		return nil, errors.New("there is no address: give those of the sentinels")
	case n == 0 && cfg.Topology == drivers.TopologyCluster:
		return nil, errors.New("there is no address: give that of one node of the cluster, or of several")
	case n != 1 && !many:
		return nil, fmt.Errorf("the lock lives on one server, and there are %d addresses: give exactly one", n)
	}
	var list []Target
	for _, addr := range cfg.Addrs {
		t, err := targetOf(cfg, addr)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
		if !many {
			break
		}
		first := &list[0]
		first.master, first.user = cmp.Or(first.master, t.master), cmp.Or(first.user, t.user)
		switch {
		case t.master != "" && t.master != first.master, t.user != "" && t.user != first.user:
			return nil, errors.New("the addresses differ in the name of the primary, or in the user there")
		case t.Path != "":
			return nil, fmt.Errorf("topology %s needs servers that reach each other, which unix sockets do not: give host:port", cfg.Topology)
		case t.Database != 0 && cfg.Topology == drivers.TopologyCluster:
			return nil, errors.New("a cluster has no databases but 0: drop the number of the database")
		case t.Username != first.Username, t.Password != first.Password, t.Database != first.Database, (t.TLS == nil) != (first.TLS == nil):
			return nil, errors.New("the addresses differ in user, password, database or TLS: the servers that they lead to are logged in to alike, so give the same for all")
		}
	}
	return list, nil
}

// targetOf returns the target that one of cfg's addresses names.
func targetOf(cfg drivers.Config, addr string) (Target, error) {
	t, err := ParseTarget(addr)
	if err != nil {
		return Target{}, err
	}
	if t.apart = cfg.Topology == drivers.TopologySentinel && cfg.Password != "" && t.Password != ""; !t.apart {
		t.Username = cmp.Or(cfg.Username, t.Username)
		t.Password = cmp.Or(cfg.Password, t.Password)
	}
	if t.master+t.user != "" && cfg.Topology != drivers.TopologySentinel {
		return Target{}, fmt.Errorf("the address has a sentinel's master=name or user=name: choose topology %s", drivers.TopologySentinel)
	}
	if cfg.Database != "" {
		if t.Database, err = parseDatabase(cfg.Database); err != nil {
			return Target{}, err
		}
	}
	if cfg.TLS != nil {
		if t.Path != "" {
			return Target{}, errors.New("TLS was asked for on a unix socket, which has none: drop it or give host:port")
		}
		t.TLS = cfg.TLS.Clone()
		t.TLS.ServerName = cmp.Or(t.TLS.ServerName, t.Host)
	}
	return t, nil
}

// Network returns "unix", "tcp" or "tls".
func (t Target) Network() string {
	switch {
	case t.Path != "":
		return "unix"
	case t.TLS != nil:
		return "tls"
	}
	return "tcp"
}

// Addr returns the address to dial: the socket's path or host:port.
func (t Target) Addr() string {
	if t.Path != "" {
		return t.Path
	}
	return net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
}

// Redacted returns the target as a URL that ParseTarget accepts, without user and password.
func (t Target) Redacted() string {
	if t.Path != "" {
		s := "unix://" + strings.ReplaceAll((&url.URL{Path: t.Path}).EscapedPath(), "@", "%40")
		if t.Database != 0 {
			s += "?db=" + strconv.Itoa(t.Database)
		}
		return s
	}
	s := "redis://" + t.Addr()
	if t.TLS != nil {
		s = "rediss://" + t.Addr()
	}
	if t.Database != 0 {
		s += "/" + strconv.Itoa(t.Database)
	}
	if t.master != "" {
		s += "?master=" + url.QueryEscape(t.master)
	}
	return s
}

// String returns Redacted, so that no password is printed by mistake.
func (t Target) String() string { return t.Redacted() }

// Addresses implements drivers.Addressed. Every driver of a Redis client library embeds it.
type Addresses struct{}

// Service returns "redis".
func (Addresses) Service() string { return "redis" }

// ReadAddr parses what ParseTarget parses.
func (Addresses) ReadAddr(addr string) (drivers.Addr, error) {
	t, err := ParseTarget(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	a := drivers.Addr{Redacted: t.Redacted(), Network: t.Network(), Password: t.Password}
	if t.Password == "" {
		a.User = t.Username
	}
	return a, nil
}
