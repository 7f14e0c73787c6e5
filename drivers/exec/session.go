package exec

// The parent's lock clients.

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// numbered is the Aux of a lease that was tried in a process.
type numbered struct {
	conn   *conn
	number int
}

// number returns the number of a lease in this process; a new one if it was never tried here.
func (c *conn) number(l *drivers.Lease) int {
	if n, ok := l.Aux.(*numbered); ok && n.conn == c {
		return n.number
	}
	n := &numbered{c, int(c.leases.Add(1))}
	l.Aux = n
	return n.number
}

// setValid sets when a lease ends. The peer has counted from when it read the request, after that was sent.
func (c *conn) setValid(l *drivers.Lease, answer *line) {
	if answer.Valid != 0 {
		l.ValidUntil = c.Clock.Time(answer.Sent + answer.Valid)
	}
}

// open opens the service of a process.
func (c *conn) open(ctx context.Context, driver string, cfg drivers.Config) (claims, error) {
	request, err := openRequestOf(driver, cfg)
	if err != nil {
		return claims{}, err
	}
	answer, err := c.ask(ctx, request)
	switch {
	case err != nil:
		return claims{}, err
	case answer.Traits == nil:
		return claims{}, c.missing("open", "traits")
	}
	return *answer.Traits, nil
}

func (c *conn) missing(op, field string) error {
	return &drivers.Error{
		Class: drivers.ClassProtocol, Op: c.Who() + ": " + op, Err: fmt.Errorf("the answer has no field %s", field),
	}
}

// session opens another session, with what it can do.
func (c *conn) session(ctx context.Context, can claims) (drivers.Session, error) {
	s := &session{c: c, number: int(c.sessions.Add(1)), takes: can.TakesOwner, tally: drivers.Tally{Again: c.again}}
	if _, err := c.ask(ctx, &request{RequestHeader: lines.RequestHeader{Op: "session", Slow: true}, Session: s.number}); err != nil {
		return nil, err
	}
	var all drivers.Session = s
	if can.Renews {
		all = renewer{layer{all}, s}
	}
	if can.TakesOwner {
		all = adopter{layer{all}, s}
	}
	if can.Crashes {
		all = crasher{layer{all}, s}
	}
	if can.Waits {
		all = waiter{layer{all}, s}
	}
	return all, nil
}

// session is a lock client in another process.
type session struct {
	c      *conn
	number int
	takes  bool // owners
	owners drivers.Owners
	next   request // that is sent

	// Of Wait:
	tally      drivers.Tally
	won        *drivers.Lease // what a wait has acquired, and no Try has confirmed
	registered *drivers.Lease // of a wait that may have left something behind; see doubtful
	doubtful   bool           // the wait has ended with an error, which leaves its effect open
}

// layer is a session that can do something more.
type layer struct{ drivers.Session }

func (l layer) Unwrap() drivers.Session { return l.Session }

type (
	renewer struct {
		layer
		s *session
	}
	adopter renewer
	crasher renewer
	waiter  renewer
)

// ask sends a request about a lease.
func (s *session) ask(ctx context.Context, op string, l *drivers.Lease) (*line, error) {
	s.next = s.request(op, l)
	return s.c.ask(ctx, &s.next)
}

func (s *session) request(op string, l *drivers.Lease) request {
	return request{lines.RequestHeader{Op: op}, s.number, s.c.number(l), l.Key, l.Owner, l.TTL, 0}
}

// Try implements drivers.Session.
func (s *session) Try(ctx context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	if err := s.withdraw(ctx); err != nil {
		return false, err
	}
	if won := s.won; won != nil && won.Key == l.Key {
		s.won = nil
		l.Owner, l.Fence, l.ValidUntil, l.Aux = won.Owner, won.Fence, won.ValidUntil, won.Aux
		return true, nil
	}
	if s.takes {
		l.Owner = s.owners.Next()
	}
	answer, err := s.ask(ctx, "try", l)
	return s.granted("try", l, answer, err)
}

// granted takes the answer to a try or a wait.
func (s *session) granted(op string, l *drivers.Lease, answer *line, err error) (held bool, _ error) {
	if answer.Owner != "" {
		l.Owner = answer.Owner
	}
	switch {
	case err != nil:
		return false, err
	case answer.Held == nil:
		return false, s.c.missing(op, "held")
	case *answer.Held:
		l.Fence = answer.Fence
		s.c.setValid(l, answer)
	}
	return *answer.Held, nil
}

// Release implements drivers.Session.
func (s *session) Release(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	answer, err := s.ask(ctx, "release", l)
	return s.decided("release", answer, err)
}

func (s *session) decided(op string, answer *line, err error) (bool, error) {
	switch {
	case err != nil:
		return false, err
	case answer.Owned == nil:
		return false, s.c.missing(op, "owned")
	}
	return *answer.Owned, nil
}

// Close implements io.Closer.
func (s *session) Close() error {
	_, err := s.c.ask(context.Background(), &request{RequestHeader: lines.RequestHeader{Op: "close"}, Session: s.number})
	return err
}

