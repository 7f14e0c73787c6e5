package exec

// A worker as a lock client.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// numbered is the Aux of a lease that was tried in a worker.
type numbered struct {
	conn   *conn
	number int
}

// number returns the number of a lease in this worker; a new one if it was never tried here.
func (c *conn) number(l *drivers.Lease) int {
	if n, ok := l.Aux.(*numbered); ok && n.conn == c {
		return n.number
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases = append(c.leases, named{l.Key, l.Owner})
	n := &numbered{c, len(c.leases)}
	l.Aux = n
	return n.number
}

// session is the lock client in a worker.
type session struct{ c *conn }

func (s session) Try(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	r := &tryRequest{lines.RequestHeader{Op: "try"}, s.c.number(l), l.Key, l.TTL}
	answer, err := s.c.ask(ctx, r)
	l.Owner = answer.Owner
	s.c.name(r.Lease, l)
	if err != nil {
		return false, err
	}
	if answer.Held == nil {
		return false, missing("try", "held")
	}
	if *answer.Held {
		l.Fence = answer.Fence
		s.c.setValid(l, answer)
	}
	return *answer.Held, nil
}

// name updates what events say of a lease.
func (c *conn) name(number int, l *drivers.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases[number-1] = named{l.Key, l.Owner}
}

// setValid sets when a lease ends. The worker has counted from when it read the request, after that was sent.
func (c *conn) setValid(l *drivers.Lease, answer line) {
	if answer.Valid != 0 {
		l.ValidUntil = c.Clock.Time(answer.Sent + answer.Valid)
	}
}

func (s session) Release(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	answer, err := s.c.ask(ctx, s.c.about("release", l))
	return decided("release", answer, err)
}

// about returns a request about a lease.
func (c *conn) about(op string, l *drivers.Lease) *leaseRequest {
	return &leaseRequest{tryRequest{lines.RequestHeader{Op: op}, c.number(l), l.Key, l.TTL}, l.Owner}
}

func decided(op string, answer line, err error) (bool, error) {
	switch {
	case err != nil:
		return false, err
	case answer.Owned == nil:
		return false, missing(op, "owned")
	}
	return *answer.Owned, nil
}

func missing(op, field string) error {
	return &drivers.Error{
		Class: drivers.ClassProtocol, Op: "worker: " + op, Err: fmt.Errorf("the answer has no field %s", field),
	}
}

// Crash implements drivers.Crasher.
func (s session) Crash() { s.c.crash() }

// renewing is a session of a lock that renews.
type renewing struct{ session }

func (s renewing) Renew(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	answer, err := s.c.ask(ctx, s.c.about("renew", l))
	owned, err = decided("renew", answer, err)
	if owned {
		s.c.setValid(l, answer)
	}
	return owned, err
}

// Watch starts a watchdog in the worker, which renews a held lease until its release, or until it is lost. Each renewal
// is an event.
func (w *Worker) Watch(ctx context.Context, l *drivers.Lease) error {
	_, err := w.conn.ask(ctx, &watchRequest{lines.RequestHeader{Op: "watch"}, w.conn.number(l)})
	return err
}

// Write makes the worker write, every so often, until it releases the lease or knows that it is lost. Each write is an
// event; see the package's doc for what the worker knows when it writes.
func (w *Worker) Write(ctx context.Context, l *drivers.Lease, every time.Duration) error {
	_, err := w.conn.ask(ctx, &writeRequest{watchRequest{lines.RequestHeader{Op: "write"}, w.conn.number(l)}, every})
	return err
}

// open opens the lock client of a worker.
func (c *conn) open(ctx context.Context, driver string, cfg drivers.Config) (drivers.Traits, error) {
	request, err := openRequestOf(driver, cfg)
	if err != nil {
		return drivers.Traits{}, err
	}
	answer, err := c.ask(ctx, request)
	switch {
	case err != nil:
		return drivers.Traits{}, err
	case answer.Traits == nil:
		return drivers.Traits{}, missing("open", "traits")
	}
	return *answer.Traits, nil
}

// client returns the session of a lock with those traits.
func (c *conn) client(t drivers.Traits) drivers.Session {
	if t.Renews {
		return renewing{session{c}}
	}
	return session{c}
}

// errEnded is in the error of every request to a worker whose output has ended.
var errEnded = errors.New("the worker has ended")
