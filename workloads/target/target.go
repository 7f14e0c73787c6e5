package target

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// Targets are the servers of a run before anything has been started or asked: one target for each service that its
// drivers measure, and none if they need no server.
type Targets struct {
	List []Target
	Why  string // for people, if the list is empty: why there is none
}

// Target is the server of one service, or several that make one.
type Target struct {
	Service *servers.Service
	Kind    string // as cells name it
	Why     string // for people: why this one
	Binary  string // private: the program
	Missing error  // private: there is no program; it says what to install

	Fallback bool // embedded because there is nothing better

	// The rest is for external servers alone.
	URLs     []string         // may carry passwords: never printed
	Redacted string           // without users and passwords, a comma list
	Network  string           // as results.Server has it
	Secrets  []drivers.Secret // that the drivers find in the addresses, or where those send them
	Login
}

// Login is how the user's servers are logged in to. It is the same for all of a run; what differs stands in the URLs.
type Login struct {
	Password     drivers.Secret
	PasswordFile string
	Prefix       string // before that of the run, of services with Prefixes
	TLS          TLSFiles
}

// TLSFiles names what a TLS connection is verified with.
type TLSFiles struct {
	CA, Cert, ServerName string
	SkipVerify           bool // with nothing
}

// Of returns the target that cells of a driver run on. Drivers without a service have none, which is one too.
func (t Targets) Of(driver string) Target {
	s := Service(driver)
	for _, one := range t.List {
		if one.Service == s {
			return one
		}
	}
	if drivers.IsCommand(driver) && drivers.Unstarted(driver) && len(t.List) > 0 { // it may well need a server
		return t.List[0]
	}
	return Target{Kind: matrix.InProcess}
}

// Server returns what cells for the target are resolved with.
func (t Target) Server() matrix.Server {
	if t.Missing == nil && t.Kind == matrix.Embedded && t.Service.Embedded == nil {
		return matrix.Server{Kind: t.Kind,
			Err: fmt.Errorf("-addr embedded: only Redis has a stand-in inside lockbench; -addr private starts %s", t.Service.Name)}
	}
	return matrix.Server{Kind: t.Kind, Err: t.Missing}
}

