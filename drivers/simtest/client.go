package simtest

// The clients, and the program that each of them runs.

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/wait"
)

// key is what all clients want.
const key = "key"

// Program is what a client does: it thinks, acquires the key, holds it, and releases it.
type Program struct {
	Rounds   int
	TTL      time.Duration
	Think    time.Duration // at most
	Hold     time.Duration // at most, from the grant to the release; the client believes in it until its lease ends
	Patience time.Duration // how long it waits; 0 is without a limit
	Deaths   int           // holds in a hundred that end with a crash of the client; another one takes its place

	Room     *wait.Room       // how it waits; nil if it does not
	Watchdog *renew.Scheduler // renews the lease during a hold, which then lasts until the holder is told that it is lost

	// Session and Waiter, if set, wrap what the client uses, in order to plant a bug.
	Session func(drivers.Session) drivers.Session
	Waiter  func(drivers.Waiter) drivers.Waiter

	// Overstays plants a bug: the client holds beyond the end of its lease.
	Overstays bool

	// Orphans plants a bug: the client releases while its watchdog still renews.
	Orphans bool

	// Late plants a bug: the watchdog counts the lease from the answer to the try.
	Late bool
}

// client is one client with what it uses.
type client struct {
	*Actor
	Program
	id        int
	service   drivers.Service
	session   drivers.Session
	waiter    drivers.Waiter
	watched   *renew.Hold
	overtaken int // by clients that came later
}

// Run lets client number id run a program on a service. World.Wait waits for it.
func (w *World) Run(id int, svc drivers.Service, p Program) {
	c := &client{Actor: newActor(w, firstClient+id, "client %d", id), id: id, service: svc, Program: p}
	if err := c.open(); err != nil {
		w.Fail("client %d: %v", id, err)
		return
	}
	w.running.Go(func() {
		for range p.Rounds {
			c.Sleep(c.Upto(p.Think))
			c.round()
		}
		if closer, ok := drivers.As[io.Closer](c.session); ok {
			closer.Close()
		}
	})
}

// Wait returns when all clients have run their programs.
func (w *World) Wait() { w.running.Wait() }

// open opens the client's session, also that of the client that takes its place.
func (c *client) open() (err error) {
	if c.session, err = c.service.Session(context.Background(), c.id); err != nil {
		return err
	}
	if c.Session != nil {
		c.session = c.Session(c.session)
	}
	c.session = paced{c.session, c.Actor}
	if c.Watchdog != nil {
		renewer, _ := drivers.As[drivers.Renewer](c.session)
		c.watched = renew.NewHold(renewer)
	}
	if c.Room != nil {
		c.session, c.waiter, err = c.Room.Client(c.session, c.id)
	}
	if c.Waiter != nil {
		c.waiter = c.Waiter(c.waiter)
	}
	return err
}

// paced is a session whose tries begin at the client's own instants. Otherwise clients that were woken by one message
// would try at the same time, and time out at the same time.
type paced struct {
	drivers.Session
	actor *Actor
}

// Unwrap finds the session's other capabilities.
func (p paced) Unwrap() drivers.Session { return p.Session }

func (p paced) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	now := p.actor.w.Now()
	time.Sleep(p.actor.instant(now) - now)
	return p.Session.Try(ctx, l)
}

// round makes one acquisition, and what follows it.
func (c *client) round() {
	l := drivers.Lease{Key: key, TTL: c.TTL}
	if c.Patience > 0 {
		l.Deadline = time.Now().Add(c.Patience)
	}
	asked := c.w.Now()
	a := c.acquire(&l)
	given := l // the watchdog may use l until it is stopped
	if a.Held {
		c.hold(&l, max(asked, a.Asked), c.Upto(c.Hold))
	}
	if a.Held && c.Pick(100) < c.Deaths {
		c.die()
		return
	}
	if a.Held || a.Unknown {
		owned, err := c.session.Release(context.Background(), &given)
		c.Tell("releases: %v%s", owned, brief(err))
	}
	if a.Held && c.Orphans {
		c.Watchdog.Stop(c.watched)
	}
}

