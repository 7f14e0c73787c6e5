// Package drivertest is the conformance suite of package drivers: it proves that a driver keeps the contract and that
// its Traits are true, in both directions. A driver's test starts a server, fills in a Setup and calls Run.
//
// Nothing can be skipped. The design's Traits and the capabilities of its services and sessions decide what is tested:
// a claim without the capability fails, and so does a capability that works without the claim. The suite is itself
// tested, with drivers that are broken on purpose.
package drivertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Setup is what the suite must know about the driver under test.
type Setup struct {
	Driver drivers.Driver

	// Config is used to open services. Lock is required. The suite chooses Clients and Wakes itself, and Prefix if it
	// is empty.
	Config drivers.Config

	// Cut, if set, breaks all connections of the service and makes it unreachable until restore is called, like
	// fault.Proxy.Outage.
	Cut func() (restore func())

	// SessionTimeout is how long the service may take to end a session that has gone silent (Traits.Session): what
	// Config.TTL asks for, and the interval in which the server checks. 0 is for a session that ends with its
	// connection, at once.
	SessionTimeout time.Duration

	// MemoryPerSession is how many bytes a session may take; 0 means 64 KB. Libraries whose sessions bring a connection
	// with its own buffers need more; a comment where it is set says why.
	MemoryPerSession int

	// Mute, if set, lets requests take effect but drops their replies, until restore is called, like fault.Proxy.Mute.
	// Config.IOTimeout should be short then; in cases without loss the suite uses a longer one.
	Mute func() (restore func())

	// Stall, if set, holds replies back until restore is called, like fault.Proxy.Stall.
	Stall func() (restore func())

	// Straggles is for a lock that a majority of servers keeps, whose calls return once the majority has answered. What
	// is still on its way to the others, of clients that have gone on, may take their votes for a moment, so that Try
	// refuses a free key. The suite tries again then.
	Straggles bool

	crowd int // sessions of the case "crowd"; the suite's own tests use fewer
}

// Failure is one broken promise.
type Failure struct {
	Case string // the name of the case that found it
	Text string
}

func (f Failure) String() string { return f.Case + ": " + f.Text }

// Run tests a driver, each case as a subtest. The case "crowd" takes all processors and is about sessions, not locks: a
// process runs it once for each driver and kind of session. Cases that wait for leases to expire all run at once, which
// t.Parallel would not do on a machine with few processors. Several Runs may go on at the same time, each with its own
// Cut and Mute. With -short it leaves out the crowd, races, and the cases in which connections break; these have the most to show
// to the race detector, which gets them all the same.
func Run(t *testing.T, s Setup) {
	t.Helper()
	known, failure := find(t.Context(), s)
	if failure != nil {
		t.Fatal(failure.Text)
	}
	runs := func(c oneCase) bool {
		return c.applies(known) && !(testing.Short() && (c.alone || c.races || c.timesOut && !race))
	}
	run := func(t *testing.T, c oneCase) {
		t.Run(c.name, func(t *testing.T) {
			if c.alone {
				alone.Lock()
				defer alone.Unlock()
			} else {
				alone.RLock()
				defer alone.RUnlock()
			}
			failures, _ := c.check(t.Context(), known)
			for _, f := range failures {
				t.Error(f.Text)
			}
		})
	}
	for _, alone := range []bool{true, false} { // first, for all Runs: waiting to be alone holds up the others
		t.Run(map[bool]string{true: "alone", false: "now"}[alone], func(t *testing.T) {
			for _, c := range cases {
				if !c.timed && c.alone == alone && runs(c) && (!c.once || first(c, known)) {
					run(t, c)
				}
			}
		})
	}
	t.Run("time", func(t *testing.T) {
		var all sync.WaitGroup
		for _, c := range cases {
			if c.timed && runs(c) {
				all.Go(func() { run(t, c) })
			}
		}
		all.Wait()
	})
}

// first reports whether a case runs for the first time in this process with such a driver and such sessions.
func first(c oneCase, k known) bool {
	_, seen := ran.LoadOrStore(c.name+": "+k.kind, true)
	return !seen
}

var ran sync.Map

// alone keeps other cases from running while one measures the whole process.
var alone sync.RWMutex

// Check runs the same cases one after the other and returns the failures. Unlike Run it may be called outside a test, and
// inside a testing/synctest bubble, where leases of drivers without a server expire at once.
func Check(s Setup) (all []Failure) {
	_ = Each(context.Background(), s, func(_ string, failures []Failure) { all = append(all, failures...) })
	return all
}

