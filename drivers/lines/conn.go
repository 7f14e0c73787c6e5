package lines

// The asking side.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
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

const (
	// explainTimeout bounds how long requests that could not be written wait for the explanation.
	explainTimeout = 10 * time.Second

	// What a peer that does not answer, or does not read, may make this side keep.
	maxPending = 1 << 16
	maxQueued  = 4 * maxLine

	// safeWrite is what a pipe takes that is empty, whatever the system. So much may be unread without that a write waits.
	safeWrite = 4 << 10
)

// Options are what a Conn has to know of its peer.
type Options[L Line] struct {
	Who   string        // begins every error: "worker"
	Clock drivers.Clock // of this side; by default a new one
	Limit time.Duration // of each Ask, unless its request is Slow; 0: only its context

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
	pipe    bool      // w is one
	answers sync.Pool // of chan L
	done    chan struct{}
	end     sync.Once
	over    error // why there are no more answers; set before done is closed
	who     atomic.Pointer[string]

	batcher   // its mu guards the rest; added is the id of the last request
	pending   map[int64]pending[L]
	limiting  bool          // expire will be called
	unread    int           // bytes of pending requests, or more than that
	at        time.Duration // of the last line
	asked     time.Duration // when the first request since then was sent that is not Slow; 0: none was
	low, high time.Duration // see Bounds
}

// pending is a request that was not answered yet.
type pending[L Line] struct {
	sent   time.Duration
	slow   bool // has no limit
	length int
	answer chan L // closed when Limit is over
}

// New returns a connection that writes requests to w, in the background: nobody waits for longer than a context lasts.
func New[L Line](w io.WriteCloser, o Options[L]) *Conn[L] {
	if o.Clock == (drivers.Clock{}) {
		o.Clock = drivers.NewClock()
	}
	if o.Event == nil {
		o.Event = func(l L) error { return Refuse("event", "%q is unknown", l.header().Event) }
	}
	c := &Conn[L]{
		Options: o, w: w, done: make(chan struct{}),
		pending: map[int64]pending[L]{}, low: math.MinInt64, high: math.MaxInt64,
	}
	c.answers.New = func() any { return make(chan L, 1) }
	c.Rename(o.Who)
	_, c.pipe = w.(*os.File)
	c.init(w)
	c.failed = c.broken
	if o.Explain == nil {
		c.Explain = c.explain
	}
	return c
}

// Who returns what errors call the peer.
func (c *Conn[L]) Who() string { return *c.who.Load() }

// Rename has errors call the peer so from now on.
func (c *Conn[L]) Rename(who string) { c.who.Store(&who) }

// Ask sends a request, whose id and timeout it sets, and waits for the answer. There is an answer also if the error is
// the peer's. An answer that comes after ctx is done is dropped.
func (c *Conn[L]) Ask(ctx context.Context, r Request) (none L, err error) {
	h := r.header()
	if err := ctx.Err(); err != nil { // or an answer could come all the same
		return none, fmt.Errorf("%s: %s: not sent: %w", c.Who(), h.Op, err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		h.Timeout = max(time.Until(deadline), 1)
	} else if !h.Slow {
		h.Timeout = 0
	}
	answer := c.answers.Get().(chan L)
	id, write, more, err := c.send(r, answer)
	if err != nil {
		return none, err
	}
	if write {
		c.run(more)
	}
	var l L
	ok, why := false, context.DeadlineExceeded // of Limit
	select {
	case l, ok = <-answer:
	case <-ctx.Done():
		why = ctx.Err()
	case <-c.done: // whatever became of the request
	}
	if !ok {
		select {
		case l, ok = <-answer: // perhaps just before
		default:
		}
	}
	if !ok {
		return none, cmp.Or(c.Err(), c.unanswered(h.Op, id, why))
	}
	c.answers.Put(answer)
	if f := l.header().Error; f != nil {
		return l, f.Err(c.Who() + ": " + h.Op)
	}
	return l, nil
}

// expire drops the requests whose limit is over.
func (c *Conn[L]) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, first := c.Clock.Now(), time.Duration(math.MaxInt64)
	for id, p := range c.pending {
		if left := p.sent + c.Limit - now; left <= 0 && !p.slow {
			close(p.answer)
			c.pending[id] = pending[L]{p.sent, true, p.length, make(chan L, 1)} // an answer is for nobody now
		} else if !p.slow {
			first = min(first, left)
		}
	}
	if c.limiting = first < math.MaxInt64; c.limiting {
		time.AfterFunc(first, c.expire)
	}
}

// unanswered returns the error of a request that is given up.
func (c *Conn[L]) unanswered(op string, id int64, why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id > c.begun {
		return fmt.Errorf("%s: %s: it does not read: %w", c.Who(), op, why)
	}
	return fmt.Errorf("%s: %s: no answer: %w", c.Who(), op, why)
}

