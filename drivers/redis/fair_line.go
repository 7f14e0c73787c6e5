// Standing in line in the design fair, and the inbox of a process, which tells which of its waiters has become the owner of a lock.
package redis

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

var (
	fairWaitScript  = loadScript("fair_line", "fair_wait")
	fairLeaveScript = loadScript("fair_line", "fair_leave", "fair_release")
)

// A place is kept for this time, or until the waiter's deadline if that comes first, and renewed after half of it; so a
// line drops a dead process after all of it. A client that polls may have gone away without leaving, so its place is
// kept for less; a client that polls less often loses its turn.
const (
	placeTime       = 10 * time.Second
	polledPlaceTime = 2 * time.Second
)

// serverTick is the error of a time that the server reports: it counts whole milliseconds.
const serverTick = time.Millisecond

// place is a session's place in line. A session has one place at a time.
type place struct {
	key   string
	owner string // the token that the lock will carry; empty: not in line
	ttl   string

	sent  time.Time // when the last request was sent…
	at    int64     // …that was answered at this server time, in milliseconds; 0: none was
	kept  int64     // until when the place is kept, in milliseconds of server time
	again time.Time // when to renew it
	rest  time.Time // when the holder's lease ends, as far as known

	valid time.Time // if the lock was granted in reply to a request: until when
}

// stand takes a place in line, or checks the place that the session has. It reports whether the lock is granted, which
// the session remembers in its place until granted is called.
func (s *fairSession) stand(ctx context.Context, o op, l *drivers.Lease) (bool, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return false, o.fail(err)
	}
	p := &s.place
	if p.owner == "" || p.at == 0 { // after an error it is unknown whether there is a place: take a new one
		s.forget()
		p.key, p.owner, p.ttl = l.Key, s.token(), ttl
		s.svc.inbox.enter(s)
	}
	l.Owner = p.owner
	keep, kept := "0", ""
	sent := time.Now()
	life := s.placeTime(l)
	if !sent.Before(p.again) { // at first, too
		keep = strconv.FormatInt(life.Milliseconds()+1, 10)
	}
	if p.at != 0 {
		kept = strconv.FormatInt(p.kept, 10)
	}
	args := s.call2(fairWaitScript, p.key, s.line.of(s.svc.cfg.Prefix, lineKind, p.key))
	reply, err := s.run(ctx, fairWaitScript, append(args, p.owner, p.ttl, s.svc.inbox.channel, keep, kept))
	if err != nil {
		p.at = 0
		return false, o.fail(err)
	}
	granted, rest, at, err := threeInts(reply)
	if err != nil {
		p.at = 0
		return false, o.fail(err)
	}
	p.sent, p.at = sent, at
	p.rest = sent.Add(placeTime) // if the owner's lease never ends, which this driver does not do
	if rest >= 0 {
		p.rest = time.Now().Add(time.Duration(rest)*time.Millisecond + serverTick)
	}
	if granted == 1 {
		p.valid = sent.Add(time.Duration(rest)*time.Millisecond - serverTick)
		return true, nil
	}
	if keep != "0" {
		p.kept, p.again = at+life.Milliseconds()+1, sent.Add(life/2)
	}
	return false, nil
}

func (s *fairSession) placeTime(l *drivers.Lease) time.Duration {
	life := placeTime
	if s.svc.cfg.Polls {
		life = polledPlaceTime
	}
	if !l.Deadline.IsZero() {
		life = max(0, min(life, time.Until(l.Deadline)))
	}
	return life
}

// granted takes the lock that the place has become, if it has and it is still valid. It knows until when without asking
// the server again: the grant came, by the server's clock, some time after its last reply, which in turn is not earlier
// than the request for it.
func (s *fairSession) granted(l *drivers.Lease) bool {
	p := &s.place
	valid := p.valid
	if heard := s.svc.inbox.heardBy(s); valid.IsZero() && heard != 0 && p.at != 0 {
		valid = p.sent.Add(time.Duration(heard-p.at)*time.Millisecond - serverTick + l.TTL)
	}
	if valid.IsZero() {
		return false
	}
	l.Owner, l.ValidUntil = p.owner, valid
	s.forget()
	return time.Now().Before(valid)
}

