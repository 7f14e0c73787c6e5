package lines

// The asking side.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// ClockError is by how much the clock of a peer may be imprecise; besides, it may run faster or slower by 1 in maxDrift.
const (
	ClockError = 20 * time.Millisecond
	maxDrift   = 1000
)

// writeGrace is how long a request may still be written for when its context is done: TLS that is stopped in a write writes
// nothing any more, and most requests that are given up then are written at once.
const writeGrace = time.Second

// explainTimeout bounds how long a request that could not be written waits for the explanation.
const explainTimeout = 10 * time.Second

// Options are what a Conn has to know of its peer.
type Options[L Line] struct {
	Who   string        // begins every error: "worker"
	Clock drivers.Clock // of this side; by default a new one

	// Decode reads a line. Decode[T] is one.
	Decode func(text []byte) (L, error)

	// Event takes the lines without an id, in order, by the goroutine that reads. An error ends the connection. By default
	// every event is one.
	Event func(L) error

	// Explain explains the end of the stream: the error that every request has from then on. The reason is nil if the peer
	// has ended it, a Malformed line, ErrHalfLine, or an error of the reader. By default the reason is explanation enough.
	Explain func(reason error) error
}

// Conn is the connection to a peer. It is safe for concurrent use.
type Conn[L Line] struct {
	Options[L]
	w       io.WriteCloser
	writing chan struct{} // holds an element while a request is written: a lock to wait for as long as a context lasts
	last    atomic.Int64  // the id of the last request
	done    chan struct{}
	over    error // why there are no more answers; set before done is closed

	mu        sync.Mutex
	pending   map[int64]pending[L]
	at        time.Duration // of the last line
	low, high time.Duration // see Bounds
}

// pending is a request that was not answered yet.
type pending[L Line] struct {
	sent   time.Duration
	answer chan L
}

// New returns a connection that writes requests to w. If w has a SetWriteDeadline, no request waits to be written for
// much longer than its context lasts.
func New[L Line](w io.WriteCloser, o Options[L]) *Conn[L] {
	if o.Clock == (drivers.Clock{}) {
		o.Clock = drivers.NewClock()
	}
	if o.Event == nil {
		o.Event = func(l L) error { return Refuse("event", "%q is unknown", l.header().Event) }
	}
	c := &Conn[L]{
		Options: o, w: w, writing: make(chan struct{}, 1), done: make(chan struct{}),
		pending: map[int64]pending[L]{}, low: math.MinInt64, high: math.MaxInt64,
	}
	if o.Explain == nil {
		c.Explain = c.explain
	}
	return c
}

// Ask sends a request, whose id and timeout it sets, and waits for the answer. There is an answer also if the error is
// the peer's. An answer that comes after ctx is done is dropped.
func (c *Conn[L]) Ask(ctx context.Context, r Request) (none L, err error) {
	h := r.header()
	if err := ctx.Err(); err != nil { // or an answer could come all the same
		return none, fmt.Errorf("%s: %s: not sent: %w", c.Who, h.Op, err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		h.Timeout = max(time.Until(deadline), 1)
	}
	answer := make(chan L, 1)
	if err := c.send(ctx, r, answer); err != nil {
		return none, err
	}
	select {
	case l := <-answer:
		answer <- l
	case <-ctx.Done():
		err = fmt.Errorf("%s: %s: no answer: %w", c.Who, h.Op, ctx.Err())
	case <-c.done:
		err = c.over
	}
	select {
	case l := <-answer: // perhaps just before the end
		if f := l.header().Error; f != nil {
			return l, f.Err(c.Who + ": " + h.Op)
		}
		return l, nil
	default:
		return none, err
	}
}

func (c *Conn[L]) send(ctx context.Context, r Request, answer chan L) error {
	h := r.header()
	h.ID = c.last.Add(1)
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.Who, h.Op, err)
	}
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: not sent: %w", c.Who, h.Op, ctx.Err())
	case <-c.done:
		return c.over
	}
	if err := c.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	c.pending[h.ID] = pending[L]{c.Clock.Now(), answer}
	c.mu.Unlock()
	n, err := c.write(ctx, append(text, '\n'))
	if err == nil {
		return nil
	}
	c.mu.Lock()
	delete(c.pending, h.ID)
	c.mu.Unlock()
	if n == 0 && ctx.Err() != nil { // it reads no more, and its pipe is full
		return fmt.Errorf("%s: %s: it does not read: %w", c.Who, h.Op, ctx.Err())
	}
	_ = c.w.Close() // half a request makes no sense, and the peer should end
	select {
	case <-c.done:
		return c.over
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: not sent: %w", c.Who, h.Op, ctx.Err())
	case <-time.After(explainTimeout):
		return &drivers.Error{Class: drivers.ClassClosed, Op: c.Who + ": " + h.Op, Err: err}
	}
}

