package hazards

// A client of a story, with a service and connections of its own.

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

// Client is one client: a service, a session and connections of its own, all through a proxy. It has one lease.
type Client struct {
	stage   *Stage
	name    string
	network Network // no nodes without a server
	service drivers.Service
	session drivers.Session
	waiter  drivers.Waiter // nil unless Waiter has opened it
	lease   drivers.Lease

	process *process // nil for a client in this one

	offset   time.Duration // of its clock
	believes atomic.Bool   // it holds the key, as far as it knows
	renews   atomic.Bool   // Watch renews its lease, and was not told in time that it is lost
	kept     atomic.Int64  // when the request was sent that last gave Watch the whole lease, in nanoseconds of the attempt
	unwatch  func()        // ends Watch, which has been called

	// Asked and Granted are when the last attempt was sent, and when its grant was read.
	Asked, Granted time.Duration
	until          time.Duration // when the lease of the last grant ends, as the lock has told; 0: it has not

	unheard int // tries of the last AcquireBy that had no answer
}

const (
	openTimeout = 20 * time.Second
	ioTimeout   = 2 * time.Second
	nodeTimeout = 200 * time.Millisecond
	tryEvery    = 2 * time.Millisecond
	maxClients  = 8 // of an attempt

	work = 10 * time.Millisecond // of two clients that hold the key at once
)

// Client opens a client. Names are A, B and so on, in the order of their appearance.
func (s *Stage) Client(name string) *Client { return s.ClientWith(name, func(*drivers.Config) {}) }

// ClientWith opens a client with settings of its own.
func (s *Stage) ClientWith(name string, set func(*drivers.Config)) *Client {
	c := &Client{stage: s, name: name}
	s.clients = append(s.clients, c)
	d, err := s.lock.driver()
	s.leaveIf(err != nil, safety.NotExercised, "%v", err)
	cfg := s.config()
	set(&cfg)
	c.offset = cfg.ClockOffset
	ctx, cancel := context.WithTimeout(s.ctx, openTimeout)
	defer cancel()
	id := 0
	if s.server == nil { // its clients meet in one service, and nowhere else
		cfg.Clients = maxClients
		id = len(s.clients) - 1
	} else {
		cfg.Crashes = true
		c.connect(&cfg)
	}
	if c.service = s.inside; c.service == nil {
		began := time.Now()
		if c.service, err = d.Open(ctx, cfg); err != nil {
			s.unanswered.note(began, time.Now())
			s.leave(safety.NotExercised, "%s cannot open: %v", name, err)
		}
		s.closers = append(s.closers, c.service.Close)
	}
	if s.server == nil {
		s.inside = c.service
	}
	if c.session, err = c.service.Session(ctx, id); err != nil {
		s.leave(safety.NotExercised, "%s cannot open a session: %v", name, err)
	}
	return c
}

// connect puts a proxy before each server and points cfg to them.
func (c *Client) connect(cfg *drivers.Config) {
	s := c.stage
	cfg.Topology = s.topology
	nodes := []Server{s.server}
	if q, ok := s.server.(Quorum); ok {
		nodes = q.Nodes()
	}
	for _, server := range nodes {
		at, err := url.Parse(server.URL())
		s.leaveIf(err != nil || at.Host == "", safety.NotExercised, "its server has no address of a host and a port")
		p, err := fault.NewProxy(at.Host)
		s.leaveIf(err != nil, safety.NotExercised, "%v", err)
		if s.watch != nil {
			p.Watch(s.watch)
		}
		s.closers = append(s.closers, p.Close)
		c.network.nodes, c.network.placebo = append(c.network.nodes, &node{Proxy: p}), s.placebo
		at.Host = p.Addr()
		cfg.Addrs = append(cfg.Addrs, at.String())
	}
}

func (c *Client) add(kind safety.Kind, text string) time.Duration {
	return c.stage.history.add(safety.Event{Client: c.name, Kind: kind, Text: text})
}

// Try makes one attempt to acquire the key. The error is that the answer was not heard.
func (c *Client) Try() (held bool, err error) {
	c.Asked = c.add(safety.Asks, "")
	if held, err = c.request(); held && err == nil {
		c.granted()
	} else {
		c.hears(false, err, "", safety.Refused)
	}
	return held, err
}

// hears records the answer to a request, or that there was none, and returns when.
func (c *Client) hears(yes bool, err error, ifYes, ifNo safety.Kind) time.Duration {
	switch {
	case err != nil:
		return c.add(safety.Errs, string(drivers.ClassOf(err))+": "+err.Error())
	case yes:
		return c.add(ifYes, "")
	}
	return c.add(ifNo, "")
}

func (c *Client) request() (held bool, err error) {
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	c.lease.Key, c.lease.TTL = c.stage.key, c.stage.ttl
	asked := time.Now()
	held, err = c.session.Try(ctx, &c.lease)
	if !c.hasFault() {
		c.stage.unanswered.note(asked, time.Now())
	}
	return held, err
}

