// Addresses: URLs and the Go driver's DSN.
package mysql

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
)

const (
	defaultPort = 3306
	knownParams = "socket=/path, tls=true, ssl-mode=REQUIRED and sslaccept=strict are known"
	howWritten  = "write host:port, mysql://user:password@host:port/database, " +
		"mysql://user:password@localhost/database?socket=/path, unix:///path, or user:password@tcp(host:port)/database"
)

var errUnknownParam = errors.New("the address has an unknown parameter after the question mark: " + knownParams)

// target is one server and how to log in to it.
type target struct {
	network, addr      string // "tcp" and host:port, or "unix" and a path
	username, database string
	password           drivers.Secret
	tls                *tls.Config // nil: no TLS
}

// Service implements drivers.Addressed.
func (driver) Service() string { return "mysql" }

// ReadAddr implements drivers.Addressed.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	t, err := parseTarget(addr)
	if err != nil {
		return drivers.Addr{}, err
	}
	network := t.network
	if t.tls != nil {
		network = "tls"
	}
	return drivers.Addr{
		Redacted: t.redacted(), User: t.username, Network: network, Password: t.password,
		Unverified: t.tls != nil && t.tls.InsecureSkipVerify,
	}, nil
}

// parseTarget parses an address written as howWritten says, with special characters of user, password and path
// percent-encoded in URLs. mariadb:// means the same as mysql://, and tls=true, tls=skip-verify or tls=false may follow
// a question mark, as may what providers write in its place; see setParams.
func parseTarget(s string) (target, error) {
	if s == "" {
		return target{}, errors.New("the address is empty: " + howWritten)
	}
	scheme, rest, isURL := strings.Cut(s, "://")
	switch {
	case !isURL && strings.Contains(s, "/"):
		return parseDSN(s)
	case !isURL:
		if strings.Contains(s, "@") {
			return target{}, errors.New("the address has a user and no database: " + howWritten)
		}
		addr, err := hostPort(s)
		return target{network: "tcp", addr: addr}, err
	case scheme == "unix":
		if !strings.HasPrefix(rest, "/") || strings.ContainsAny(rest, "@?#") {
			return target{}, errors.New("the address of a unix socket is unix:///path, with nothing else")
		}
		return target{network: "unix", addr: rest}, nil
	case scheme != "mysql" && scheme != "mariadb":
		return target{}, errors.New("the address has an unknown scheme: " + howWritten)
	}
	return parseURL(s)
}

func parseURL(s string) (target, error) {
	u, err := url.Parse(s)
	if err != nil { // it quotes the address
		return target{}, errors.New("the address is not a URL: " + howWritten +
			"; special characters of user and password are written as %40 and the like")
	}
	t := target{network: "tcp", username: u.User.Username(), database: strings.TrimPrefix(u.Path, "/")}
	if password, ok := u.User.Password(); ok {
		t.password = drivers.Secret(password)
	}
	if u.Fragment != "" || strings.Contains(t.database, "/") {
		return target{}, errors.New("the address goes on after the database: " + howWritten)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return target{}, errors.New("the address has malformed parameters after the question mark: " + knownParams)
	}
	if err := t.setParams(query, u.Hostname()); err != nil {
		return target{}, err
	}
	if t.network == "unix" {
		return t, t.check()
	}
	t.addr, err = hostPort(u.Host)
	return t, err
}

// setParams reads the parameters of an address. The spellings of TLS are those of providers: ssl-mode of DigitalOcean and Aiven,
// sslaccept of Prisma, ssl of PlanetScale. None is dropped that is not understood: with sslmode=required that would be the
// encryption.
func (t *target) setParams(query url.Values, host string) error {
	for name, values := range query {
		if len(values) > 1 {
			return errors.New("the address has a parameter twice after the question mark")
		}
		how := ""
		switch name {
		case "socket":
			t.network, t.addr = "unix", values[0]
			continue
		case "tls":
			how = values[0]
		case "ssl-mode", "ssl_mode", "sslmode", "sslMode":
			how = map[string]string{
				"DISABLED": "false", "REQUIRE": "skip-verify", "REQUIRED": "skip-verify", "VERIFY_CA": "true", "VERIFY_IDENTITY": "true",
			}[strings.ToUpper(values[0])]
		case "sslaccept":
			how = map[string]string{"strict": "true", "accept_invalid_certs": "skip-verify"}[values[0]]
		case "ssl":
			how = map[string]string{
				"true": "true", "false": "false", `{"rejectUnauthorized":true}`: "true", `{"rejectUnauthorized":false}`: "skip-verify",
			}[values[0]]
		default:
			return errUnknownParam
		}
		switch how {
		case "true":
			t.tls = &tls.Config{ServerName: host}
		case "skip-verify":
			t.tls = &tls.Config{ServerName: host, InsecureSkipVerify: true}
		case "false":
			t.tls = nil
		default:
			return fmt.Errorf("the parameter %s of the address has an unknown value, or one that leaves it to the server whether the connection "+
				"is encrypted: write tls=true, tls=skip-verify or tls=false", name)
		}
	}
	return nil
}

