package postgres

// Addresses, as in libpq.

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
)

// ReadAddr implements drivers.Addressed. It accepts libpq's forms, postgres://user:password@host:port/database with
// ?sslmode=verify-full or ?host=/directory/of/the/socket, or "host=… port=… dbname=…"; and also host:port and
// unix:///directory. Environment variables and files by which libpq finds a server and logs in (PGHOST, PGUSER,
// PGPASSWORD, PGSSLROOTCERT, ~/.pgpass, …) fill in what the address leaves open. Those that would change a session, or
// override the address, are ignored; see ignored. default_query_exec_mode=exec is what pgx needs behind a pooler; see
// execMode. Without an sslmode the connection is not encrypted: with libpq's default, prefer, the server would decide, and a
// figure would lack its most important condition.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	_, a, err := readAddr(addr)
	return a, err
}

const addrForms = "write postgres://user:password@host:port/database, host:port, or unix:///directory/of/the/socket"

// socketHost matches a host that is the directory of a unix socket.
var socketHost = regexp.MustCompile(`(?:^|[\s?&])host\s*=\s*'?(?:/|%2F)`)

var sslmode = regexp.MustCompile(`(?:^|[\s?&])sslmode\s*=\s*'?([a-z-]*)`)

// otherModes are the spellings of an sslmode by which node-postgres, JDBC and providers that follow them ask for TLS.
var otherModes = regexp.MustCompile(`((?:^|[\s?&]))(?:ssl=(true|false|no-verify)|sslmode=no-verify)\b`)

func readAddr(text string) (*pgconn.Config, drivers.Addr, error) {
	text = strings.TrimSpace(text)
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case text == "":
		return nil, drivers.Addr{}, errors.New("is empty: " + addrForms)
	case isURL && scheme == "unix":
		dir, port := rest, ""
		if name, number, ok := strings.Cut(filepath.Base(rest), ".s.PGSQL."); ok && name == "" {
			dir, port = filepath.Dir(rest), number
		}
		text = "postgres:///?" + url.Values{"host": {dir}}.Encode()
		if port != "" {
			text += "&port=" + url.QueryEscape(port)
		}
	case isURL && scheme != "postgres" && scheme != "postgresql":
		return nil, drivers.Addr{}, errors.New("has a scheme of another service: " + addrForms)
	case !isURL && !strings.Contains(text, "="):
		text, isURL = "postgres://"+text, true
	}
	mode := os.Getenv("PGSSLMODE")
	if socketHost.MatchString(text) {
		mode = ""
	}
	text = otherModes.ReplaceAllStringFunc(text, func(match string) string {
		m := otherModes.FindStringSubmatch(match)
		if m[2] == "false" {
			return m[1] + "sslmode=disable"
		}
		return m[1] + "sslmode=require"
	})
	if m := sslmode.FindStringSubmatch(text); m != nil {
		mode = m[1]
	} else if mode == "" {
		text = withoutTLS(text, isURL)
	}
	switch mode {
	case "prefer", "allow":
		return nil, drivers.Addr{}, errors.New("leaves it to the server whether the connection is encrypted: " +
			"give sslmode disable, require, verify-ca or verify-full")
	}
	cfg, err := parseConfig(text) // its errors may quote a password
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, drivers.Addr{}, errors.New("names a file that cannot be read (sslrootcert, sslcert, sslkey)")
	case err != nil:
		return nil, drivers.Addr{}, errors.New("cannot be read: " + addrForms)
	case len(cfg.Fallbacks) > 0:
		return nil, drivers.Addr{}, errors.New("has more than one host: the locks live on one server, name that")
	}
	if err := understand(cfg); err != nil {
		return nil, drivers.Addr{}, err
	}
	if mode, set := cfg.RuntimeParams[execMode]; set && mode != "exec" {
		return nil, drivers.Addr{}, errors.New("has a " + execMode + " that this driver does not have: give exec, which prepares no statements, or none")
	}
	cfg.RuntimeParams["application_name"] = "" // the driver sets it
	a := describe(cfg)
	if preset, err := parseConfig("host=localhost sslmode=disable"); err == nil && preset.User != cfg.User {
		a.User = cfg.User
	}
	return cfg, a, nil
}

