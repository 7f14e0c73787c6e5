package exec

// The parent's side of the protocol.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
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
	in      io.WriteCloser
	clock   drivers.Clock
	event   func(Event)              // called by the goroutine that reads
	explain func(reason error) error // explains the end of the worker's output
	crash   func()                   // ends the worker

	writing sync.Mutex

	mu      sync.Mutex
	last    int64 // the id of the last request
	pending map[int64]pending
	leases  []named       // by number, from 1
	at      time.Duration // of the last line
	// The parent's clock minus the worker's is between the two, because a request is sent before the worker reads its
	// clock for the answer, and a line is read after that.
	low, high time.Duration
	gaps      []gap         // since the last stop
	gapped    chan struct{} // something was added to gaps
	over      error         // why there are no more answers; set before done is closed
	done      chan struct{}
}

// pending is a request that was not answered yet.
type pending struct {
	sent   time.Duration
	answer chan line
}

// named is what events do not repeat of a lease.
type named struct{ key, owner string }

// gap is the length and the end, by the worker's clock, of a gap between its ticks.
type gap struct{ length, end time.Duration }

func newConn(in io.WriteCloser, event func(Event), explain func(error) error) *conn {
	if event == nil {
		event = func(Event) {}
	}
	return &conn{
		in: in, clock: drivers.NewClock(), event: event, explain: explain, pending: map[int64]pending{},
		low: math.MinInt64, high: math.MaxInt64, gapped: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// ask sends a request and waits for the answer. The line is valid if the error is the worker's.
func (c *conn) ask(ctx context.Context, r request) (line, error) {
	h := r.head()
	if err := ctx.Err(); err != nil { // or an answer could come all the same
		return line{}, fmt.Errorf("worker: %s: not sent: %w", h.Op, err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		h.Timeout = max(time.Until(deadline), 1)
	}
	p := pending{answer: make(chan line, 1)}
	if err := c.send(ctx, r, p); err != nil {
		return line{}, err
	}
	var err error
	select {
	case l := <-p.answer:
		return l.checked(h.Op)
	case <-ctx.Done():
		err = fmt.Errorf("worker: %s: no answer: %w", h.Op, ctx.Err())
	case <-c.done:
		err = c.over
	}
	select {
	case l := <-p.answer: // just before that
		return l.checked(h.Op)
	default:
		return line{}, err
	}
}

// checked returns the answer to an op with its error.
func (l line) checked(op string) (line, error) {
	if l.Error != nil {
		return l, l.Error.err(op)
	}
	return l, nil
}

func (c *conn) send(ctx context.Context, r request, p pending) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	if c.over != nil {
		c.mu.Unlock()
		return c.over
	}
	c.last++
	r.head().ID = c.last
	p.sent = c.clock.Now()
	c.pending[c.last] = p
	c.mu.Unlock()

	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("worker: %s: %w", r.head().Op, err)
	}
	n, err := c.write(ctx, append(text, '\n'))
	switch {
	case err == nil:
		return nil
	case n == 0 && ctx.Err() != nil: // it reads no more, and its pipe is full
		return fmt.Errorf("worker: %s: it does not read: %w", r.head().Op, ctx.Err())
	}
	_ = c.in.Close() // half a request makes no sense, and the worker should end
	select {
	case <-c.done:
		return c.over
	case <-time.After(2 * outputTimeout): // twice, because that is also how long c.explain may take
		return &drivers.Error{Class: drivers.ClassClosed, Op: "worker: " + r.head().Op, Err: err}
	}
}

// write writes until ctx is done, if the pipe can do that.
func (c *conn) write(ctx context.Context, text []byte) (int, error) {
	limited, ok := c.in.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return c.in.Write(text)
	}
	_ = limited.SetWriteDeadline(time.Time{})
	passed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = limited.SetWriteDeadline(time.Unix(1, 0))
		close(passed)
	})
	n, err := c.in.Write(text)
	if !stop() {
		<-passed // or it would hit the next request
	}
	return n, err
}

// read reads until the worker's output ends or makes no sense.
func (c *conn) read(out io.Reader) {
	err := readLines(out, c.line)
	err = c.explain(err)
	c.mu.Lock()
	c.over = err
	c.mu.Unlock()
	close(c.done)
}

func (c *conn) line(text []byte) error {
	now := c.clock.Now()
	var l line
	var e *Event
	err := decode(text, &l)
	if err == nil {
		e, err = c.take(l, now)
	}
	if err != nil {
		return &malformedLine{string(text), err}
	}
	if e != nil {
		c.event(*e)
	}
	return nil
}

// malformedLine is a line that is not of the protocol.
type malformedLine struct {
	text string
	err  error
}

func (e *malformedLine) Error() string {
	const most = 200
	text := e.text
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%v, in the line %q", e.err, text)
}

// take takes a line that was read at that time: it delivers an answer, and returns an event.
func (c *conn) take(l line, now time.Duration) (*Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.At < c.at {
		return nil, &refusal{"at_ns", fmt.Sprintf("is %d, after %d", l.At, c.at)}
	}
	c.at = l.At
	c.high = min(c.high, now-l.At)
	switch {
	case l.ID != 0 && l.Event != "":
		return nil, &refusal{"event", "is in an answer"}
	case l.ID != 0:
		return nil, c.answered(l)
	case l.Event != "":
		return c.eventOf(l, now)
	case l.Error != nil:
		return nil, &refusal{"", "the worker has not understood a request: " + l.Error.Text}
	}
	return nil, &refusal{"id", "is missing, and so is event"}
}

func (c *conn) answered(l line) error {
	p, ok := c.pending[l.ID]
	if !ok {
		return &refusal{"id", fmt.Sprintf("%d is not that of an open request", l.ID)}
	}
	c.low = max(c.low, p.sent-l.At)
	if c.low > c.high+clockError {
		return &refusal{"at_ns", "is not of a clock that runs like the parent's"}
	}
	delete(c.pending, l.ID)
	p.answer <- l
	return nil
}

// clockError is by how much a worker's clock may be imprecise.
const clockError = 20 * time.Millisecond

func (c *conn) eventOf(l line, now time.Duration) (*Event, error) {
	e := &Event{Kind: Kind(l.Event), Read: c.clock.Time(now), At: l.At}
	if c.low != math.MinInt64 {
		e.After = c.clock.Time(l.At + min(c.low, c.high))
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
			return nil, &refusal{"lease", fmt.Sprintf("%d was never tried", l.Lease)}
		}
		of := c.leases[l.Lease-1]
		e.Key, e.Owner, e.Fence, e.Count, e.Sent = of.key, of.owner, l.Fence, l.Count, l.Sent
		switch {
		case e.Kind != Renewed:
		case l.Error != nil:
			e.Err = l.Error.err(eventRenewed)
		case l.Owned == nil:
			return nil, &refusal{"owned", "is missing"}
		default:
			e.Owned = *l.Owned
		}
	default:
		return nil, &refusal{"event", fmt.Sprintf("%q is unknown", l.Event)}
	}
	return e, nil
}
