package exec

// The parent's side of the protocol.

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
)

// Kind is the kind of an Event.
type Kind string

// The events of a worker.
const (
	Wrote  Kind = "write" // it has written, and believed when it began that it held the lease
	Lost   Kind = "lost"  // it believes no longer that it holds the lease, and writes no more
	Paused Kind = "gap"   // it did not run for a while
)

// refusedEvent is that of an adapter whose wait has heard its first refusal.
const refusedEvent = "refused"

// Event is what a worker tells unasked.
type Event struct {
	Kind Kind

	// The worker told it between these two times of the parent's clock. After is zero if that is not known, before the
	// first answer.
	After, Read time.Time

	Fence uint64        // Wrote: the lease's
	Count uint64        // Wrote: the number of the write, from 1
	Gap   time.Duration // Paused: the time between two ticks
}

// conn is the connection to a process. It is safe for concurrent use.
type conn struct {
	*lines.Conn[*line]
	event func(Event) // called by the goroutine that reads

	leases, sessions atomic.Int64 // the last numbers

	again bool // what has given up is called again; set before there are sessions

	mu       sync.Mutex
	refusals map[int]func() // of sessions that wait
	gaps     []gap          // since the last stop
	gapped   chan struct{}  // something was added to gaps
}

// gap is the length and the end, by the worker's clock, of a gap between its ticks.
type gap struct{ length, end time.Duration }

// newConn returns the connection to a process; explain explains the end of its output.
func newConn(who string, limit time.Duration, in io.WriteCloser, event func(Event), explain func(reason error) error) *conn {
	c := &conn{event: event, refusals: map[int]func(){}, gapped: make(chan struct{}, 1)}
	c.Conn = lines.New(in, lines.Options[*line]{Who: who, Limit: limit, Decode: decodeLine, Event: c.take, Explain: explain})
	return c
}

// ask sends a request and waits for the answer, which may say something even if there is an error.
func (c *conn) ask(ctx context.Context, r lines.Request) (*line, error) {
	l, err := c.Ask(ctx, r)
	if l == nil {
		l = &line{}
	}
	return l, err
}

// hear sets what the refusal of a waiting session calls; nil for none, and for what comes too late.
func (c *conn) hear(session int, refused func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusals[session] = refused; refused == nil {
		delete(c.refusals, session)
	}
}

// take takes a line that is no answer.
func (c *conn) take(l *line) error {
	if l.Event == refusedEvent {
		c.mu.Lock()
		defer c.mu.Unlock()
		if call := c.refusals[l.Session]; call != nil {
			call()
		}
		return nil
	}
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
	e := Event{Kind: Kind(l.Event), Read: c.Clock.Time(l.Read), Fence: l.Fence, Count: l.Count, Gap: l.Gap}
	if low, _ := c.Bounds(); low != math.MinInt64 {
		e.After = c.Clock.Time(l.At + low)
	}
	switch e.Kind {
	case Paused:
		c.mu.Lock()
		c.gaps = append(c.gaps, gap{l.Gap, l.At})
		c.mu.Unlock()
		select {
		case c.gapped <- struct{}{}:
		default:
		}
	case Wrote, Lost:
	default:
		return e, lines.Refuse("event", "%q is unknown", l.Event)
	}
	return e, nil
}
