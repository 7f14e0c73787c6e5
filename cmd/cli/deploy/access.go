package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// Access is a login whose files have been read.
type Access struct {
	Login
	tls *tls.Config
}

// Read reads the password and the certificates.
func (l Login) Read() (a Access, err error) {
	a.Login = l
	if l.PasswordFile != "" {
		if a.Password, err = readPassword(l.PasswordFile); err != nil {
			return a, err
		}
	}
	a.tls, err = l.TLS.config()
	return a, err
}

func (a Access) fill(cfg *drivers.Config) {
	cfg.Username, cfg.Password, cfg.Database, cfg.TLS = a.User, a.Password, a.DB, a.tls
}

// maxPassword is how many bytes a file with a password may have.
const maxPassword = 64 << 10

// readPassword reads the only line of a file, which may be a pipe. It reads no more than a password can have: a wrong
// path may name a device that never ends.
func readPassword(path string) (drivers.Secret, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("-password-file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("-password-file: %w", err)
	}
	if len(text) > maxPassword {
		return "", fmt.Errorf("-password-file %s: is longer than %d KiB: it must have one line, the password", path, maxPassword>>10)
	}
	password := strings.TrimRight(string(text), "\r\n")
	if password == "" || strings.ContainsAny(password, "\r\n") {
		return "", fmt.Errorf("-password-file %s: must have one line, the password", path)
	}
	return drivers.Secret(password), nil
}

// config makes a TLS configuration that verifies, or nil if nothing asks for TLS.
func (f TLSFiles) config() (*tls.Config, error) {
	if f == (TLSFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("-tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("-tls-ca %s: has no certificate in PEM form", f.CA)
		}
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("-tls-cert, -tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