// die ends the client without a release.
func (c *client) die() {
	c.Tell("dies")
	c.w.Count("deaths")
	if crasher, ok := drivers.As[drivers.Crasher](c.session); ok {
		crasher.Crash()
	}
	if err := c.open(); err != nil {
		c.w.Fail("client %d: %v", c.id, err)
	}
}

// brief describes an error without its text, which may depend on the order in which nodes have failed.
func brief(err error) string {
	if err == nil {
		return ""
	}
	return ", " + string(drivers.ClassOf(err))
}

func (c *client) acquire(l *drivers.Lease) wait.Attempt {
	c.Log("wants the key")
	c.arrive()
	ctx := context.Background()
	held, err := c.session.Try(ctx, l)
	if !held && err == nil && c.waiter != nil {
		c.waits()
	}
	a, err := wait.After(ctx, held, err, c.session, c.waiter, l, &c.w.Clock, nil)
	c.leave(a.Held)
	switch {
	case a.Held:
		c.w.Count("grants")
	case err != nil:
		c.Log("fails%s", brief(err))
	default:
		c.Log("is refused")
	}
	return a
}

// ends returns until when the client may believe that it holds a lease that it asked for at that time.
func (c *client) ends(l *drivers.Lease, asked time.Duration) time.Duration {
	switch {
	case !l.ValidUntil.IsZero():
		return c.w.Clock.Reading(l.ValidUntil)
	case l.TTL > 0:
		return asked + l.TTL
	}
	return forever
}

// hold uses the lock, which was asked for at that time, for d. The client believes that it holds it until its lease ends,
// or its watchdog says so.
func (c *client) hold(l *drivers.Lease, asked, d time.Duration) {
	ends, now := c.ends(l, asked), c.w.Now()
	end := now + d
	if ends <= now {
		c.w.Count("late grants")
		c.Tell("is granted a lease that is over")
		c.SleepUntil(end)
		return
	}
	c.Tell("holds until %v, its lease until %v", stamp(end), stamp(ends))
	grant := c.w.judge.Enter(0, c.id, l.Fence, asked, now)
	switch {
	case c.Watchdog != nil:
		if c.Late {
			asked = now
		}
		c.Watchdog.Start(c.watched, l, asked)
		c.guarded(end)
	case c.Overstays:
		c.SleepUntil(end)
	default:
		c.SleepUntil(min(end, ends))
	}
	c.w.judge.Exit(0, c.id, grant, c.w.Now())
	c.Tell("holds no longer")
	if c.Watchdog != nil && !c.Orphans {
		lost, waited := c.Watchdog.Stop(c.watched)
		if lost {
			c.Watchdog.Await(c.watched)
		}
		if waited {
			c.w.Count("stops during a renewal")
		}
	}
	c.SleepUntil(end)
}

// guarded holds until the end, unless the watchdog says before that the lock is lost.
func (c *client) guarded(end time.Duration) {
	now := c.w.Now()
	timer := time.NewTimer(c.instant(end) - now)
	defer timer.Stop()
	select {
	case <-timer.C:
		if end-now > c.TTL {
			c.w.Count("long holds")
		}
	case <-c.watched.Lost():
		c.w.Count("losses")
		c.Tell("is told that the lock is lost")
	}
}

// arrive puts the client at the end of its room's line.
func (c *client) arrive() {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines[c.Room] = append(w.lines[c.Room], c)
	c.overtaken = 0
}

// waits records that the client waits from now on.
func (c *client) waits() {
	w, now := c.w, c.w.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[c.id] = now
}

// leave ends what arrive and waits have begun. A client that was granted the key has overtaken all before it in line.
func (c *client) leave(held bool) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, c.id)
	line := w.lines[c.Room]
	place := slices.Index(line, c)
	w.lines[c.Room] = slices.Delete(line, place, place+1)
	if !held {
		return
	}
	for _, before := range line[:place] {
		before.overtaken++
		w.overtaken = max(w.overtaken, before.overtaken)
	}
}