// Renew implements drivers.Renewer.
func (r renewer) Renew(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
	answer, err := r.s.ask(ctx, "renew", l)
	owned, err = r.s.decided("renew", answer, err)
	if owned {
		r.s.c.setValid(l, answer)
	}
	return owned, err
}

// Adopt implements drivers.Adopter.
func (a adopter) Adopt(owner string) { a.s.owners.Adopt(owner) }

// Crash implements drivers.Crasher.
func (c crasher) Crash() {
	_, _ = c.s.c.ask(context.Background(), &request{RequestHeader: lines.RequestHeader{Op: "crash"}, Session: c.s.number})
}

// Tallied implements drivers.Caller.
func (w waiter) Tallied() *drivers.Tally { return &w.s.tally }

// Wait implements drivers.Waiter: a request stands for the whole acquisition.
func (w waiter) Wait(ctx context.Context, l *drivers.Lease) error {
	return w.s.tally.Calls(func() error { return w.s.call(ctx, l) })
}

func (s *session) call(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.withdraw(ctx); err != nil || s.won != nil {
		return err
	}
	own := &drivers.Lease{Key: l.Key, TTL: l.TTL, Aux: l.Aux}
	if s.takes {
		own.Owner = s.owners.Next()
	}
	r, cancel := s.request("wait", own), s.request("cancel", own)
	r.Slow, l.Aux = true, own.Aux
	limited, end := ctx, func() {}
	if !l.Deadline.IsZero() {
		if r.Timeout = time.Until(l.Deadline); r.Timeout <= 0 {
			return nil
		}
		limited, end = context.WithDeadline(ctx, l.Deadline)
	}
	defer end()
	answered, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	cancelled := make(chan struct{})
	inTime := context.AfterFunc(limited, func() {
		defer close(cancelled)
		time.AfterFunc(cmp.Or(s.c.Limit, answerTimeout), giveUp)
		_, _ = s.c.ask(answered, &cancel)
	})
	s.c.hear(s.number, s.tally.Refused)
	answer, err := s.c.ask(answered, &r)
	s.c.hear(s.number, nil)
	held, err := s.granted("wait", own, answer, err)
	s.registered, s.doubtful = own, err != nil && !drivers.NoEffect(err)
	if held {
		s.won, s.registered = own, nil
		s.setBegan(own, answer)
	}
	over, gaveUp := !inTime(), answer.GaveUp != nil && *answer.GaveUp
	switch {
	case err != nil || over && answer.Tries == 0:
		s.tally.Asked(false)
	case answer.Tries > 0 && s.tally.Sent >= 0 && (held || gaveUp || over): // or a try follows
		s.tally.Sent += answer.Tries
	default:
		s.tally.Sent = -1
	}
	switch {
	case over:
		<-cancelled // or it would cancel the next wait
		return ctx.Err()
	case err == nil && !held && gaveUp:
		return drivers.ErrGaveUp
	}
	return err
}

// setBegan sets when a lease ends that a wait has won. An answer that does not say so was written when the lease began,
// or later.
func (s *session) setBegan(l *drivers.Lease, answer *line) {
	if answer.Valid != 0 || l.TTL == 0 {
		return
	}
	began := answer.Read
	if answer.At != 0 {
		_, high := s.c.Bounds()
		began = answer.At + high
	}
	l.ValidUntil = s.c.Clock.Time(began + l.TTL)
}

// withdraw releases a doubtful wait: perhaps it is in line still, or holds the key. It comes before the next attempt with the
// lease, which the adapter could not tell from the wait.
func (s *session) withdraw(ctx context.Context) error {
	if !s.doubtful {
		return nil
	}
	_, err := s.Release(ctx, s.registered)
	if err == nil {
		s.registered, s.doubtful = nil, false
	}
	return err
}

// Leave implements drivers.Waiter.
func (w waiter) Leave(ctx context.Context, _ *drivers.Lease) (err error) {
	s := w.s
	if err := s.withdraw(ctx); err != nil {
		return err
	}
	if won := s.won; won != nil {
		s.won = nil
		_, err = s.Release(ctx, won)
	}
	if left := s.registered; left != nil {
		s.registered = nil
		_, err = s.ask(ctx, "cancel", left)
	}
	return err
}

// Watch starts a watchdog in the worker, which renews a held lease until its release, or until it is lost. Each renewal
// is an event.
func (w *Worker) Watch(ctx context.Context, l *drivers.Lease) error { return w.do(ctx, "watch", l, 0) }

// Write makes the worker write, every so often, until it releases the lease or knows that it is lost. Each write is an
// event; see the package's doc for what the worker knows when it writes.
func (w *Worker) Write(ctx context.Context, l *drivers.Lease, every time.Duration) error {
	return w.do(ctx, "write", l, every)
}

func (w *Worker) do(ctx context.Context, op string, l *drivers.Lease, every time.Duration) error {
	_, err := w.conn.ask(ctx, &request{RequestHeader: lines.RequestHeader{Op: op}, Session: 1, Lease: w.conn.number(l), Every: every})
	return err
}
