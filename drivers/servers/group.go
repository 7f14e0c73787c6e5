package servers

// Servers that belong together, and how one or several are started.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

// Server is a private server of one process: each has what process exports.
type Server interface {
	io.Closer
	base() *process
}

func (p *process) base() *process { return p }

// Group is several private servers that belong together.
type Group[S Server] struct{ Nodes []S }

// URLs returns the addresses of the servers.
func (g *Group[S]) URLs() []string {
	urls := make([]string, len(g.Nodes))
	for i, s := range g.Nodes {
		urls[i] = s.base().URL()
	}
	return urls
}

// CAFile returns the PEM file of the private CA that signed all their certificates; "" without TLS.
func (g *Group[S]) CAFile() string { return g.Nodes[0].base().CAFile() }

// Persistence returns the persistence of each server.
func (g *Group[S]) Persistence() string { return g.Nodes[0].base().Persistence() }

// PIDs returns the numbers of all their processes; see Server.
func (g *Group[S]) PIDs() (list []int) {
	for _, s := range g.Nodes {
		list = append(list, s.base().PIDs()...)
	}
	return list
}

// CPU returns what all of them have used; see Server. It is negative if the system does not tell.
func (g *Group[S]) CPU() time.Duration {
	var sum time.Duration
	for _, s := range g.Nodes {
		cpu := s.base().CPU()
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
		all += fmt.Sprintf("%s\n%s\n", s.base().URL(), s.base().LogTail())
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

// check returns an error unless a server can have the durability, or its default.
func (d Durability) check() error {
	if d == "" || d == Relaxed || d == Strict {
		return nil
	}
	return fmt.Errorf("durability %q: there are %s and %s", d, Relaxed, Strict)
}

// or returns what is on disk when a server confirms a change, if it is relaxed in that way.
func (d Durability) or(relaxed string) (persistence string) {
	if d == Strict {
		return "fsync each commit"
	}
	return relaxed
}

var sweepOnce sync.Once

// startServer starts a server in a process that setUp completes, or in another one if something else has taken its port. If it
// fails, none is left. Errors begin with the server's name.
func startServer[S any](ctx context.Context, at place, setUp func(p *process) (S, error)) (S, error) {
	// A failed sweep is no reason not to start.
	sweepOnce.Do(func() { _, _ = Sweep() })
	var none S
	for attempt := 1; ; attempt++ {
		p, err := newProcess(at)
		if err != nil {
			return none, fmt.Errorf("%s: start: %w", at.name, err)
		}
		s, err := setUp(p)
		if err != nil {
			return none, fmt.Errorf("%s: start: %w", at.name, errors.Join(err, p.Close()))
		}
		if err = p.Restart(ctx); err == nil {
			return s, nil
		}
		taken := len(p.ports) > 0 && strings.Contains(strings.ToLower(p.LogTail()), "address already in use")
		if taken {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		err = errors.Join(err, p.Close())
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

// peered are servers that have to know the ports of each other before the first one starts.
type peered[S Server] struct {
	Group[S]
	peers []*port

	closing sync.Once
	closed  error
}

// start starts n servers after it has reserved so many ports for them. If one does not start, none stays.
func (e *peered[S]) start(ctx context.Context, name string, n, ports int, start func(ctx context.Context, i int) (S, error)) (err error) {
	for range ports {
		p, err := reservePort()
		if err != nil {
			return fmt.Errorf("%s: start: %w", name, errors.Join(err, e.Close()))
		}
		e.peers = append(e.peers, p)
	}
	if e.Nodes, err = startAll(ctx, n, start); err != nil {
		return errors.Join(err, e.Close())
	}
	return nil
}

// Close stops all of them for good and removes their directories. It may be called more than once.
func (e *peered[S]) Close() error {
	e.closing.Do(func() { e.closed = errors.Join(e.Group.Close(), closeAll(e.peers)) })
	return e.closed
}

// closeAll closes all of a list.
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
	if err := poll(ctx, ready); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