// Each is Check, and calls report after each case until ctx is done. The case under way then ends at once, unreported, and
// what it has made on the server is deleted. The error says which names are left, and for how long.
func Each(ctx context.Context, s Setup, report func(name string, failures []Failure)) error {
	known, failure := find(ctx, s)
	if failure != nil && ctx.Err() == nil {
		report(failure.Case, []Failure{*failure})
	}
	if failure != nil {
		return nil
	}
	for _, c := range cases {
		if !c.applies(known) {
			continue
		}
		failures, left := c.check(ctx, known)
		if ctx.Err() != nil {
			return left
		}
		report(c.name, failures)
	}
	return nil
}

const (
	long  = 5 * time.Minute        // a lease that does not end during a case
	short = 200 * time.Millisecond // a lease that a case waits for

	// early is how much too soon a lease may end: servers that keep time in whole milliseconds cut off up to one of
	// them twice.
	early = 2 * time.Millisecond

	// slack is how late an instantaneous event may be. It is generous because machines stall.
	slack = 20 * time.Second

	// ioTime is the I/O time-out in cases where every request is answered in the end, because slowness must not fail a
	// case: with hundreds of clients, machines that stall take seconds. It exceeds slack, so that a request that waits
	// on the server is not taken for one that has failed.
	ioTime = 3 * slack

	// settleTime is how long to wait for what cannot be observed, such as a waiter's arrival in its queue.
	settleTime = 30 * time.Millisecond

	// caseTime bounds a case. It is below long, so that waiting for a lease that should have been released fails.
	caseTime = 4 * time.Minute
)

// T is one run of one case. Its failures do not fail a test directly, so that the suite can be run against drivers that
// must fail.
type T struct {
	known
	name   string
	ctx    context.Context // ends with the case
	prefix string

	mu       sync.Mutex
	failures []Failure
	keys     []string
	left     error // of the keys
	clients  int
	cleanups []func()
}

// stop unwinds a case after Fatalf.
type stop struct{}

// check runs the case and cleans up after it. What is left although it should not be is both a failure and left.
func (c oneCase) check(ctx context.Context, k known) (failures []Failure, left error) {
	ctx, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	t := &T{known: k, name: c.name, ctx: ctx}
	if !c.timesOut {
		t.Config = unhurried(t.Config)
	}
	var unique drivers.Owners
	if t.Config.Prefix == "" {
		t.Config.Prefix = "drivertest:"
	}
	t.Config.Prefix += unique.Next() + ":" // a case is like a run, with its own prefix
	t.prefix = t.Config.Prefix + c.name + ":"
	t.guard(func() { c.run(t) })
	failures = t.failures
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.guard(t.cleanups[i])
	}
	if len(failures) > 0 { // which the cleanups mostly fail for as well
		return failures, t.left
	}
	return t.failures, t.left
}

// unhurried returns the config of a service of which every request is answered in the end; see ioTime.
func unhurried(cfg drivers.Config) drivers.Config {
	cfg.IOTimeout = max(cfg.IOTimeout, ioTime)
	if cfg.NodeTimeout > 0 {
		cfg.NodeTimeout = max(cfg.NodeTimeout, ioTime/2)
	}
	return cfg
}

// guard calls f; Fatalf ends only f.
func (t *T) guard(f func()) {
	defer func() {
		if r := recover(); r != nil && r != (stop{}) {
			panic(r)
		}
	}()
	f()
}

// goes calls f in a goroutine of all.
func (t *T) goes(all *sync.WaitGroup, f func()) { all.Go(func() { t.guard(f) }) }

// Errorf records a failure. Any goroutine of the case may call it.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, Failure{t.name, fmt.Sprintf(format, args...)})
}

// Fatalf records a failure and ends the case, or the innermost guard.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	panic(stop{})
}

func (t *T) errorIf(wrong bool, format string, args ...any) {
	if wrong {
		t.Errorf(format, args...)
	}
}

func (t *T) fatalIf(wrong bool, format string, args ...any) {
	if wrong {
		t.Fatalf(format, args...)
	}
}

// should records the error of a call, and must ends the case for it.
func (t *T) should(call string, err error) { t.errorIf(err != nil, "%s: %v", call, err) }
func (t *T) must(call string, err error)   { t.fatalIf(err != nil, "%s: %v", call, err) }

