// Package breakable starts the servers of lockbench prove, which breaks them.
package breakable

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// Servers starts servers for hazards, which reach them over a port of this machine. It is a hazards.Servers, and safe
// for concurrent use.
type Servers struct {
	shared sync.Map // of kind: what starts one, once
}

// kind is what to start.
type kind struct {
	service string
	kind    hazards.Kind
}

type starter = func() (hazards.Server, error)

func (b *Servers) Shared(ctx context.Context, service string, k hazards.Kind) (hazards.Server, error) {
	own := sync.OnceValues(func() (hazards.Server, error) { return b.Own(ctx, service, k) })
	start, _ := b.shared.LoadOrStore(kind{service, k}, own)
	return start.(starter)()
}

// Own starts servers that keep on disk what they keep by default.
func (b *Servers) Own(ctx context.Context, service string, k hazards.Kind) (hazards.Server, error) {
	o := servers.Options{TCP: true}
	switch (kind{service, k}) {
	case kind{"redis", hazards.Single}, kind{"redis", hazards.HasClock}:
		o.Clock = k == hazards.HasClock
		return server(servers.StartRedis(ctx, o))
	case kind{"redis", hazards.IsQuorum}:
		return server(startQuorum(ctx, o))
	case kind{"redis", hazards.IsPair}:
		return server(startReplicated(ctx, 1, o))
	case kind{"redis", hazards.IsReplicated}:
		return server(startReplicated(ctx, 2, o))
	case kind{"redis", hazards.IsSentinel}:
		return server(startSentinel(ctx, o))
	case kind{"postgres", hazards.HasPooler}:
		return server(startPooled(ctx, o))
	}
	if k != hazards.Single {
		return nil, fmt.Errorf("lockbench starts a server of %s by itself only", service)
	}
	running, err := servers.Start(ctx, service, o)
	return server(single{running, service}, err)
}

// server returns a server that has been started, and no nil of its type if there is an error.
func server(s hazards.Server, err error) (hazards.Server, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close stops the shared servers.
func (b *Servers) Close() (err error) {
	for _, start := range b.shared.Range {
		if s, failed := start.(starter)(); failed == nil {
			err = errors.Join(err, s.Close())
		}
	}
	b.shared.Clear()
	return err
}

// single is a server by itself. That of a service that servers.Register has described may have no nodes: then no more
// is known than how to start and stop it.
type single struct {
	*servers.Running
	service string
}

func (s single) URL() string { return s.URLs[0] }

func (s single) PID() int {
	if s.PIDs != nil {
		for _, pid := range s.PIDs() {
			return pid
		}
	}
	return 0
}

func (s single) Kill() error { return s.node((*servers.Server).Kill) }

func (s single) Restart(ctx context.Context) error {
	return s.node(func(node *servers.Server) error { return node.Restart(ctx) })
}

func (s single) node(do func(*servers.Server) error) error {
	if len(s.Nodes) == 0 {
		return fmt.Errorf("lockbench does not know how to kill and restart a server of %s", s.service)
	}
	return do(s.Nodes[0])
}

func (s single) Close() error { return s.Running.Close() }

// quorum is five servers.
type quorum struct {
	*servers.Redis // the first one
	all            *servers.Group[*servers.Redis]
}

func startQuorum(ctx context.Context, o servers.Options) (*quorum, error) {
	all, err := servers.StartNodes(ctx, 5, o)
	if err != nil {
		return nil, err
	}
	return &quorum{all.Nodes[0], all}, nil
}

func (q *quorum) Nodes() (nodes []hazards.Server) {
	for _, node := range q.all.Nodes {
		nodes = append(nodes, node)
	}
	return nodes
}

// Close stops all of them.
func (q *quorum) Close() error { return q.all.Close() }
