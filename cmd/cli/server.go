// The servers of a run, started or merely named, and what a driver needs to know to open one.

package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// fleet is the servers of a run: one deployment for each service, durability and topology that its cells ask for,
// started when the first of them runs. It is used by one goroutine at a time.
type fleet struct {
	targets
	password  drivers.Secret
	tlsConfig *tls.Config
	conns     map[deployment]int // that the biggest cell needs
	running   map[deployment]*server

	mu     sync.Mutex // guards closed against the exit that waits for nothing
	closed bool
}

// server is a deployment that can be opened.
type server struct {
	*servers.Running
	service *servers.Service
}

// redacted is where the servers of our own listen. That they have no password is no reason to show a user.
func (s *server) redacted() string {
	var list []string
	for _, url := range s.URLs {
		if read, err := readAddr(s.service, url); err == nil {
			url = read.Redacted
		}
		list = append(list, url)
	}
	return strings.Join(list, ",")
}

// newFleets are the fleets of a plan by side, "" for a run without: both sides have the same one if they can. Nothing is
// started yet.
func newFleets(p plan) (map[string]*fleet, error) {
	if len(p.sides) == 0 {
		f, err := newFleet(p.targets, p.Cells)
		return map[string]*fleet{"": f}, err
	}
	base, head := p.sides[0], p.sides[1]
	if all, ok := base.plan.targets.join(head.plan.targets); ok {
		f, err := newFleet(all, p.Cells)
		return map[string]*fleet{base.name: f, head.name: f}, err
	}
	fleets := map[string]*fleet{}
	for _, s := range p.sides {
		f, err := newFleet(s.plan.targets, s.plan.Cells)
		if err != nil {
			return nil, err
		}
		fleets[s.name] = f
	}
	return fleets, nil
}

// newFleet reads the files that external servers need.
func newFleet(t targets, cells []matrix.Cell) (*fleet, error) {
	f := &fleet{targets: t, conns: map[deployment]int{}, running: map[deployment]*server{}}
	for _, c := range cells {
		d := deploymentOf(c.Plan)
		f.conns[d] = max(f.conns[d], matrix.Connections(&c.Plan))
	}
	if len(f.list) == 0 || f.list[0].kind != matrix.External {
		return f, nil
	}
	return f, f.readFiles(f.list[0].login)
}

// at is the server of a cell.
func (f *fleet) at(ctx context.Context, c spec.Plan) (*server, error) {
	d := deploymentOf(c)
	if s := f.running[d]; s != nil {
		return s, nil
	}
	running, err := f.start(ctx, c, d)
	if err != nil {
		return nil, err
	}
	s := &server{running, d.service}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.Join(context.Canceled, s.Close())
	}
	f.running[d] = s
	return s, nil
}

func (f *fleet) start(ctx context.Context, c spec.Plan, d deployment) (*servers.Running, error) {
	nothing := func() error { return nil }
	t := f.of(c.Driver)
	switch t.kind {
	case matrix.Private:
		return t.service.Start(ctx, servers.StartOptions{
			Binary: t.binary, Durability: d.durability, Conns: f.conns[d],
			Topology: string(d.topology), Nodes: d.nodes, Replicas: d.replicas,
		})
	case matrix.Embedded:
		return t.service.Embedded(max(1, d.nodes))
	case matrix.External:
		return &servers.Running{URLs: t.urls, Network: t.network, Master: t.master, Close: nothing}, nil
	}
	return &servers.Running{Close: nothing}, nil
}

// close stops the servers of our own. It leaves running as it is: an exit that waits for nothing calls it while the run
// goes on to read that.
func (f *fleet) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var errs []error
	for _, s := range f.running {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// readFiles reads the password and the certificates.
func (f *fleet) readFiles(l login) error {
	f.password = l.password
	if l.passwordFile != "" {
		password, err := readPassword(l.passwordFile)
		if err != nil {
			return err
		}
		f.password = password
	}
	config, err := l.tls.config()
	f.tlsConfig = config
	return err
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
func (f *fleet) open(ctx context.Context, c spec.Plan, prefix string) (drivers.Service, error) {
	d, err := matrix.Driver(&c)
	if err != nil {
		return nil, err
	}
	cfg := matrix.Config(&c, prefix)
	if t := f.of(c.Driver); t.kind != matrix.InProcess {
		s, err := f.at(ctx, c)
		if err != nil {
			return nil, err
		}
		cfg.Addrs, cfg.Master = s.URLs, s.Master
		cfg.Username, cfg.Password, cfg.Database, cfg.TLS = t.user, f.password, t.db, f.tlsConfig
	}
	return d.Open(ctx, cfg)
}

// neighbour is a service beside the one that the load is on, with connections of its own to the same server; the zero
// value is none.
type neighbour struct {
	drivers.Prober
	svc drivers.Service
}

// Close closes its connections.
func (n neighbour) Close() {
	if n.svc != nil {
		_ = n.svc.Close()
	}
}

// neighbour opens the one that sends a cell's probes, if it has any. The error is a *matrix.Misfit if its driver has no such
// request.
func (f *fleet) neighbour(ctx context.Context, c spec.Plan, prefix string) (n neighbour, err error) {
	if c.Probe == 0 {
		return n, nil
	}
	c.Clients, c.Conns, c.Lockers, c.Wait = 1, 0, 0, wait.None
	svc, err := f.open(ctx, c, prefix+"neighbour:")
	if err != nil {
		return n, fmt.Errorf("opening the neighbour of -probe: %w", err)
	}
	prober, ok := drivers.As[drivers.Prober](svc)
	if !ok {
		_ = svc.Close()
		return n, &matrix.Misfit{What: c.Driver + " -probe", Why: "its driver has no request that a neighbour would send"}
	}
	return neighbour{prober, svc}, nil
}

// describe returns what the engine cannot know of a cell's server.
func (f *fleet) describe(c spec.Plan) results.Server {
	s := f.running[deploymentOf(c)]
	switch {
	case s == nil:
		return results.Server{}
	case c.Server == matrix.External:
		return results.Server{Addr: f.of(c.Driver).redacted, Network: s.Network, Persistence: s.Persistence}
	}
	return results.Server{Addr: s.redacted(), Network: s.Network, Persistence: s.Persistence}
}

// cpuOf reads what the servers of a cell have used, if they are ours; else it is nil.
func (f *fleet) cpuOf(c spec.Plan) func() time.Duration {
	if s := f.running[deploymentOf(c)]; s != nil {
		return s.CPU
	}
	return nil
}

// networkOf is how a cell reaches its server, "embedded" for both ends in this process, and empty as long as it has
// none.
func (f *fleet) networkOf(c spec.Plan) string {
	if c.Server == matrix.Embedded {
		return matrix.Embedded
	}
	if s := f.running[deploymentOf(c)]; s != nil {
		return s.Network
	}
	return ""
}
