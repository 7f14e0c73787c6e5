package postgres

import (
	"cmp"
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

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
)

const addrForms = "write postgres://user:password@host:port/database, host:port, or unix:///directory/of/the/socket"

// ReadAddr implements drivers.Addressed. It accepts what libpq does, postgres://user:password@host:port/database with
// ?sslmode=verify-full or ?host=/directory/of/the/socket, or "host=… port=… dbname=…", and also host:port and
// unix:///directory. What the address leaves open comes from libpq's variables and files (PGHOST, PGUSER, PGPASSWORD,
// PGSSLROOTCERT, ~/.pgpass, …), apart from those that are ignored. Without an sslmode the connection is not encrypted:
// with libpq's default, prefer, the server would decide, and a figure would lack its most important condition.
func (driver) ReadAddr(addr string) (drivers.Addr, error) {
	_, a, err := readAddr(addr)
	return a, err
}

// readAddr returns errors that quote nothing of the address, where a password may be anywhere.
func readAddr(text string) (*pgx.ConnConfig, drivers.Addr, error) {
	fail := func(why string) (*pgx.ConnConfig, drivers.Addr, error) { return nil, drivers.Addr{}, errors.New(why) }
	text = strings.TrimSpace(text)
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case text == "":
		return fail("is empty: " + addrForms)
	case isURL && scheme == "unix":
		text = ofSocket(rest)
	case isURL && scheme != "postgres" && scheme != "postgresql":
		return fail("has a scheme of another service: " + addrForms)
	case !isURL && !strings.Contains(text, "="):
		text, isURL = "postgres://"+text, true
	}
	text, mode := withMode(text, isURL)
	if mode == "prefer" || mode == "allow" {
		return fail("leaves it to the server whether the connection is encrypted: " +
			"give sslmode disable, require, verify-ca or verify-full")
	}
	cfg, err := parseConfig(text)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return fail("names a file that cannot be read (sslrootcert, sslcert, sslkey)")
	case err != nil:
		return fail("cannot be read: " + addrForms)
	case len(cfg.Fallbacks) > 0:
		return fail("has more than one host: the locks live on one server, name that")
	}
	if err := understand(cfg); err != nil {
		return fail(err.Error())
	}
	a := describe(cfg)
	if preset, err := parseConfig("host=localhost sslmode=disable"); err == nil && preset.User != cfg.User {
		a.User = cfg.User
	}
	return cfg, a, nil
}

// ofSocket returns the address of a socket, or of the directory that it is in.
func ofSocket(path string) string {
	query := url.Values{"host": {path}}
	if name, port, ok := strings.Cut(filepath.Base(path), ".s.PGSQL."); ok && name == "" {
		query = url.Values{"host": {filepath.Dir(path)}, "port": {port}}
	}
	return "postgres:///?" + query.Encode()
}

var (
	// socketHost matches a host that is the directory of a unix socket.
	socketHost = regexp.MustCompile(`(?:^|[\s?&])host\s*=\s*'?(?:/|%2F)`)

	sslmode = regexp.MustCompile(`(?:^|[\s?&])sslmode\s*=\s*'?([a-z-]*)`)

	// noTLS and someTLS are how node-postgres, JDBC and providers that follow them write an sslmode.
	noTLS   = regexp.MustCompile(`(^|[\s?&])ssl=false\b`)
	someTLS = regexp.MustCompile(`(^|[\s?&])(?:ssl=(?:true|no-verify)|sslmode=no-verify)\b`)
)

// withMode returns the address with an sslmode, unless PGSSLMODE has one, and which it is.
func withMode(text string, isURL bool) (with, mode string) {
	text = noTLS.ReplaceAllString(text, "${1}sslmode=disable")
	text = someTLS.ReplaceAllString(text, "${1}sslmode=require")
	if m := sslmode.FindStringSubmatch(text); m != nil {
		return text, m[1]
	}
	mode = os.Getenv("PGSSLMODE")
	switch {
	case mode != "" && !socketHost.MatchString(text):
		return text, mode
	case !isURL:
		return text + " sslmode=disable", ""
	case strings.Contains(text, "?"):
		return text + "&sslmode=disable", ""
	}
	return text + "?sslmode=disable", ""
}