func (t *T) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.failures) > 0
}

func (t *T) cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// key returns a new name for a lock, which no other case or earlier run has used.
func (t *T) key() string { return t.named(fmt.Sprint(len(t.keys))) }

func (t *T) named(ending string) string {
	key := t.prefix + ending
	t.keys = append(t.keys, key)
	return key
}

// open opens a service for that many clients; the end of the case cleans and closes it.
func (t *T) open(clients int) drivers.Service {
	cfg := t.Config
	cfg.Clients, cfg.Wakes = clients, true
	return t.openWith(cfg)
}

func (t *T) openWith(cfg drivers.Config) drivers.Service {
	svc := t.openOnly(cfg)
	t.cleanup(func() {
		t.should("Close", svc.Close())
	})
	t.cleanup(func() { t.clean(svc) }) // before that
	return svc
}

// openOnly opens a service that the case closes.
func (t *T) openOnly(cfg drivers.Config) drivers.Service {
	var svc drivers.Service
	t.opens("Open", func(ctx context.Context) (err error) {
		svc, err = t.Driver.Open(ctx, cfg)
		return err
	})
	t.clients = 0
	return svc
}

// opens opens a service, a session or a listener with a context that ends then, like that of a caller with a time-out for
// the opening. What was opened must go on.
func (t *T) opens(call string, open func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	t.must(call, open(ctx))
}

// two opens a service for two clients, and three one for three.
func (t *T) two() (a, b *client) {
	svc := t.open(2)
	return t.client(svc), t.client(svc)
}

func (t *T) three() (a, b, c *client) {
	svc := t.open(3)
	return t.client(svc), t.client(svc), t.client(svc)
}

// clean deletes the keys of the case. The case may have cut a connection that the service has not restored yet, so
// Clean is tried again, as in runs.
func (t *T) clean(svc drivers.Service) {
	c, ok := drivers.As[drivers.Cleaner](svc)
	if !ok {
		if !svc.Traits().Session { // those end with the case's connections
			t.keep(errors.New("its service cannot delete them"))
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), slack) // t.ctx may be over
	defer cancel()
	err := c.Clean(ctx, t.keys)
	for lost(err) && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
		err = c.Clean(ctx, t.keys)
	}
	t.should("Clean after the case", err)
	t.keep(err)
}

func lost(err error) bool {
	class := drivers.ClassOf(err)
	return class == drivers.ClassClosed || class == drivers.ClassConnect
}

// keep notes that there are keys that are not deleted.
func (t *T) keep(why error) {
	if why != nil && len(t.keys) > 0 {
		t.left = fmt.Errorf("names that begin with %s may be left for %v: %w", t.Config.Prefix, long, why)
	}
}

// client is a session together with its own way of waiting, if any.
type client struct {
	drivers.Session
	t      *T
	waiter drivers.Waiter // nil if the session is not a Waiter
	closed bool
}

// client opens the next session of a service. The end of the case closes it.
func (t *T) client(svc drivers.Service) *client {
	c := t.numbered(svc, t.clients)
	t.clients++
	return c
}

func (t *T) numbered(svc drivers.Service, id int) *client {
	s := t.session(svc, id)
	c := &client{Session: s, t: t}
	if w, ok := drivers.As[drivers.Waiter](s); ok {
		c.waiter = patient{w}
	}
	t.cleanup(c.close)
	return c
}

// patient waits on after its library has given up: the caller tries again.
type patient struct{ drivers.Waiter }

func (p patient) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := p.Waiter.Wait(ctx, l); err != drivers.ErrGaveUp {
		return err
	}
	return nil
}

func (t *T) session(svc drivers.Service, id int) (s drivers.Session) {
	t.opens("Session", func(ctx context.Context) (err error) {
		s, err = svc.Session(ctx, id)
		return err
	})
	return s
}

// close closes the session, once, if it is a Closer.
func (c *client) close() {
	if closer, ok := drivers.As[io.Closer](c.Session); ok && !c.closed {
		c.closed = true
		c.t.should("Close of a session", closer.Close())
	}
}

func lease(key string, ttl time.Duration) *drivers.Lease { return &drivers.Lease{Key: key, TTL: ttl} }

