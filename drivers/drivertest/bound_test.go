package drivertest

// Locks whose holds belong to a session with the service.

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
)

// bound is memory whose holds end with their holder's session: when that is closed, when it was cut off for the
// timeout, and the timeout after it has crashed. keepHolds and keepClosed break that: the hold does not end in the one
// or the other case. afterCrash replaces the last one.
type bound struct {
	altered
	faults                *fault.Driver
	timeout               time.Duration
	keepHolds, keepClosed bool
	afterCrash            func(*boundSession) // nil: it ends after the timeout

	mu       sync.Mutex
	sessions map[*boundSession]struct{}
}

// boundSession is one session and what it holds. After its end it becomes a new session, unnoticed.
type boundSession struct {
	drivers.Session
	lock  *bound
	mu    sync.Mutex
	holds map[string]drivers.Lease // by owner
	dead  bool
}

func (s *boundSession) Unwrap() drivers.Session { return s.Session }

// newBound lets a test change what is broken.
func newBound(change func(*bound)) *bound {
	b := &bound{faults: fault.NewDriver(memory.Driver{}), timeout: time.Second, sessions: map[*boundSession]struct{}{}}
	b.altered = altered{
		Driver: b.faults,
		traits: func(t *drivers.Traits) { t.Session, t.Expires, t.Renews = true, false, false },
		wrap:   func(s drivers.Session, _ int) drivers.Session { return closable{b.begin(s)} },
	}
	if change != nil {
		change(b)
	}
	return b
}

func (b *bound) begin(inner drivers.Session) *boundSession {
	s := &boundSession{Session: inner, lock: b, holds: map[string]drivers.Lease{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions[s] = struct{}{}
	return s
}

// Outage returns the outage of the faults, which lasts for the service's time-out.
func (b *bound) Outage() (restore func()) {
	up := b.faults.Outage()
	ends := time.AfterFunc(b.timeout, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for s := range b.sessions {
			if !b.keepHolds {
				s.end()
			}
		}
	})
	return func() {
		ends.Stop()
		up()
	}
}

func (b *bound) Mute() (restore func()) { return b.faults.Mute() }

// end frees what the session holds, on the server's side.
func (s *boundSession) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	server := s.Session.(drivers.Unwrapper[drivers.Session]).Unwrap() // below the faults
	for _, l := range s.holds {
		server.Release(context.Background(), &l)
	}
	clear(s.holds)
}

// Try requests a hold without an end.
func (s *boundSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.dead {
		return false, net.ErrClosed
	}
	ttl := l.TTL
	l.TTL = 0
	held, err := s.Session.Try(ctx, l)
	l.TTL = ttl
	if held || err != nil {
		s.mu.Lock()
		s.holds[l.Owner] = *l
		s.mu.Unlock()
	}
	return held, err
}

func (s *boundSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.dead {
		return false, net.ErrClosed
	}
	return s.Session.Release(ctx, l)
}

// Renew never works.
func (s *boundSession) Renew(context.Context, *drivers.Lease) (bool, error) { return false, nil }

// closable is a session that has something to close.
type closable struct{ *boundSession }

func (s closable) Unwrap() drivers.Session { return s.boundSession }

func (s closable) Close() error {
	if !s.lock.keepClosed {
		s.end()
	}
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	delete(s.lock.sessions, s.boundSession)
	return nil
}

// Crash leaves the end to the server.
func (s closable) Crash() {
	s.dead = true
	if s.lock.afterCrash != nil {
		s.lock.afterCrash(s.boundSession)
		return
	}
	time.AfterFunc(s.lock.timeout, s.end)
}

// sharing is a bound lock whose sessions have nothing to close: the service has the session with the server. All
// services open the same server, and have no other capabilities.
type sharing struct {
	*bound
	once   *sync.Once
	server *drivers.Service
}

func newSharing(change func(*bound)) drivers.Driver {
	b := newBound(change)
	inner := b.altered.traits
	b.altered.traits = func(t *drivers.Traits) { inner(t); t.Wakes = false }
	return sharing{b, new(sync.Once), new(drivers.Service)}
}

func (d sharing) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	if _, err := drivers.FindDesign(d, cfg.Lock); err != nil {
		return nil, err
	}
	d.once.Do(func() {
		cfg.Lock = ""
		*d.server, _ = d.bound.altered.Open(ctx, cfg)
	})
	return &sharingService{Service: *d.server, lock: d.bound}, nil
}

type sharingService struct {
	drivers.Service
	lock     *bound
	closed   atomic.Bool
	sessions []*boundSession
}

func (s *sharingService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	b := inner.(closable).boundSession
	s.sessions = append(s.sessions, b)
	return &guest{b, &s.closed}, nil
}

func (s *sharingService) Close() error {
	s.closed.Store(true)
	for _, b := range s.sessions {
		if !s.lock.keepClosed {
			b.end()
		}
	}
	return nil
}

// guest is a session until its service is closed.
type guest struct {
	*boundSession
	closed *atomic.Bool
}

func (s *guest) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.closed.Load() {
		return false, net.ErrClosed
	}
	return s.boundSession.Try(ctx, l)
}

func (s *guest) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.closed.Load() {
		return false, net.ErrClosed
	}
	return s.boundSession.Release(ctx, l)
}