// ignored are variables that have no effect here: PGOPTIONS=-csynchronous_commit=off makes a durable server eight
// times as fast, and PGSERVICE overrides the address.
var ignored = []string{
	"PGOPTIONS", "PGSERVICE", "PGSERVICEFILE", "PGTZ", "PGTARGETSESSIONATTRS", "PGAPPNAME", "PGCONNECT_TIMEOUT",
	"PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION",
}

var parsing sync.Mutex // the environment belongs to the process

// parseConfig is pgx.ParseConfig, which can be told only by the environment itself what to ignore of it.
func parseConfig(text string) (*pgx.ConnConfig, error) {
	parsing.Lock()
	defer parsing.Unlock()
	for _, name := range ignored {
		if value, set := os.LookupEnv(name); set {
			os.Unsetenv(name)
			defer os.Setenv(name, value)
		}
	}
	return pgx.ParseConfig(text)
}

// poolers are the parameters of Prisma, gorm, JDBC and Rails for what pgx calls default_query_exec_mode=exec: to
// prepare nothing, since a pooler such as PgBouncer may give the next statement to a connection that does not know it.
var poolers = map[string]string{
	"pgbouncer": "true", "prefer_simple_protocol": "true", "statement_cache_size": "0", "prepareThreshold": "0",
	"prepared_statements": "false",
}

// understand reads the parameters that providers write into addresses for other clients. The server gets the others,
// and names those that it does not know.
func understand(cfg *pgx.ConnConfig) error {
	params := cfg.RuntimeParams
	for name, prepares := range poolers {
		if value, set := params[name]; set && value == prepares {
			cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
		}
		delete(params, name)
	}
	switch cfg.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement:
	default:
		return errors.New("has a default_query_exec_mode that this driver does not have: give exec, which prepares no " +
			"statements, or none")
	}
	if schema := cmp.Or(params["schema"], params["currentSchema"], "public"); schema != "public" { // Prisma, JDBC
		params["search_path"] = pgx.Identifier{schema}.Sanitize() // tables are made in public anyway
	}
	if params["sslaccept"] == "strict" { // Prisma
		if cfg.TLSConfig == nil {
			return errors.New("has sslaccept=strict without TLS: give sslmode=verify-full")
		}
		cfg.TLSConfig.InsecureSkipVerify, cfg.TLSConfig.ServerName = false, cfg.Host
	}
	for _, name := range []string{
		"schema", "currentSchema", "sslaccept", "supa", "workaround", "uselibpqcompat", "gssencmode",
		"application_name", // the driver's own
	} {
		delete(params, name)
	}
	return nil
}

// shown are the parameters of a session that change what is measured. Others may be anything, even a misspelt
// password.
var shown = []string{
	"search_path", "options", "synchronous_commit", "default_transaction_isolation", "statement_timeout", "lock_timeout",
}

// describe returns the address without its secrets.
func describe(cfg *pgx.ConnConfig) drivers.Addr {
	u := url.URL{Scheme: "postgres", Path: "/" + cfg.Database}
	port := strconv.Itoa(int(cfg.Port))
	query := url.Values{}
	for _, name := range shown {
		if value := cfg.RuntimeParams[name]; value != "" {
			query.Set(name, value)
		}
	}
	if cfg.DefaultQueryExecMode == pgx.QueryExecModeExec {
		query.Set("default_query_exec_mode", "exec")
	}
	a := drivers.Addr{Password: drivers.Secret(cfg.Password)}
	if a.Network, _ = pgconn.NetworkAddress(cfg.Host, cfg.Port); a.Network == "unix" {
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
