// Addresses: URLs, host:port and the library's own notation.
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
	howWritten  = "write host:port, mysql://user:password@host:port/database, " +
		"mysql://user:password@localhost/database?socket=/path, unix:///path, or user:password@tcp(host:port)/database, " +
		"with special characters of user and password as %40 and the like in a URL"
	knownParams = "socket=/path, tls=true, ssl-mode=REQUIRED and sslaccept=strict are known"
)

// Service implements drivers.Addressed.
func (driver) Service() string { return "mysql" }

// ReadAddr implements drivers.Addressed.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	t, err := targetOf(drivers.Config{Addrs: []string{addr}})
	if err != nil {
		return drivers.Addr{}, err
	}
	a := drivers.Addr{Redacted: redacted(t), User: t.User, Network: t.Net, Password: drivers.Secret(t.Passwd)}
	if t.TLS != nil {
		a.Network, a.Unverified = "tls", t.TLS.InsecureSkipVerify
	}
	return a, nil
}

// targetOf returns the server of a configuration and how to log in to it. Errors quote nothing of the address.
func targetOf(cfg drivers.Config) (*mysql.Config, error) {
	u, err := parse(cfg.Addrs[0])
	if err != nil {
		return nil, err
	}
	t := mysql.NewConfig()
	password, _ := u.User.Password()
	t.User, t.Passwd = cmp.Or(cfg.Username, u.User.Username()), cmp.Or(string(cfg.Password), password)
	t.DBName = cmp.Or(cfg.Database, strings.TrimPrefix(u.Path, "/"))
	if u.Fragment != "" || strings.Contains(strings.TrimPrefix(u.Path, "/"), "/") {
		return nil, errors.New("the address goes on after the database: " + howWritten)
	}
	if err := setParams(t, u); err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		t.TLS = cfg.TLS.Clone()
		t.TLS.ServerName = cmp.Or(t.TLS.ServerName, u.Hostname())
	}
	switch {
	case t.Net != "unix":
		host, port, err := drivers.ParseHost(u.Host, defaultPort)
		if err != nil {
			return nil, fmt.Errorf("%w; %s", err, howWritten)
		}
		t.Net, t.Addr = "tcp", net.JoinHostPort(host, strconv.Itoa(port))
	case !strings.HasPrefix(t.Addr, "/"):
		return nil, errors.New("the socket of the address is not an absolute path")
	case t.TLS != nil:
		return nil, errors.New("TLS was asked for on a unix socket: drop it or give host:port")
	}
	return t, nil
}

// parse returns an address as a URL, in which mariadb:// means the same as mysql://.
func parse(s string) (*url.URL, error) {
	scheme, rest, isURL := strings.Cut(s, "://")
	switch {
	case !isURL && strings.Contains(s, "/"):
		return parseDSN(s)
	case !isURL && !strings.Contains(s, "@"):
		return &url.URL{Host: s}, nil
	case scheme == "unix" && strings.HasPrefix(rest, "/") && !strings.ContainsAny(rest, "@?#"):
		return &url.URL{RawQuery: "socket=" + url.QueryEscape(rest)}, nil
	case scheme != "mysql" && scheme != "mariadb":
		return nil, errors.New("the address has another form: " + howWritten)
	}
	u, err := url.Parse(s)
	if err != nil { // it quotes the address
		return nil, errors.New("the address is not a URL: " + howWritten)
	}
	return u, nil
}

// parseDSN parses the library's own notation, but for its parameters.
func parseDSN(s string) (*url.URL, error) {
	slash := strings.LastIndexByte(s, '/')
	name, params, _ := strings.Cut(s[slash:], "?")
	d, err := mysql.ParseDSN(s[:slash] + name)
	if err != nil { // it may quote the address
		return nil, errors.New("the address is malformed: " + howWritten)
	}
	u := &url.URL{User: url.UserPassword(d.User, d.Passwd), Host: d.Addr, Path: d.DBName, RawQuery: params}
	switch d.Net {
	case "tcp":
	case "unix":
		u.RawQuery = strings.Trim("socket="+url.QueryEscape(d.Addr)+"&"+params, "&")
	default:
		return nil, errors.New("the address has an unknown network: tcp(host:port) and unix(/path) are known")
	}
	return u, nil
}

// encryption has the parameters about TLS with their values, in the spellings of this library, of MySQL, DigitalOcean
// and Aiven (ssl-mode), of Prisma (sslaccept) and of PlanetScale (ssl), and what they are to this library.
var encryption = map[string]map[string]string{
	"tls":      {"true": "true", "skip-verify": "skip-verify", "false": "false"},
	"ssl-mode": sslModes, "ssl_mode": sslModes, "sslmode": sslModes, "sslMode": sslModes,
	"sslaccept": {"strict": "true", "accept_invalid_certs": "skip-verify"},
	"ssl": {"true": "true", "false": "false",
		`{"rejectUnauthorized":true}`: "true", `{"rejectUnauthorized":false}`: "skip-verify"},
}

var sslModes = map[string]string{"DISABLED": "false", "REQUIRE": "skip-verify", "REQUIRED": "skip-verify",
	"VERIFY_CA": "true", "VERIFY_IDENTITY": "true"}

// setParams reads the parameters of an address. One that is not understood is an error: with sslmode=required, dropping
// it would drop the encryption.
func setParams(t *mysql.Config, u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("the address has malformed parameters after the question mark: " + knownParams)
	}
	for name, values := range query {
		modes, known := encryption[name]
		mode := cmp.Or(modes[values[0]], modes[strings.ToUpper(values[0])])
		switch {
		case len(values) > 1:
			return errors.New("the address has a parameter twice after the question mark")
		case name == "socket":
			t.Net, t.Addr = "unix", values[0]
		case !known:
			return errors.New("the address has an unknown parameter after the question mark: " + knownParams)
		case mode == "":
			return fmt.Errorf("the parameter %s of the address has an unknown value, or one that leaves it to the server "+
				"whether the connection is encrypted: write tls=true, tls=skip-verify or tls=false", name)
		case mode != "false":
			t.TLS = &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: mode == "skip-verify"}
		}
	}
	return nil
}

// redacted returns the target as an address, without user and password.
func redacted(t *mysql.Config) string {
	u := url.URL{Scheme: "mysql", Host: t.Addr}
	query := url.Values{}
	if t.DBName != "" {
		u.Path = "/" + t.DBName
	}
	if t.Net == "unix" {
		u.Host = "localhost"
		query.Set("socket", t.Addr)
	}
	if t.TLS != nil {
		query.Set("tls", map[bool]string{true: "skip-verify", false: "true"}[t.TLS.InsecureSkipVerify])
	}
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	return u.String()
}