// parseDSN parses the Go driver's own notation, but for its parameters, which are those of setParams.
func parseDSN(s string) (target, error) {
	slash := strings.LastIndexByte(s, '/')
	name, parameters, _ := strings.Cut(s[slash:], "?")
	query, err := url.ParseQuery(parameters)
	if err != nil {
		return target{}, errUnknownParam
	}
	cfg, err := mysql.ParseDSN(s[:slash] + name)
	if err != nil { // it may quote the address
		return target{}, errors.New("the address is malformed: " + howWritten)
	}
	t := target{network: cfg.Net, addr: cfg.Addr, database: cfg.DBName}
	t.username, t.password = cfg.User, drivers.Secret(cfg.Passwd)
	if t.network != "tcp" && t.network != "unix" {
		return target{}, errors.New("the address has an unknown network: tcp(host:port) and unix(/path) are known")
	}
	if t.network == "tcp" { // the library takes any text for a host
		if t.addr, err = hostPort(cfg.Addr); err != nil {
			return target{}, err
		}
	}
	host, _, _ := net.SplitHostPort(cfg.Addr)
	if err := t.setParams(query, host); err != nil {
		return target{}, err
	}
	return t, t.check()
}

func (t *target) check() error {
	if t.network == "unix" && !strings.HasPrefix(t.addr, "/") {
		return errors.New("the socket of the address is not an absolute path")
	}
	if t.network == "unix" && t.tls != nil {
		return errors.New("TLS was asked for on a unix socket: drop it or give host:port")
	}
	return nil
}

// hostPort adds the default port to an address without one.
func hostPort(s string) (string, error) {
	host, port, err := drivers.ParseHost(s, defaultPort)
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, howWritten)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

func targetOf(cfg drivers.Config) (target, error) {
	t, err := parseTarget(cfg.Addrs[0])
	if err != nil {
		return target{}, err
	}
	t.username = cmp.Or(cfg.Username, t.username)
	t.password = cmp.Or(cfg.Password, t.password)
	t.database = cmp.Or(cfg.Database, t.database)
	if cfg.TLS != nil {
		t.tls = cfg.TLS.Clone()
		if t.tls.ServerName == "" {
			t.tls.ServerName, _, _ = net.SplitHostPort(t.addr)
		}
	}
	return t, t.check()
}

// config returns the target in the client library's form. Reconnecting and retrying are not part of it, because
// database/sql does those; time limits are set on the wire.
func (t target) config() *mysql.Config {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.DBName = t.network, t.addr, t.database
	cfg.User, cfg.Passwd, cfg.TLS = t.username, string(t.password), t.tls
	cfg.InterpolateParams = true // otherwise each statement takes two round trips, and a third one to forget it
	cfg.MaxAllowedPacket = 1 << 20
	cfg.Logger = &mysql.NopLogger{}
	return cfg
}

// redacted returns the target as an address that parseTarget accepts, without user and password.
func (t target) redacted() string {
	u := url.URL{Scheme: "mysql", Host: t.addr, Path: "/" + t.database}
	query := url.Values{}
	if t.network == "unix" {
		u.Host = "localhost"
		query.Set("socket", t.addr)
	}
	if t.tls != nil {
		query.Set("tls", "true")
		if t.tls.InsecureSkipVerify {
			query.Set("tls", "skip-verify")
		}
	}
	if t.database == "" {
		u.Path = ""
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	return u.String()
}