// granted records that the client holds the key from here on.
func (c *Client) granted() {
	c.believes.Store(true)
	c.until = 0
	if valid := c.lease.ValidUntil; !valid.IsZero() {
		c.until = c.stage.history.clock.Reading(valid)
	}
	c.Granted = c.stage.history.add(safety.Event{Client: c.name, Kind: safety.Granted, Owner: c.lease.Owner, Fence: c.lease.Fence, Until: c.until})
}

// Acquire acquires the key, which is free. A library that does not wait long for an answer may call a free key taken at first.
func (c *Client) Acquire() {
	held, err := c.Try()
	if !held && err == nil {
		held = c.AcquireBy(c.stage.Now() + slack)
	}
	switch {
	case err != nil:
		c.stage.leave(safety.NotExercised, "%s could not acquire a free key: %v", c.name, err)
	case !held:
		c.stage.leave(safety.NotExercised, "%s was refused a free key", c.name)
	}
}

// AcquireWhile is AcquireBy for as long as another client surely has its lease. A grant after that ends the attempt. One of the two
// has to let go before FailIfBoth, which sees no more of their overlap than what is over.
func (c *Client) AcquireWhile(holder *Client, patience time.Duration) (held bool) {
	end := holder.Sure()
	held = c.AcquireBy(min(c.stage.Now()+patience, end))
	c.stage.leaveIf(held && c.Granted >= end,
		safety.Stalled, "%s was granted the key after the lease of %s", c.name, holder.name)
	return held
}

// AcquireBy tries again and again until the key is granted or a moment has come. Errors are tried again. Tries that had no answer may
// have taken the key: the attempt is over if no grant follows.
func (c *Client) AcquireBy(moment time.Duration) (held bool) {
	began := c.add(safety.Asks, "again and again")
	refused := 0
	var why error
	c.unheard = 0
	for {
		c.Asked = c.stage.Now()
		held, err := c.request()
		switch {
		case err != nil:
			c.unheard, why = c.unheard+1, err
		case held:
			c.notGranted(began, refused, why)
			c.stage.history.addAt(c.Asked, safety.Event{Client: c.name, Kind: safety.Asks})
			c.granted()
			return true
		default:
			refused++
		}
		if c.stage.Now() < moment {
			c.stage.Until(c.stage.Now() + tryEvery)
			continue
		}
		c.notGranted(began, refused, why)
		if c.unheard > 0 {
			c.stage.leave(safety.NotExercised, "%s had no answer to %s, and may have the key: %v", c.name, format.Plural(c.unheard, "attempt"), why)
		}
		return false
	}
}

// notGranted records how many tries since a moment were refused, and how many had no answer.
func (c *Client) notGranted(since time.Duration, refused int, why error) {
	if refused > 0 {
		c.stage.history.addAt(since, safety.Event{Client: c.name, Kind: safety.Refused, Text: format.Plural(refused, "time")})
	}
	if c.unheard > 0 {
		c.stage.history.addAt(since, safety.Event{Client: c.name, Kind: safety.Errs, Text: fmt.Sprintf("%s, the last: %v", format.Plural(c.unheard, "time"), why)})
	}
}

// Ends returns when the lease that the client was granted last is over at the latest, as far as the client can know: a TTL
// after the answer.
func (c *Client) Ends() time.Duration { return c.Granted + c.stage.ttl }

// Sure returns until when that lease lasts at the least: as the lock has told, or else a TTL from when it was asked for.
func (c *Client) Sure() time.Duration { return cmp.Or(c.until, c.Asked+c.stage.ttl) }

// Release lets the key go.
func (c *Client) Release() (removed bool, err error) {
	c.stage.overlap(c)
	c.believes.Store(false)
	c.add(safety.Lets, "")
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	removed, err = c.session.Release(ctx, &c.lease)
	c.hears(removed, err, safety.Released, safety.NotThere)
	return removed, err
}

// letGo is Release of a client that has to hear an answer.
func (c *Client) letGo() {
	if _, err := c.Release(); err != nil {
		c.stage.leave(safety.NotExercised, "%s has no answer to its release: %v", c.name, err)
	}
}

// mustBeRefused ends the attempt unless a request for the key was refused.
func (c *Client) mustBeRefused(held bool, err error) {
	switch {
	case err != nil:
		c.stage.leave(safety.NotExercised, "%s has no answer: %v", c.name, err)
	case held:
		c.stage.leave(safety.NotExercised, "%s was not refused", c.name)
	}
}

// LoseRelease lets the client release the key, and loses the request: no server receives it. It returns the evidence.
func (c *Client) LoseRelease() (evidence int64) {
	var answer func() (bool, error)
	if len(c.Network().nodes) > 1 {
		evidence = c.network.Outage()
		answer = c.Release
	} else {
		request := c.Break(1)
		answer = later(c.Release)
		c.stage.Hit(request, answer)
		evidence = request.Held()
		request.Cut()
	}
	_, err := answer()
	c.network.Resume()
	c.stage.leaveIf(err == nil, safety.NotExercised, "the release of %s was answered", c.name)
	return evidence
}

