// What the nodes are, and what they have used together.
package quorum

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// Inspect implements drivers.Inspector. The server is the first node that answers, with the number of those that do.
// Usage is the sum; it is unknown if one of the open nodes does not tell.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	var mu sync.Mutex
	usages := make([]*drivers.Usage, len(s.nodes))
	err := s.ask(ctx, s.cfg.IO(), s.alive(), func(ctx context.Context, n *node, svc drivers.Service) error {
		i, ok := drivers.As[drivers.Inspector](svc)
		if !ok {
			return errors.ErrUnsupported
		}
		server, usage, err := i.Inspect(ctx)
		if err != nil {
			return err
		}
		n.mu.Lock()
		n.server = server
		n.mu.Unlock()
		mu.Lock()
		usages[n.number-1] = &usage
		mu.Unlock()
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	answered := 0
	var all drivers.Usage
	for i, u := range usages {
		switch {
		case u != nil:
			answered++
			all = all.Plus(*u)
		case s.nodes[i].svc.Load() != nil:
			all = unknownUsage
		}
	}
	if answered < s.majority {
		return drivers.Server{}, drivers.Usage{}, fail("inspect", err)
	}
	return s.server(usages, answered), all, nil
}

// Sent implements drivers.Sender: to all nodes. It is unknown if that is unknown for one of them.
func (s *service) Sent() (all drivers.Usage) {
	for _, n := range s.nodes {
		svc := n.svc.Load()
		if svc == nil {
			continue
		}
		sender, ok := drivers.As[drivers.Sender](*svc)
		if !ok {
			return unknownUsage
		}
		all = all.Plus(sender.Sent())
	}
	return all
}

var unknownUsage = drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}

// alive returns the number of open nodes.
func (s *service) alive() (n int) {
	for i := range s.nodes {
		if s.nodes[i].svc.Load() != nil {
			n++
		}
	}
	return n
}

// server describes all nodes as one. Its run id changes with that of any node.
func (s *service) server(usages []*drivers.Usage, answered int) (all drivers.Server) {
	var runs []string
	first := true
	for i, n := range s.nodes {
		n.mu.Lock()
		one := n.server // when it was last seen
		n.mu.Unlock()
		runs = append(runs, one.RunID)
		if usages[i] == nil {
			continue
		}
		if first {
			all, first = one, false
		} else {
			all.Connected = max(all.Connected, one.Connected) // connections are limited per node
			all.MaxClients = min(all.MaxClients, one.MaxClients)
			all.Persistence = same(all.Persistence, one.Persistence)
			all.Version = same(all.Version, one.Version)
		}
	}
	all.Mode = fmt.Sprintf("redlock, %d of %d nodes", answered, len(s.nodes))
	if all.RunID = strings.Join(runs, "+"); strings.Trim(all.RunID, "+") == "" {
		all.RunID = ""
	}
	return all
}

func same(a, b string) string {
	if a == b {
		return a
	}
	return "mixed"
}
