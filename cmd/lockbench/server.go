// The server of a run, started or merely named, and what a driver needs to know to open it.

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
)

// server is a target that can be opened.
type server struct {
	target
	tlsConfig *tls.Config
	close     func() error
}

// start starts the target's server, or reads the files that an external one needs. needed is false if no cell of the
// run talks to a server.
func (t target) start(ctx context.Context, needed bool) (*server, error) {
	s := &server{target: t, close: func() error { return nil }}
	switch {
	case !needed:
	case t.kind == private:
		r, err := servers.StartRedis(ctx, servers.RedisOptions{Binary: t.binary})
		if err != nil {
			return nil, err
		}
		s.url, s.network, s.close = r.URL(), "unix", r.Close
	case t.kind == embedded:
		e, err := servers.StartEmbedded()
		if err != nil {
			return nil, err
		}
		s.url, s.network, s.close = e.URL(), "tcp", e.Close
	default:
		return s, s.readFiles()
	}
	s.redacted = s.url // servers of our own have no password
	return s, nil
}

// readFiles reads the password and the certificates.
func (s *server) readFiles() error {
	if s.passwordFile != "" {
		text, err := os.ReadFile(s.passwordFile)
		if err != nil {
			return fmt.Errorf("-password-file: %w", err)
		}
		password := strings.TrimRight(string(text), "\r\n")
		if password == "" || strings.ContainsAny(password, "\r\n") {
			return fmt.Errorf("-password-file %s: must have one line, the password", s.passwordFile)
		}
		s.password = drivers.Secret(password)
	}
	config, err := s.tls.config()
	s.tlsConfig = config
	return err
}

// config makes a TLS configuration that verifies, or nil if nothing asks for TLS.
func (f tlsFiles) config() (*tls.Config, error) {
	if f == (tlsFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.serverName}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("-tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("-tls-ca %s: has no certificate in PEM form", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("-tls-cert, -tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// open opens the service for one cell.
func (s *server) open(ctx context.Context, c results.Plan, prefix string) (drivers.Service, error) {
	d, err := drivers.Lookup(c.Driver)
	if err != nil {
		return nil, err
	}
	cfg := drivers.Config{
		Lock: c.Lock, Prefix: prefix, Clients: c.Clients, Wakes: wakes(c),
		TTL: c.TTL, Lockers: c.Lockers, Params: paramMap(c.Params),
		Conns: c.Conns, Pipelining: drivers.Pipelining(c.Pipelining), FlushDelay: c.FlushDelay, IOTimeout: c.IOTimeout,
	}
	if _, remote := libraries[c.Driver]; remote {
		cfg.Addrs = []string{s.url}
		cfg.Username, cfg.Password, cfg.Database, cfg.TLS = s.user, s.password, s.db, s.tlsConfig
		cfg.Embedded = s.kind == embedded
	}
	return d.Open(ctx, cfg)
}

// wakes reports whether releases have to wake subscribers for the cell's way of waiting.
func wakes(c results.Plan) bool {
	kind, err := wait.Find(c.Wait)
	return err == nil && kind.Wakes
}

// describe fills the parts of the record's Server that the engine cannot know.
func (s *server) describe(rec *results.Record) {
	rec.Server.Kind = string(s.kindFor(rec.Plan.Driver))
	if _, remote := libraries[rec.Plan.Driver]; remote {
		rec.Server.Addr, rec.Server.Network = s.redacted, s.network
	}
}