// forget leaves the line without telling the server.
func (s *fairSession) forget() {
	if s.place.owner != "" {
		s.svc.inbox.leave(s)
		s.place = place{}
	}
	select {
	case <-s.signal:
	default:
	}
}

// Wait implements drivers.Waiter. The first Wait of an acquisition takes a place in line. That is one step with a check
// of the lock, so it may sleep at once. The end of ctx does not cut that request off: the library may send the one of Leave on
// another connection, ahead of it, and the place would become a lock that nobody knows of.
func (s *fairSession) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil || s.left(l) <= 0 {
		return err
	}
	if s.place.owner == "" || s.place.key != l.Key {
		s.forget()
		if held, err := s.stand(context.WithoutCancel(ctx), opWait, l); held || err != nil {
			return err
		}
	}
	pause := min(s.left(l), time.Until(s.place.again), time.Until(s.place.rest))
	if pause <= 0 {
		return nil
	}
	if s.timer == nil {
		s.timer = time.NewTimer(pause)
	} else {
		s.timer.Reset(pause)
	}
	defer s.timer.Stop()
	select {
	case <-s.signal:
	case <-s.timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// left returns the time until the deadline.
func (s *fairSession) left(l *drivers.Lease) time.Duration {
	if l.Deadline.IsZero() {
		return placeTime
	}
	return time.Until(l.Deadline)
}

// Leave implements drivers.Waiter: it gives up the place, and the lock if it has come meanwhile. Clients that poll
// leave too: the server cannot tell that the client of a place has gone and will not use the lock.
func (s *fairSession) Leave(ctx context.Context, _ *drivers.Lease) error {
	if s.place.owner == "" {
		return nil
	}
	_, err := opLeave.count(s.leave(ctx))
	return err
}

func (s *fairSession) leave(ctx context.Context) (Reply, error) {
	p, exact := s.place, ""
	s.forget()
	if p.at != 0 {
		exact = strconv.FormatInt(p.kept, 10) + " " + p.ttl + " " + p.owner + " " + s.svc.inbox.channel
	}
	args := s.call2(fairLeaveScript, p.key, s.line.of(s.svc.cfg.Prefix, lineKind, p.key))
	return s.run(ctx, fairLeaveScript, append(args, p.owner, exact))
}

func threeInts(r Reply) (a, b, c int64, err error) {
	items, err := r.AsArray()
	if err != nil {
		return 0, 0, 0, err
	}
	for i, to := range []*int64{&a, &b, &c} {
		if *to, err = items[i].AsInt(); err != nil {
			return 0, 0, 0, err
		}
	}
	return a, b, c, nil
}

type inbox struct {
	channel string

	mu      sync.Mutex
	waiting map[string]*fairSession // by the owner token of their places
}

// openInbox subscribes to the inbox of a service. The service closes it.
func openInbox(ctx context.Context, s *service) error {
	var unique drivers.Owners
	s.inbox = &inbox{channel: s.cfg.Prefix + "inbox:" + unique.Next(), waiting: map[string]*fairSession{}}
	itself := func(channel string) string { return channel }
	l, err := s.listen(ctx, itself, s.inbox.deliver, s.inbox.lost)
	if err != nil {
		return err
	}
	return l.Add(ctx, s.inbox.channel)
}

// deliver parses a message: the token of the new owner, and the server's time in milliseconds.
func (in *inbox) deliver(_, message string) {
	owner, at, _ := strings.Cut(message, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return // not from this design
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s := in.waiting[owner]; s != nil {
		s.heard = ms
		s.notify()
	}
}

// lost makes all waiters check, because messages may be lost.
func (in *inbox) lost() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range in.waiting {
		s.notify()
	}
}

func (s *fairSession) notify() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

func (in *inbox) enter(s *fairSession) {
	in.mu.Lock()
	s.heard = 0
	in.waiting[s.place.owner] = s
	in.mu.Unlock()
}

func (in *inbox) leave(s *fairSession) {
	in.mu.Lock()
	delete(in.waiting, s.place.owner)
	in.mu.Unlock()
}

// heardBy returns when the place of s became the lock, or 0 if that is not known.
func (in *inbox) heardBy(s *fairSession) int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return s.heard
}