// send has a request written, and returns its id. If write is true, the caller writes it, with those of others if there may be more.
func (c *Conn[L]) send(r Request, answer chan L) (id int64, write, more bool, err error) {
	h := r.header()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch err := c.Err(); {
	case err != nil:
		return 0, false, false, err
	case len(c.pending) >= maxPending || len(c.buf) > maxQueued:
		return 0, false, false, fmt.Errorf("%s: %s: not sent: %d requests before it have no answer: %w",
			c.Who(), h.Op, len(c.pending), context.DeadlineExceeded)
	}
	h.ID = c.added + 1
	before := len(c.buf)
	if c.buf, err = encode(c.buf, r); err != nil {
		return 0, false, false, fmt.Errorf("%s: %s: %w", c.Who(), h.Op, err)
	}
	n := len(c.buf) - before + 1
	if n > maxLine {
		c.buf = c.buf[:before]
		return 0, false, false, fmt.Errorf("%s: %s: not sent: it is %d bytes long, and may have %d",
			c.Who(), h.Op, n-1, maxLine)
	}
	c.buf = append(c.buf, '\n')
	now := c.Clock.Now()
	c.pending[h.ID] = pending[L]{now, h.Slow || c.Limit == 0, n, answer}
	if c.asked == 0 && !h.Slow {
		c.asked = now
	}
	if c.Limit > 0 && !h.Slow && !c.limiting {
		c.limiting = true
		time.AfterFunc(c.Limit, c.expire)
	}
	c.unread += n
	switch {
	case !c.begin():
		return h.ID, false, false, nil
	case c.pipe && c.unread <= safeWrite:
		return h.ID, true, len(c.pending) > 1, nil
	}
	go c.run(true) // since the peer may not read
	return h.ID, false, false, nil
}

// broken ends a connection that a request could not be written to.
func (c *Conn[L]) broken(err error) {
	_ = c.w.Close() // half a request makes no sense, and the peer should end
	select {
	case <-c.done:
	case <-time.After(explainTimeout):
		c.Fail(&drivers.Error{Class: drivers.ClassClosed, Op: c.Who(), Err: err})
	}
}

// Silence returns for how long the peer has written nothing although it was asked, Slow requests left out.
func (c *Conn[L]) Silence() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == 0 {
		return 0
	}
	return c.Clock.Now() - c.asked
}

// Fail gives the peer up: every request has that error from now on, unless there is one already.
func (c *Conn[L]) Fail(why error) {
	c.end.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.over = why
		close(c.done)
	})
}

// Read reads the lines of the peer until they end or make no sense.
func (c *Conn[L]) Read(r io.Reader) {
	c.Fail(c.Explain(readLines(r, c.line)))
}

// explain is the default of Options.Explain.
func (c *Conn[L]) explain(reason error) error {
	e := &drivers.Error{Class: drivers.ClassClosed, Op: c.Who(), Err: errors.New("the connection has ended")}
	if _, bad := errors.AsType[*Malformed](reason); bad {
		e.Class, e.Err = drivers.ClassProtocol, reason
	} else if reason != nil {
		e.Err = fmt.Errorf("%w: %w", e.Err, reason)
	}
	return e
}

func (c *Conn[L]) line(text []byte) error {
	if err := c.deliver(text, c.Clock.Now()); err != nil {
		return &Malformed{string(text), err}
	}
	return nil
}

// deliver reads a line. That it crashes Decode or Event is an error, too.
func (c *Conn[L]) deliver(text []byte, read time.Duration) (err error) {
	defer drivers.Catch(&err)
	l, err := c.Decode(text)
	if err != nil {
		return err
	}
	l.header().Read = read
	return c.take(l)
}

// take delivers a line.
func (c *Conn[L]) take(l L) error {
	h := l.header()
	switch {
	case h.ID != 0 && h.Event != "":
		return Refuse("event", "is in an answer")
	case h.ID == 0 && h.Event == "" && h.Error != nil:
		return Refuse("", "the %s has not understood a request: %s", c.Who(), h.Error.Text)
	case h.ID == 0 && h.Event == "":
		return Refuse("id", "is missing, and so is event")
	case h.Error != nil && !slices.Contains(drivers.Classes, h.Error.Class):
		return Refuse("class", "%q is unknown; there are %v", h.Error.Class, drivers.Classes)
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
	c.asked = 0
	told := h.At != 0
	if told && h.At < c.at {
		return nil, Refuse("at_ns", "is %d, after %d", h.At, c.at)
	}
	if told {
		c.at = h.At
		c.high = min(c.high, h.Read-h.At)
	}
	if h.ID == 0 {
		return nil, nil
	}
	p, ok := c.pending[h.ID]
	if !ok {
		return nil, Refuse("id", "%d is not that of an open request", h.ID)
	}
	delete(c.pending, h.ID)
	c.unread -= p.length
	if h.Sent = p.sent; told {
		c.low = max(c.low, h.Sent-h.At)
	}
	if c.low > c.high+ClockError+h.Read/maxDrift {
		return nil, Refuse("at_ns", "has jumped against our clock: take it from a monotonic one")
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

// Done is closed when the peer's lines have ended, or soon after it takes no more requests.
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