// Lines describes the targets without any secret, each in a line.
func (t Targets) Lines() []string {
	if len(t.List) == 0 {
		return []string{fmt.Sprintf("%s (%s)", matrix.InProcess, t.Why)}
	}
	var lines []string
	for _, one := range t.List {
		line := one.String()
		if len(t.List) > 1 {
			line = one.Service.Name + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// String describes the target without any secret.
func (t Target) String() string {
	s := t.Kind
	switch {
	case t.Missing != nil:
		s += ", which is not here"
	case t.Kind == matrix.Private:
		s += " " + t.Binary
	case t.Kind == matrix.External:
		s += " " + t.Redacted
	}
	if t.Why != "" {
		s += " (" + t.Why + ")"
	}
	return s
}

// External returns the target of the user's servers at these addresses, which make one service. Errors quote no address
// but in part, since a password may be anywhere.
func External(s *servers.Service, addrs []string, l Login) (Target, error) {
	t := Target{Service: s, Kind: matrix.External, URLs: addrs, Login: l}
	unverified := false
	for _, addr := range addrs {
		read, err := ReadAddr(s, addr)
		if err != nil {
			return t, err
		}
		if t.Network = cmp.Or(t.Network, read.Network); read.Network != t.Network {
			return t, fmt.Errorf("%s is reached otherwise than %s: all servers must be reached alike",
				read.Redacted, Redact(s, addrs[:1]))
		}
		t.Secrets, unverified = append(t.Secrets, read.Password), unverified || read.Unverified
	}
	t.Redacted = Redact(s, addrs)
	if t.TLS != (TLSFiles{}) {
		t.Network, unverified = "tls", t.TLS.SkipVerify
	}
	if unverified {
		t.Network = results.Unverified
	}
	return t, nil
}

// Assign gives each address to the service of its scheme, and one without to the only service of those wanted.
func Assign(list []string, wanted []*servers.Service) (map[*servers.Service][]string, error) {
	addrs := map[*servers.Service][]string{}
	for _, addr := range list {
		scheme, _, _ := strings.Cut(addr, "://")
		s := serviceAt(addr)
		if s == nil && len(wanted) == 1 {
			s = wanted[0]
		}
		switch {
		case s == nil:
			return nil, fmt.Errorf("the run has several services, and an address that does not say whose it is: "+
				"begin each with one of %s", schemes(wanted))
		case !slices.Contains(wanted, s):
			return nil, fmt.Errorf("%s:// is an address of %s, and no -driver of this run measures that: they need %s",
				scheme, s.Name, schemes(wanted))
		}
		addrs[s] = append(addrs[s], addr)
	}
	return addrs, nil
}

// serviceAt returns the service of an address by its scheme, or nil.
func serviceAt(addr string) *servers.Service {
	scheme, _, isURL := strings.Cut(addr, "://")
	for _, s := range servers.Services() {
		if isURL && slices.Contains(s.Schemes, scheme) {
			return s
		}
	}
	return nil
}

func schemes(list []*servers.Service) string {
	var all []string
	for _, s := range list {
		for _, scheme := range s.Schemes {
			all = append(all, scheme+"://")
		}
	}
	return strings.Join(all, ", ")
}

// Service returns the service of a driver, and nil for one that needs no server.
func Service(driver string) *servers.Service {
	d, _ := drivers.Lookup(driver)
	if a, ok := d.(drivers.Addressed); ok {
		return servers.Named(a.Service())
	}
	return nil
}

// Services returns the services of a list of drivers, each once, in the order in which they come.
func Services(driverNames []string) (list []*servers.Service) {
	for _, name := range driverNames {
		if s := Service(name); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// ReadAddr reads an address of the service, as any of its drivers would.
func ReadAddr(s *servers.Service, addr string) (drivers.Addr, error) {
	for _, name := range drivers.Names() {
		if Service(name) == s {
			d, _ := drivers.Lookup(name)
			return d.(drivers.Addressed).ReadAddr(addr)
		}
	}
	panic("lockbench: no driver measures " + s.Name)
}

// Redact returns a list of addresses without users and passwords.
func Redact(s *servers.Service, addrs []string) string {
	var list []string
	for _, addr := range addrs {
		read, err := ReadAddr(s, addr)
		if err != nil {
			return "an address of " + s.Name // quoting it might show a password
		}
		list = append(list, read.Redacted)
	}
	return strings.Join(list, ",")
}

// Access is what a login has in its files.
type Access struct {
	Password drivers.Secret
	tls      *tls.Config
}

// read reads the password and the certificates.
func (l Login) read() (a Access, err error) {
	if a.Password = l.Password; l.PasswordFile != "" {
		a.Password, err = readSecret(l.PasswordFile)
	}
	if err == nil {
		a.tls, err = l.TLS.config()
	}
	return a, err
}

// maxSecret is how many bytes a file with a secret may have.
const maxSecret = 64 << 10

// readSecret reads the only line of a file. It may be a pipe, as <(pass show redis) is, and may never answer: nothing
// else waits for that. A device that never ends is read no further than a secret can be long.
func readSecret(path string) (drivers.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("-password-file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	line, is := strings.TrimRight(string(text), "\r\n"), ""
	switch {
	case err != nil:
		return "", fmt.Errorf("-password-file: %w", err)
	case len(text) > maxSecret:
		is = fmt.Sprintf("is longer than %d KiB: it ", maxSecret>>10)
	case line != "" && !strings.ContainsAny(line, "\r\n"):
		return drivers.Secret(line), nil
	}
	return "", fmt.Errorf("-password-file %s: %smust have one line, the secret", path, is)
}

// config makes a TLS configuration, or nil if nothing asks for TLS.
func (f TLSFiles) config() (*tls.Config, error) {
	if f == (TLSFiles{}) {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.ServerName, InsecureSkipVerify: f.SkipVerify}
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
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Cert)
		if err != nil {
			return nil, fmt.Errorf("-tls-cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