// write writes until a moment after ctx is done, if the writer can do that.
func (c *Conn[L]) write(ctx context.Context, text []byte) (int, error) {
	limited, ok := c.w.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return c.w.Write(text)
	}
	passed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = limited.SetWriteDeadline(time.Now().Add(writeGrace))
		close(passed)
	})
	n, err := c.w.Write(text)
	if !stop() {
		<-passed // or it would hit the next request
		_ = limited.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// Read reads the lines of the peer until they end or make no sense.
func (c *Conn[L]) Read(r io.Reader) {
	c.over = c.Explain(readLines(r, c.line))
	close(c.done)
}

// explain is the default of Options.Explain.
func (c *Conn[L]) explain(reason error) error {
	e := &drivers.Error{Class: drivers.ClassClosed, Op: c.Who, Err: errors.New("the connection has ended")}
	if _, bad := errors.AsType[*Malformed](reason); bad {
		e.Class, e.Err = drivers.ClassProtocol, reason
	} else if reason != nil {
		e.Err = fmt.Errorf("%w: %w", e.Err, reason)
	}
	return e
}

func (c *Conn[L]) line(text []byte) error {
	read := c.Clock.Now()
	l, err := c.Decode(text)
	if err == nil {
		l.header().Read = read
		err = c.take(l)
	}
	if err != nil {
		return &Malformed{string(text), err}
	}
	return nil
}

// take delivers a line.
func (c *Conn[L]) take(l L) error {
	h := l.header()
	switch {
	case h.ID != 0 && h.Event != "":
		return Refuse("event", "is in an answer")
	case h.ID == 0 && h.Event == "" && h.Error != nil:
		return Refuse("", "the %s has not understood a request: %s", c.Who, h.Error.Text)
	case h.ID == 0 && h.Event == "":
		return Refuse("id", "is missing, and so is event")
	}
	answer, err := c.place(h)
	if err != nil {
		return err
	}
	if answer == nil {
		return c.Event(l)
	}
	answer <- l
	return nil
}

// place places a line in time, and returns who waits for it: nobody if it is an event.
func (c *Conn[L]) place(h *LineHeader) (chan L, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.At < c.at {
		return nil, Refuse("at_ns", "is %d, after %d", h.At, c.at)
	}
	c.at = h.At
	c.high = min(c.high, h.Read-h.At)
	if h.ID == 0 {
		return nil, nil
	}
	p, ok := c.pending[h.ID]
	if !ok {
		return nil, Refuse("id", "%d is not that of an open request", h.ID)
	}
	delete(c.pending, h.ID)
	h.Sent = p.sent
	c.low = max(c.low, h.Sent-h.At)
	if c.low > c.high+ClockError+h.Read/maxDrift {
		return nil, Refuse("at_ns", "is not of a clock that runs like ours")
	}
	return p.answer, nil
}

// Bounds returns between which values this side's clock minus the peer's is, as far as two clocks run alike: a request is
// sent before the peer reads its clock for the answer, and a line is read after that. Before the first answer low is
// math.MinInt64, and before the first line high is math.MaxInt64.
func (c *Conn[L]) Bounds() (low, high time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(c.low, c.high), c.high
}

// Done is closed when the peer's lines have ended.
func (c *Conn[L]) Done() <-chan struct{} { return c.done }

// Err returns why the peer's lines have ended; nil before that.
func (c *Conn[L]) Err() error {
	select {
	case <-c.done:
		return c.over
	default:
		return nil
	}
}

// Close ends the requests. The peer should end its lines then.
func (c *Conn[L]) Close() error { return c.w.Close() }
