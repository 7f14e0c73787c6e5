// The topology replicated: an acquisition counts when enough replicas have acknowledged it. Redisson uses this instead
// of its deprecated RedLock: any design, followed by WAIT on the same connection.
//
// An acknowledged lock survives the promotion of a replica that has acknowledged it, and of no other.
package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Waiter is a Conn that can follow a command with WAIT.
type Waiter interface {
	// DoWait sends a command like Do, and then the command wait, a WAIT, on the same connection in the same round trip.
	// reply and err are those of the first; acked is the answer to WAIT, and waitErr its error.
	DoWait(ctx context.Context, args []string, key int, wait []string) (reply Reply, err error, acked int64, waitErr error)
}

// replicate makes every session of the service wait for replicas. It rejects a server with too few of them, because
// each acquisition would fail.
func (s *service) replicate(ctx context.Context) error {
	waiter, ok := s.conn.(Waiter)
	if !ok {
		return errors.New("this client library cannot wait for replicas")
	}
	if s.design.Traits.Fair {
		return errors.New("the releaser hands this lock over without waiting for replicas: choose another lock")
	}
	acks, limit := max(s.cfg.Acks, 1), s.cfg.NodeTimeout
	if limit <= 0 {
		limit = drivers.DefaultNodeTimeout
	}
	if limit >= s.cfg.IO() {
		return fmt.Errorf("an acknowledgement may take %v and a reply %v: the node time-out must be below the I/O time-out", limit, s.cfg.IO())
	}
	fields, err := askInfo(ctx, s.conn)
	if err != nil {
		return err
	}
	switch n := fields.number("connected_slaves", -1); {
	case s.cfg.Embedded:
		return errors.New("the embedded server has no replicas: give one that has, or another topology")
	case n < int64(acks): // or unknown
		return fmt.Errorf("replicas that have to acknowledge: %d, and the server has %d: give fewer, or a server that has them",
			acks, max(n, 0))
	}
	if err := s.catchUp(ctx, waiter, acks); err != nil {
		return err
	}
	limit = max(limit, time.Millisecond) // 0 would mean without end
	wait := []string{"WAIT", strconv.Itoa(acks), strconv.FormatInt(limit.Milliseconds(), 10)}
	inner := s.design.session
	s.design.session = func(one session) drivers.Session {
		conn := &waitingConn{Conn: one.conn, waiter: waiter, acks: acks, wait: wait}
		one.conn = conn
		r := &replicatedSession{inner(one), conn}
		if p, ok := r.Session.(drivers.Passer); ok {
			return replicatedPasser{r, p}
		}
		return r
	}
	return nil
}

const (
	// catchUpLimit is how long replicas may take to catch up before the service is refused: a first copy of a small
	// private server takes milliseconds, and seconds on a busy machine.
	catchUpLimit = 20 * time.Second
	catchUpEach  = 100 * time.Millisecond // for each WAIT
)

// catchUp returns when enough replicas have acknowledged a write, so that no load begins while they still connect or
// read their first copy. That the server counts them as connected is not enough.
func (s *service) catchUp(ctx context.Context, waiter Waiter, acks int) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	end, _ := ctx.Deadline()
	write := []string{"SET", s.cfg.Prefix + "sync", "", "PX", "1000"}
	wait := []string{"WAIT", strconv.Itoa(acks), strconv.FormatInt(catchUpEach.Milliseconds(), 10)}
	for {
		_, err, acked, waitErr := waiter.DoWait(ctx, write, 1, wait)
		switch {
		case err != nil:
			return err
		case waitErr != nil:
			return fmt.Errorf("WAIT: %w", waitErr)
		case acked >= int64(acks):
			return nil
		case time.Until(end) < 2*catchUpEach:
			return &drivers.Error{Class: drivers.ClassUnacked, Op: "redis: open",
				Err: fmt.Errorf("replicas that have to acknowledge: %d, and those that have caught up: %d", acks, acked)}
		}
	}
}

// waitingConn is the Conn of one session. While it is armed, WAIT follows each command. A refused attempt has written
// nothing, but still waits for what others have written on that connection.
type waitingConn struct {
	Conn
	waiter Waiter
	acks   int
	wait   []string // the command

	armed bool
	acked int64 // the answer to the last WAIT,
	err   error // or its error
}

// arm makes WAIT follow the next command. If nothing is sent, there is nothing to acknowledge.
func (c *waitingConn) arm() { c.armed, c.acked, c.err = true, int64(c.acks), nil }

// Do implements Conn.
func (c *waitingConn) Do(ctx context.Context, args []string, key int) (reply Reply, err error) {
	if !c.armed {
		return c.Conn.Do(ctx, args, key)
	}
	reply, err, c.acked, c.err = c.waiter.DoWait(ctx, args, key, c.wait)
	return reply, err
}

type replicatedSession struct {
	drivers.Session
	conn *waitingConn
}

// Unwrap returns the design's session; what its other capabilities write is not waited for.
func (s *replicatedSession) Unwrap() drivers.Session { return s.Session }

// Try implements drivers.Session. A lock that too few replicas acknowledge is released; the error is of class unacked.
func (s *replicatedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.conn.arm()
	held, err := s.Session.Try(ctx, l)
	s.conn.armed = false
	return s.confirm(ctx, held, err, opTry, l)
}

// replicatedPasser is a replicated session that can pass a lock on, with the same guarantee.
type replicatedPasser struct {
	*replicatedSession
	passer drivers.Passer
}

// Pass implements drivers.Passer.
func (s replicatedPasser) Pass(ctx context.Context, from, to *drivers.Lease) (bool, error) {
	s.conn.arm()
	owned, err := s.passer.Pass(ctx, from, to)
	s.conn.armed = false
	return s.confirm(ctx, owned, err, opTry, to)
}

func (s *replicatedSession) confirm(ctx context.Context, held bool, err error, o op, l *drivers.Lease) (bool, error) {
	if !held || err != nil || s.conn.err == nil && s.conn.acked >= int64(s.conn.acks) {
		return held, err
	}
	return false, s.giveBack(ctx, o, l)
}

// giveBack releases what was not acknowledged. If that fails, the outcome is unknown, as with any such error.
func (s *replicatedSession) giveBack(ctx context.Context, o op, l *drivers.Lease) error {
	why := s.conn.err
	if why == nil {
		why = fmt.Errorf("%d of %d replicas have acknowledged within %sms; if they are only slow, raise the node time-out (-node-timeout)",
			s.conn.acked, s.conn.acks, s.conn.wait[2])
	}
	class := drivers.ClassUnacked
	if _, err := s.Session.Release(ctx, l); err != nil {
		if class = classOf(err); drivers.NoEffect(err) {
			class = drivers.ClassOther
		}
		why = fmt.Errorf("%w; and giving it back: %w", why, err)
	}
	return &drivers.Error{Class: class, Op: "redis: " + o.String(), Err: why}
}
