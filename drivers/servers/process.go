package servers

// What all private servers have in common: a child, its ports, and the life of both.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// addr returns the address of a server on the port: host:port.
func (p *port) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number)) }

// portAttempts is the number of ports to try when another process takes one that was free.
const portAttempts = 5

// errPortTaken says that a server could not have its port.
var errPortTaken = errors.New("the port is taken")

// process is a server process and its reserved ports. Its methods are safe for concurrent use; every server embeds it.
type process struct {
	child       *child
	ports       []*port
	url         string
	ca          string // a file; "" without TLS
	persistence string

	closing sync.Once
	closed  error
}

func (p *process) reserve(reserve func() (*port, error)) (*port, error) {
	port, err := reserve()
	if err == nil {
		p.ports = append(p.ports, port)
	}
	return port, err
}

// URL returns the server's address as a client gives it, without a password.
func (p *process) URL() string { return p.url }

// CAFile returns the PEM file of the private CA that signed the server's certificate; "" without TLS.
func (p *process) CAFile() string { return p.ca }

// Persistence returns what is on disk when a change is answered; "" of a server that tells it itself.
func (p *process) Persistence() string { return p.persistence }

// PID returns the number of the server's process, or 0 if there is none.
func (p *process) PID() int { return p.child.pid() }

// PIDs returns the numbers of the server's process and of its living descendants, and nothing if there is none. Other systems
// than Linux tell only that of the process itself.
func (p *process) PIDs() []int {
	pid := p.PID()
	if pid == 0 {
		return nil
	}
	return family(pid)
}

// CPU returns the user and system time that the server and its child processes have used since its first start. It is
// negative if the system does not tell.
func (p *process) CPU() time.Duration { return p.child.cpu() }

// Signal sends a signal to the server's process, e.g. SIGSTOP and SIGCONT to pause it. On Linux the process has stopped
// when SIGSTOP returns; its child processes go on. The error wraps os.ErrProcessDone if there is no process.
func (p *process) Signal(sig os.Signal) error { return p.child.signal(sig) }

// Kill ends the server with SIGKILL and returns when it is gone. It keeps its address and its files for Restart.
func (p *process) Kill() error { return p.child.kill() }

// Restart starts the server again at its address after it was killed or has died, with the files that it had written,
// and returns when it answers.
func (p *process) Restart(ctx context.Context) error { return p.child.start(ctx) }

// Close stops the server for good and removes its directory. It may be called more than once.
func (p *process) Close() error {
	p.closing.Do(func() {
		p.closed = p.child.close()
		for _, port := range p.ports {
			p.closed = errors.Join(p.closed, port.release())
		}
	})
	return p.closed
}

// LogTail returns the last lines of the server's log, indented, or "" if there are none. Secrets are left out.
func (p *process) LogTail() string { return p.child.logTail() }

func (p *process) base() *process { return p }

// Server is a private server of one process.
type Server interface {
	URL() string
	CAFile() string
	Persistence() string
	PID() int
	PIDs() []int
	CPU() time.Duration
	Signal(os.Signal) error
	Kill() error
	Restart(context.Context) error
	Close() error
	LogTail() string

	base() *process // they embed it
}

// Group is several private servers that belong together.
type Group[S Server] struct{ Nodes []S }

// URLs returns the addresses of the servers.
func (g *Group[S]) URLs() []string {
	urls := make([]string, len(g.Nodes))
	for i, s := range g.Nodes {
		urls[i] = s.URL()
	}
	return urls
}

// CAFile returns the PEM file of the private CA that signed all their certificates; "" without TLS.
func (g *Group[S]) CAFile() string { return g.Nodes[0].CAFile() }

// Persistence returns the persistence of each server.
func (g *Group[S]) Persistence() string { return g.Nodes[0].Persistence() }

// PIDs returns the numbers of all their processes; see Server.
func (g *Group[S]) PIDs() (list []int) {
	for _, s := range g.Nodes {
		list = append(list, s.PIDs()...)
	}
	return list
}

// CPU returns what all of them have used; see Server. It is negative if the system does not tell.
func (g *Group[S]) CPU() time.Duration {
	var sum time.Duration
	for _, s := range g.Nodes {
		cpu := s.CPU()
		if cpu < 0 {
			return cpu
		}
		sum += cpu
	}
	return sum
}

// Close stops all of them. It may be called more than once.
func (g *Group[S]) Close() error { return closeAll(g.Nodes) }

// LogTail returns the last lines of each server's log below its address.
func (g *Group[S]) LogTail() string {
	all := ""
	for _, s := range g.Nodes {
		all += fmt.Sprintf("%s\n%s\n", s.URL(), s.LogTail())
	}
	return all
}

// Durability says what a private server has on disk when it confirms a change.
type Durability string

const (
	// Relaxed means nothing: the server fsyncs late or never, as far as it can be configured. Confirmed changes may be
	// lost with the machine, and with some servers (Redis) even with the process.
	Relaxed Durability = "relaxed"

	// Strict means the change itself: it is fsynced before the answer, on every server that has to agree.
	Strict Durability = "strict"
)

// or returns what is on disk when a server confirms a change, if it is relaxed in that way.
func (d Durability) or(relaxed string) (persistence string) {
	if d == Strict {
		return "fsync each commit"
	}
	return relaxed
}

var sweepOnce sync.Once

// startServer starts the server that make prepares, or another one if a process has taken its port. If it fails, none
// is left. Errors begin with name.
func startServer[S Server](ctx context.Context, name string, make func() (S, error)) (S, error) {
	// A failed sweep is no reason not to start.
	sweepOnce.Do(func() { _, _ = Sweep() })
	var none S
	for attempt := 1; ; attempt++ {
		s, err := make()
		if err != nil {
			return none, fmt.Errorf("%s: start: %w", name, err)
		}
		p := s.base()
		err = p.child.start(ctx)
		if err == nil {
			return s, nil
		}
		taken := len(p.ports) > 0 && strings.Contains(strings.ToLower(p.child.logTail()), "address already in use")
		if taken {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		err = errors.Join(err, s.Close())
		if !taken || attempt == portAttempts {
			return none, err
		}
	}
}

// startAll starts n servers at once. If one does not start, none stays.
func startAll[S Server](ctx context.Context, n int, start func(ctx context.Context, i int) (S, error)) ([]S, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	list, started := make([]S, n), make([]bool, n)
	var starting sync.WaitGroup
	for i := range list {
		starting.Go(func() {
			s, err := start(ctx, i)
			if err != nil {
				cancel(err) // the first error is the cause, the others follow from it
				return
			}
			list[i], started[i] = s, true
		})
	}
	starting.Wait()
	if err := context.Cause(ctx); err != nil {
		for i, s := range list {
			if started[i] {
				err = errors.Join(err, s.Close())
			}
		}
		return nil, err
	}
	return list, nil
}

// closeAfter closes what an error has left half-made.
func closeAfter(err *error, c io.Closer) {
	if *err != nil {
		*err = errors.Join(*err, c.Close())
	}
}

// closeAll stops all servers of the list.
func closeAll[S io.Closer](list []S) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// await polls ready until it returns nil, for as long as a start may take. what begins the error: "redis: start: the
// replicas are not in sync".
func await(ctx context.Context, what string, ready func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}
