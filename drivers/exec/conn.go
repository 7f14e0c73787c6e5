package exec

// The parent's side of the protocol.

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// Kind is the kind of an Event.
type Kind string

// The events of a worker.
const (
	Wrote   Kind = "write"   // it has written, and believed when it began that it held the lease
	Renewed Kind = "renewed" // its watchdog has an answer to a renewal, or an error
	Lost    Kind = "lost"    // it believes no longer that it holds the lease, and writes no more
	Paused  Kind = "gap"     // it did not run for a while
)

// Event is what a worker tells unasked.
type Event struct {
	Kind Kind

	// The worker told it between these two times of the parent's clock. After is zero if that is not known, before the
	// first answer.
	After, Read time.Time
	At          time.Duration // the same by the worker's clock, to compare with its other events

	Key, Owner string        // of the lease; not with Paused
	Fence      uint64        // Wrote: the lease's
	Count      uint64        // Wrote: the number of the write, from 1
	Sent       time.Duration // Renewed: when the renewal was sent, by the worker's clock
	Owned      bool          // Renewed: the answer, unless there is an Err
	Err        error         // Renewed
	Gap        time.Duration // Paused: the time between two ticks, the second at At
}

// conn is the connection to a process. It is safe for concurrent use.
type conn struct {
	*lines.Conn[*line]
	event func(Event) // called by the goroutine that reads

	leases, sessions atomic.Int64 // the last numbers

	mu     sync.Mutex
	names  map[int]named // of leases by number; nil if no events are wanted
	gaps   []gap         // since the last stop
	gapped chan struct{} // something was added to gaps
}

// named is what events do not repeat of a lease.
type named struct{ key, owner string }

// gap is the length and the end, by the worker's clock, of a gap between its ticks.
type gap struct{ length, end time.Duration }

// newConn returns the connection to a process; explain explains the end of its output.
func newConn(who string, limit time.Duration, in io.WriteCloser, event func(Event), explain func(reason error) error) *conn {
	c := &conn{event: event, gapped: make(chan struct{}, 1)}
	if event != nil {
		c.names = map[int]named{}
	}
	c.Conn = lines.New(in, lines.Options[*line]{Who: who, Limit: limit, Decode: decodeLine, Event: c.take, Explain: explain})
	return c
}

// name updates what events say of a lease.
func (c *conn) name(l *drivers.Lease) {
	if c.names == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[c.number(l)] = named{l.Key, l.Owner}
}

// ask sends a request and waits for the answer, which may say something even if there is an error.
func (c *conn) ask(ctx context.Context, r lines.Request) (*line, error) {
	l, err := c.Ask(ctx, r)
	if l == nil {
		l = &line{}
	}
	return l, err
}

// take takes a line that is no answer.
func (c *conn) take(l *line) error {
	e, err := c.eventOf(l)
	if err != nil {
		return err
	}
	if c.event != nil {
		c.event(e)
	}
	return nil
}

func (c *conn) eventOf(l *line) (Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := Event{Kind: Kind(l.Event), Read: c.Clock.Time(l.Read), At: l.At}
	if low, _ := c.Bounds(); low != math.MinInt64 {
		e.After = c.Clock.Time(l.At + low)
	}
	switch e.Kind {
	case Paused:
		e.Gap = l.Gap
		c.gaps = append(c.gaps, gap{l.Gap, l.At})
		select {
		case c.gapped <- struct{}{}:
		default:
		}
	case Wrote, Renewed, Lost:
		of, ok := c.names[l.Lease]
		if !ok {
			return e, lines.Refuse("lease", "%d was never tried", l.Lease)
		}
		e.Key, e.Owner, e.Fence, e.Count, e.Sent = of.key, of.owner, l.Fence, l.Count, l.Begun
		switch {
		case e.Kind != Renewed:
		case l.Error != nil:
			e.Err = l.Error.Err(c.Who + ": " + l.Event)
		case l.Owned == nil:
			return e, lines.Refuse("owned", "is missing")
		default:
			e.Owned = *l.Owned
		}
	default:
		return e, lines.Refuse("event", "%q is unknown", l.Event)
	}
	return e, nil
}
