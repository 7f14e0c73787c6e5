package exec

// The parent's side of the protocol.

import (
	"context"
	"io"
	"math"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
)

// Kind is the kind of an Event.
type Kind string

// The events of a worker.
const (
	Wrote   Kind = eventWrite   // it has written, and believed when it began that it held the lease
	Renewed Kind = eventRenewed // its watchdog has an answer to a renewal, or an error
	Lost    Kind = eventLost    // it believes no longer that it holds the lease, and writes no more
	Paused  Kind = eventGap     // it did not run for a while
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

// conn is the connection to a worker. It is safe for concurrent use.
type conn struct {
	*lines.Conn[*line]
	event func(Event) // called by the goroutine that reads
	crash func()      // ends the worker

	mu     sync.Mutex
	leases []named       // by number, from 1
	gaps   []gap         // since the last stop
	gapped chan struct{} // something was added to gaps
}

// named is what events do not repeat of a lease.
type named struct{ key, owner string }

// gap is the length and the end, by the worker's clock, of a gap between its ticks.
type gap struct{ length, end time.Duration }

// newConn returns the connection to a worker; explain explains the end of its output.
func newConn(in io.WriteCloser, event func(Event), explain func(reason error) error) *conn {
	c := &conn{event: event, gapped: make(chan struct{}, 1)}
	if event == nil {
		c.event = func(Event) {}
	}
	c.Conn = lines.New(in, lines.Options[*line]{
		Who: "worker", Decode: lines.Decode[line], Event: c.take, Explain: explain,
	})
	return c
}

// ask sends a request and waits for the answer. The line is valid if the error is the worker's.
func (c *conn) ask(ctx context.Context, r lines.Request) (line, error) {
	l, err := c.Ask(ctx, r)
	if l == nil {
		return line{}, err
	}
	return *l, err
}

// take takes a line that is no answer.
func (c *conn) take(l *line) error {
	e, err := c.eventOf(l)
	if err != nil {
		return err
	}
	c.event(e)
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
		if l.Lease < 1 || l.Lease > len(c.leases) {
			return e, lines.Refuse("lease", "%d was never tried", l.Lease)
		}
		of := c.leases[l.Lease-1]
		e.Key, e.Owner, e.Fence, e.Count, e.Sent = of.key, of.owner, l.Fence, l.Count, l.Begun
		switch {
		case e.Kind != Renewed:
		case l.Error != nil:
			e.Err = l.Error.Err("worker: " + eventRenewed)
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
