// One node: its service, which may be opened later, and its errors.
package quorum

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// reopenEvery is the interval at which a node that did not answer is tried again.
const reopenEvery = time.Second

type node struct {
	s      *service
	number int // from 1, as in cfg.Addrs
	cfg    drivers.Config

	svc atomic.Pointer[drivers.Service] // nil while it is not open

	mu      sync.Mutex
	opening bool
	next    time.Time // not to be opened before
	known   drivers.Node
	server  drivers.Server // when it was last seen
}

var errNotOpen = &drivers.Error{Class: drivers.ClassConnect, Op: "node", Err: errors.New("it has not answered since the service was opened")}

// service returns the node's service, or nil. It is for requests: if the node is down, it is tried again.
func (n *node) service() drivers.Service {
	if svc := n.svc.Load(); svc != nil {
		return *svc
	}
	n.mu.Lock()
	due := !n.opening && !time.Now().Before(n.next)
	if due && n.s.begin() {
		n.opening = true
		go n.reopen()
	}
	n.mu.Unlock()
	return nil
}

// open opens the node's service.
func (n *node) open(ctx context.Context) {
	svc, err := n.s.driver.Node.Open(ctx, n.cfg)
	var server drivers.Server
	if err == nil {
		if i, ok := drivers.As[drivers.Inspector](svc); ok {
			server, _, _ = i.Inspect(ctx) // optional
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opening, n.next = false, time.Now().Add(reopenEvery)
	if err != nil {
		if n.known.Err == nil {
			n.known.Err = err
		}
		return
	}
	n.server = server
	n.svc.Store(&svc)
}

// reopen tries a node again that was down, and lets its listeners catch up.
func (n *node) reopen() {
	defer n.s.background.Done()
	ctx, cancel := context.WithTimeout(n.s.ctx, n.cfg.IO())
	defer cancel()
	n.open(ctx)
	if svc := n.svc.Load(); svc != nil {
		n.s.join(ctx, n, *svc)
	}
}

// failure counts a request without an answer.
func (n *node) failure(err error) {
	n.mu.Lock()
	n.known.Failed++
	if n.known.Err == nil {
		n.known.Err = err
	}
	n.mu.Unlock()
}

func (n *node) state() drivers.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known
}

func (n *node) runID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server.RunID
}