// ignored are variables that have no effect here: PGOPTIONS=-csynchronous_commit=off makes a durable server eight times
// as fast, and PGSERVICE overrides the address.
var ignored = []string{
	"PGOPTIONS", "PGSERVICE", "PGSERVICEFILE", "PGTZ", "PGTARGETSESSIONATTRS", "PGAPPNAME", "PGCONNECT_TIMEOUT",
	"PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION",
}

var parsing sync.Mutex // the environment belongs to the process

// parseConfig returns the library's configuration, which reads everything that libpq does, without the ignored
// variables. Only the environment itself can tell it to ignore them.
func parseConfig(text string) (*pgconn.Config, error) {
	parsing.Lock()
	defer parsing.Unlock()
	for _, name := range ignored {
		if value, set := os.LookupEnv(name); set {
			os.Unsetenv(name)
			defer os.Setenv(name, value)
		}
	}
	return pgconn.ParseConfig(text)
}

// withoutTLS adds sslmode=disable to an address without an sslmode.
func withoutTLS(text string, isURL bool) string {
	switch {
	case !isURL:
		return text + " sslmode=disable"
	case strings.Contains(text, "?"):
		return text + "&sslmode=disable"
	}
	return text + "?sslmode=disable"
}

// execMode is the parameter of an address by which pgx is told to prepare nothing, since a pooler such as PgBouncer gives
// the next statement to a connection that may not know what was prepared. It is not for the server.
const execMode = "default_query_exec_mode"

// understand reads the parameters of other clients that providers write into addresses. The others are the server's, which
// names those that it does not know.
func understand(cfg *pgconn.Config) error {
	params := cfg.RuntimeParams
	for name, value := range params {
		switch name {
		case "pgbouncer", "prefer_simple_protocol": // Prisma, gorm
			if value == "true" {
				params[execMode] = "exec"
			}
		case "statement_cache_size", "prepareThreshold": // Prisma, JDBC
			if value == "0" {
				params[execMode] = "exec"
			}
		case "prepared_statements": // Rails
			if value == "false" {
				params[execMode] = "exec"
			}
		case "schema", "currentSchema": // Prisma, JDBC
			if value != "public" { // where tables are made anyway
				params["search_path"] = quote(value)
			}
		case "sslaccept": // Prisma
			switch {
			case value != "strict":
			case cfg.TLSConfig == nil:
				return errors.New("has sslaccept=strict without TLS: give sslmode=verify-full")
			default:
				cfg.TLSConfig.InsecureSkipVerify, cfg.TLSConfig.ServerName = false, cfg.Host
			}
		case "supa", "workaround", "uselibpqcompat", "gssencmode": // they mean nothing to a server
		default:
			continue
		}
		delete(params, name)
	}
	return nil
}

// shown are the parameters of a session that change what is measured. Others may be anything, even a misspelt password.
var shown = []string{execMode, "search_path", "options", "synchronous_commit", "default_transaction_isolation", "statement_timeout", "lock_timeout"}

// describe returns the address without its secrets.
func describe(cfg *pgconn.Config) drivers.Addr {
	u := url.URL{Scheme: "postgres", Path: "/" + cfg.Database}
	port := strconv.Itoa(int(cfg.Port))
	query := url.Values{}
	for _, name := range shown {
		if value := cfg.RuntimeParams[name]; value != "" {
			query.Set(name, value)
		}
	}
	a := drivers.Addr{Network: "tcp", Password: drivers.Secret(cfg.Password)}
	if network, _ := pgconn.NetworkAddress(cfg.Host, cfg.Port); network == "unix" {
		a.Network = network
		query.Set("host", cfg.Host)
		query.Set("port", port)
	} else {
		u.Host = net.JoinHostPort(cfg.Host, port)
	}
	if cfg.TLSConfig != nil && a.Network == "tcp" {
		a.Network = "tls"
		query.Set("sslmode", "verify-full")
		if a.Unverified = cfg.TLSConfig.InsecureSkipVerify && cfg.TLSConfig.VerifyPeerCertificate == nil; a.Unverified {
			query.Set("sslmode", "require")
		} else if cfg.TLSConfig.InsecureSkipVerify {
			query.Set("sslmode", "verify-ca")
		}
	}
	u.RawQuery = query.Encode()
	a.Redacted = u.String()
	return a
}
