// Opening: a session and a way of waiting for each client, before the load begins, and their end.

package workloads

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// open makes the sessions and parks a goroutine for each at the start.
func (e *engine) open(ctx context.Context) error {
	e.report(PhaseOpen, 0, 0)
	var err error
	if e.rooms, err = newRooms(ctx, &e.run.Plan, e.run.Service); err != nil {
		return err
	}
	if err := e.openClients(ctx); err != nil {
		return err
	}
	if matrix.Batched(&e.run.Plan) {
		if err := e.openBatches(ctx); err != nil {
			e.forClients(func(id int) { e.clients[id].close() })
			closeRooms(e.rooms)
			return err
		}
		for _, w := range e.workers {
			e.finished.Go(w.loop)
		}
		return nil
	}
	for id := range e.clients {
		e.finished.Go(e.clients[id].loop)
	}
	return nil
}

// atOnce is how many clients are opened or closed at the same time where each logs in and out, which is mostly waiting.
// It is well below what servers take for an attack.
const atOnce = 16

// forClients calls do for all clients: one after the other, or where each has a session with the service
// (Traits.Session), which takes round trips or a process of the server's, several at once in any order.
func (e *engine) forClients(do func(id int)) {
	workers := 1
	if e.traits.Session {
		workers = min(atOnce, len(e.clients))
	}
	var next atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for id := int(next.Add(1)) - 1; id < len(e.clients); id = int(next.Add(1)) - 1 {
				do(id)
			}
		})
	}
	working.Wait()
}

// openClients opens all clients. After an error no further one is begun, and those that were opened are closed.
func (e *engine) openClients(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opened := make([]bool, len(e.clients))
	e.forClients(func(id int) {
		if ctx.Err() != nil {
			return
		}
		if err := e.clients[id].open(ctx, e, e.classOf(id), id); err != nil {
			cancel(fmt.Errorf("client %d: %w", id, err)) // the first one counts: those of others may follow from it
			return
		}
		opened[id] = true
	})
	if ctx.Err() == nil {
		return nil
	}
	e.forClients(func(id int) {
		if opened[id] {
			e.clients[id].close()
		}
	})
	closeRooms(e.rooms)
	return context.Cause(ctx)
}

// classOf returns the class of client number id.
func (e *engine) classOf(id int) *class {
	i := len(e.classes) - 1
	for id < e.classes[i].first {
		i--
	}
	return e.classes[i]
}

// newRooms opens one room for each process that the clients stand for: those of different rooms share nothing but the
// connections of the service.
func newRooms(ctx context.Context, p *spec.Plan, svc drivers.Service) ([]*wait.Room, error) {
	var rooms []*wait.Room
	for range max(p.Lockers, 1) {
		room, err := wait.NewRoom(ctx, p.Wait, svc, wait.Options{
			Poll: p.Poll, BackoffMin: p.BackoffMin, BackoffMax: p.BackoffMax, Seed: seed(p, streamDelays),
			Handover: p.Handover, Rooms: p.Lockers, Calls: true,
		})
		if err != nil {
			closeRooms(rooms)
			return nil, err
		}
		rooms = append(rooms, room)
	}
	return rooms, nil
}

// The streams of random numbers of a trial. Each purpose has its own, so that none repeats the draws of another.
const (
	streamDraws    = iota // keys, times and faults of the clients
	streamDelays          // their back-off
	streamArrivals        // of the first class; those of the other classes follow, so that they are not in phase
)

func seed(p *spec.Plan, stream int) uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 / φ: neighbouring streams get seeds far apart
	return p.Seed + uint64(stream)*golden
}

func closeRooms(rooms []*wait.Room) error { return drivers.CloseAll(slices.Values(rooms)) }

// open makes the client number id of an engine, which is of that class.
func (c *client) open(ctx context.Context, e *engine, cl *class, id int) (err error) {
	defer drivers.Catch(&err)
	c.e, c.class, c.id = e, cl, int32(id)
	c.rng.Seed(seed(&e.run.Plan, streamDraws), uint64(id+cl.before))
	c.lease.TTL = cl.TTL
	c.pause = minErrorPause
	if !matrix.Batched(&e.run.Plan) { // a worker does not sleep on it
		c.woken = make(chan struct{}, 1)
	}
	if e.oracle == nil {
		c.resume = never
	}
	if e.holds != nil {
		c.holds = e.holds.Of(id)
	}
	return c.connect(ctx)
}

// connect opens the client's session and its way of waiting.
func (c *client) connect(ctx context.Context) (err error) {
	e, id := c.e, int(c.id)
	if c.session, err = e.run.Service.Session(ctx, id); err != nil {
		c.session = nil
		return err
	}
	var waiting drivers.Session
	var w drivers.Waiter
	p := &e.run.Plan
	if err = matrix.CheckSession(p, spec.Class{Name: c.class.name, Load: c.class.Load}, e.traits, c.session); err == nil {
		c.newHold()
		waiting, w, err = e.rooms[id%len(e.rooms)].Client(c.session, id+c.class.before)
	}
	if err != nil {
		c.close()
		c.session = nil
		return err
	}
	c.session = waiting
	if w != nil && !c.class.tries(id) {
		c.waiter = stoppable{w, e.stopping}
	}
	return nil
}

func (c *client) close() {
	if c.session == nil { // it died, and had no successor
		return
	}
	if closer, ok := drivers.As[io.Closer](c.session); ok {
		closer.Close()
	}
}

// stoppable ends waits when the run ends, but leaves the requests of the same acquisition alone: a request that is
// cut short has an unknown outcome, and every run would close with a handful of them.
type stoppable struct {
	drivers.Waiter
	stopping context.Context
}

func (s stoppable) Wait(_ context.Context, l *drivers.Lease) error {
	return s.Waiter.Wait(s.stopping, l)
}
