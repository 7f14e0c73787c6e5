package servers

// Servers that belong together.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Group is several private servers that belong together, or one that might have been several.
type Group[S member] struct {
	Nodes []S

	ports []*port // that the servers know of each other before the first one starts
}

type member interface {
	comparable
	base() *Server
}

// start adds n servers, which start at once, after it has reserved so many ports for all of them. If one does not
// start, none stays.
func (g *Group[S]) start(ctx context.Context, n, ports int, start func(ctx context.Context, i int) (S, error)) error {
	for range ports {
		p, err := reservePort()
		if err != nil {
			return errors.Join(err, g.Close())
		}
		g.ports = append(g.ports, p)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	list := make([]S, n)
	var starting sync.WaitGroup
	for i := range list {
		starting.Go(func() {
			var err error
			if list[i], err = start(ctx, i); err != nil {
				cancel(err) // the first error is the cause, the others follow from it
			}
		})
	}
	starting.Wait()
	var none S
	g.Nodes = append(g.Nodes, slices.DeleteFunc(list, func(s S) bool { return s == none })...)
	if err := context.Cause(ctx); err != nil {
		return errors.Join(err, g.Close())
	}
	return nil
}

// URLs returns the addresses of the servers.
func (g *Group[S]) URLs() (urls []string) {
	for _, s := range g.Nodes {
		urls = append(urls, s.base().URL())
	}
	return urls
}

// CAFile returns the PEM file with the certificate of all of them; "" without TLS.
func (g *Group[S]) CAFile() string { return g.Nodes[0].base().CAFile() }

// PIDs returns the numbers of all their processes; see Server.
func (g *Group[S]) PIDs() (list []int) {
	for _, s := range g.Nodes {
		list = append(list, s.base().PIDs()...)
	}
	return list
}

// CPU returns what all of them have used; see Server. It is negative if that of one is.
func (g *Group[S]) CPU() (sum time.Duration) {
	for _, s := range g.Nodes {
		cpu := s.base().CPU()
		if cpu < 0 {
			return cpu
		}
		sum += cpu
	}
	return sum
}

// Close stops all of them, the last first. It may be called more than once.
func (g *Group[S]) Close() (err error) {
	defer freeAll(g.ports)
	for _, s := range slices.Backward(g.Nodes) {
		err = errors.Join(err, s.base().Close())
	}
	return err
}

// LogTail returns the last lines of each server's log below its address.
func (g *Group[S]) LogTail() (all string) {
	for _, s := range g.Nodes {
		all += fmt.Sprintf("%s\n%s\n", s.base().URL(), s.base().LogTail())
	}
	return all
}

// running describes the group to what measures it.
func (g *Group[S]) running() *Running {
	first := g.Nodes[0].base()
	r := &Running{
		URLs: g.URLs(), Network: "unix", Persistence: first.persistence, CPU: g.CPU, PIDs: g.PIDs, Close: g.Close,
	}
	if len(first.ports) > 0 {
		r.Network = "tcp"
	}
	for _, s := range g.Nodes {
		r.Nodes = append(r.Nodes, s.base())
	}
	return r
}

func (s *Server) running() *Running { return (&Group[*Server]{Nodes: []*Server{s}}).running() }