// Watch renews the lease of the client until unwatch or the end of the attempt, as lockbench's watchdog does, if the lock can; the service may
// have renewals of its own. It returns a function that tells how many were answered.
func (c *Client) Watch() (renewals func() int64) {
	var answered atomic.Int64
	c.unwatch = func() {}
	if r, ok := drivers.As[drivers.Renewer](c.session); ok {
		c.renews.Store(true)
		c.kept.Store(int64(c.Asked))
		watchdog := renew.New(renew.Options{Clock: c.stage.history.clock, Workers: 1, Renewed: func(r renew.Renewal) {
			switch {
			case r.Err != nil:
			case r.Owned:
				c.kept.Store(int64(r.Sent))
				answered.Add(1)
			case r.Answered < time.Duration(c.kept.Load())+c.stage.ttl:
				c.renews.Store(false)
			}
		}})
		hold := renew.NewHold(r)
		watchdog.Start(hold, &c.lease, c.Asked)
		c.unwatch = sync.OnceFunc(func() {
			if lost, _ := watchdog.Stop(hold); lost {
				watchdog.Await(hold)
			}
			watchdog.Close()
		})
		c.stage.closers = append(c.stage.closers, func() error {
			c.unwatch()
			return nil
		})
	}
	return answered.Load
}

// Renew asks once for the whole lease again, and reports whether the client is told that it has it, which counts as a grant for
// Ends and Sure.
func (c *Client) Renew() (held bool, err error) {
	r, ok := drivers.As[drivers.Renewer](c.session)
	c.stage.leaveIf(!ok, safety.NotApplicable, "its leases are not renewed")
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	asked := c.stage.Now()
	held, err = r.Renew(ctx, &c.lease)
	if answered := c.hears(held, err, safety.Renewed, safety.NotThere); held && err == nil {
		c.Asked, c.Granted = asked, answered
	}
	return held, err
}

// Vanish ends the client as if its machine had lost its power: the server does not even hear that its connections are gone.
func (c *Client) Vanish() (links int64) {
	links = c.Network().BlackHole()
	c.crash()
	return links
}

// Die ends the client as if its process had died: it says nothing to the server, and its connections break. It returns how many.
func (c *Client) Die() (links int64) {
	links = c.network.Outage()
	c.crash()
	return links
}

func (c *Client) crash() {
	if crasher, ok := drivers.As[drivers.Crasher](c.session); ok {
		crasher.Crash()
	}
	c.died()
}

func (c *Client) died() {
	c.believes.Store(false)
	c.add(safety.Dies, "")
}

// Remaining returns what is left of the lease on the key; told is false if the lock cannot tell.
func (c *Client) Remaining() (rest time.Duration, told bool) {
	r, ok := drivers.As[drivers.Remainer](c.session)
	if !ok {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	rest, err := r.Remaining(ctx, &c.lease)
	return rest, err == nil
}

// later begins what a client does, and returns a function that waits for its end.
func later(do func() (bool, error)) (answer func() (bool, error)) {
	done := make(chan struct{})
	var yes bool
	var err error
	go func() {
		defer close(done)
		yes, err = do()
	}()
	return func() (bool, error) {
		<-done
		return yes, err
	}
}

// Rehearse acquires and lets go another key, and returns how many requests each takes: the median of five times, since the first
// one loads scripts, and what a library sends by itself, such as a ping, is counted as another request or as one with ours. It is no
// part of the history.
func (c *Client) Rehearse() (try, release int) {
	line := c.line()
	l := drivers.Lease{Key: c.stage.key + ":rehearsal", TTL: c.stage.ttl}
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	const times = 5
	var tries, releases []int
	for patience := c.stage.Now() + slack; len(tries) < times; {
		before := line.Requests()
		held, err := c.session.Try(ctx, &l)
		between := line.Requests()
		if err == nil && !held && c.stage.Now() < patience { // a library may take a moment to see that it has let the key go
			c.stage.Until(c.stage.Now() + tryEvery)
			continue
		}
		c.stage.leaveIf(err != nil || !held,
			safety.NotExercised, "%s could not acquire a free key: %v, %v", c.name, held, err)
		if _, err := c.session.Release(ctx, &l); err != nil {
			c.stage.leave(safety.NotExercised, "%s could not let a key go: %v", c.name, err)
		}
		tries, releases = append(tries, int(between-before)), append(releases, int(line.Requests()-between))
	}
	slices.Sort(tries)
	slices.Sort(releases)
	return tries[times/2], releases[times/2]
}

// AnswerBy waits until the server answers again, and reports whether that was before a moment. It asks for another key.
func (c *Client) AnswerBy(moment time.Duration) bool {
	other := drivers.Lease{Key: c.stage.key + ":other", TTL: c.stage.ttl}
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	for c.stage.Now() < moment {
		if held, err := c.session.Try(ctx, &other); err == nil {
			if held {
				_, _ = c.session.Release(ctx, &other) // its lease ends by itself
			}
			return true
		}
		c.stage.Until(c.stage.Now() + tryEvery)
	}
	return false
}