// try makes one attempt, which must not fail, and stays in line if it is refused. If the machine has stalled for as
// long as the lease, a driver may say that the answer came too late: then try makes another attempt.
func (c *client) try(l *drivers.Lease) bool {
	for {
		sent := time.Now()
		held, err := c.Try(c.t.ctx, l)
		if err == nil {
			return held
		}
		if drivers.ClassOf(err) != drivers.ClassTimeout || time.Since(sent) < l.TTL*9/10 { // some subtract the drift
			c.t.Fatalf("Try: %v", err)
		}
		if _, err := c.Release(c.t.ctx, l); err != nil {
			c.t.Fatalf("Release of an attempt that came too late: %v", err)
		}
	}
}

// tries makes one attempt, and leaves if it is refused.
func (c *client) tries(l *drivers.Lease) bool {
	held := c.try(l)
	if !held {
		c.leave(l)
	}
	return held
}

// hold makes an attempt that must be granted. Some drivers refuse where others return an error: when the machine has
// stalled until the lease was over. On the server, such a lease may have begun only just before the answer; so the
// next attempts may be refused until it ends.
func (c *client) hold(l *drivers.Lease, why string) {
	sent := time.Now()
	if c.tries(l) {
		return
	}
	late := time.Since(sent) >= l.TTL*9/10
	c.t.fatalIf(!late && !c.t.Straggles, "Try was refused although %s", why)
	c.t.eventually("Try was refused although "+why, func() bool { return c.tries(l) })
}

// takes holds a free key.
func (c *client) takes(key string, ttl time.Duration) *drivers.Lease {
	l := lease(key, ttl)
	c.hold(l, "the key is free")
	return l
}

// lineUp makes an attempt that must not be granted, because another client holds the key, and stays in line.
func (c *client) lineUp(l *drivers.Lease) {
	c.t.fatalIf(c.try(l), "Try was granted although another client holds the key")
}

// refused makes an attempt that must not be granted, and leaves.
func (c *client) refused(l *drivers.Lease, why string) {
	c.t.fatalIf(c.try(l), "Try was granted although %s", why)
	c.leave(l)
}

func (c *client) leave(l *drivers.Lease) {
	if c.waiter != nil {
		c.t.must("Leave", c.waiter.Leave(c.t.ctx, l))
	}
}

// release releases a lease, which must not fail, and checks the result.
func (c *client) release(l *drivers.Lease, want bool, why string) {
	owned, err := c.Release(c.t.ctx, l)
	c.t.must("Release", err)
	c.t.fatalIf(owned != want, "Release returned %v although %s", owned, why)
}

// releases tries to release a lease, in the end without an error, but perhaps when there is a connection again.
func (c *client) releases(l *drivers.Lease, orElse string) {
	c.t.eventually(orElse, func() bool {
		_, err := c.Release(c.t.ctx, l)
		return err == nil
	})
}

// getsThrough waits, with a lease for the key, until it is granted, and releases it. Meanwhile it runs the other functions. orElse
// says what is wrong if that has not ended within the limit.
func (c *client) getsThrough(limit time.Duration, orElse string, l *drivers.Lease, meanwhile ...func()) {
	l.Deadline = time.Now().Add(waitTime)
	got := false
	c.t.fatalIf(!c.t.within(limit, func(ctx context.Context) { got = c.acquire(ctx, l) }, meanwhile...) || !got,
		orElse, limit)
	c.release(l, true, "the client held the key")
}

// ends is within for what must end before the limit, which orElse is formatted with.
func (t *T) ends(limit time.Duration, orElse string, f func(ctx context.Context), meanwhile ...func()) {
	t.fatalIf(!t.within(limit, f, meanwhile...), orElse, limit)
}

// within runs f, which should end before the limit, and meanwhile the other functions. It reports whether f was in
// time. If not, f's context is cancelled and f gets the same time again.
func (t *T) within(limit time.Duration, f func(ctx context.Context), meanwhile ...func()) bool {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.guard(func() { f(ctx) })
	}()
	for _, m := range meanwhile {
		m()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	cancel()
	timer.Reset(limit)
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("a call has not even returned after its context was cancelled")
	}
	return false
}

// eventually polls f until it returns true, or slack has passed.
func (t *T) eventually(what string, f func() bool) { t.eventuallyIn(slack, what, f) }

func (t *T) eventuallyIn(limit time.Duration, what string, f func() bool) {
	for start := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		t.fatalIf(time.Since(start) > limit || t.ctx.Err() != nil, "%s within %v", what, limit)
	}
}
