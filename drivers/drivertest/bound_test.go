package drivertest

// Locks whose holds belong to a session with the service, sound and broken.

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
	dead  bool                     // it tries nothing any more,
	gone  bool                     // and releases nothing
}

func (s *boundSession) Unwrap() drivers.Session { return s.Session }

// newBound lets a test change what is claimed and broken.
func newBound(change func(*bound)) drivers.Driver {
	b := &bound{faults: fault.NewDriver(memory.Driver{}), timeout: time.Second, sessions: map[*boundSession]struct{}{}}
	b.altered = altered{
		Driver: b.faults,
		traits: func(t *drivers.Traits) { t.Session, t.Expires, t.Renews = true, false, false },
		session: func() func(drivers.Session, int) drivers.Session {
			return func(s drivers.Session, _ int) drivers.Session { return closable{b.begin(s)} }
		},
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
	waitTime := time.AfterFunc(b.timeout, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for s := range b.sessions {
			if !b.keepHolds {
				s.end()
			}
		}
	})
	return func() {
		waitTime.Stop()
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
	if s.gone {
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
	if s.lock.afterCrash != nil {
		s.lock.afterCrash(s.boundSession)
		return
	}
	s.dead, s.gone = true, true
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
	b := newBound(change).(*bound)
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
	open := func(call answer) answer {
		return func(ctx context.Context, l *drivers.Lease) (bool, error) {
			if s.closed.Load() {
				return false, net.ErrClosed
			}
			return call(ctx, l)
		}
	}
	return calls{b, open(b.Try), open(b.Release)}, nil
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

// boundWaiting returns bound with a native wait: one that wakes up now and then, or only at releases.
func boundWaiting(deaf bool) drivers.Driver {
	return newBound(func(b *bound) {
		claims, wrap := b.altered.traits, b.altered.session
		b.altered.traits = func(t *drivers.Traits) { claims(t); t.Waits = true }
		b.altered.session = func() func(drivers.Session, int) drivers.Session {
			var released table[int]
			inner := wrap()
			return func(s drivers.Session, id int) drivers.Session {
				s = inner(s, id)
				seen := map[string]int{}
				try := func(ctx context.Context, l *drivers.Lease) (bool, error) {
					seen[l.Key] = released.get(l.Key)
					return s.Try(ctx, l)
				}
				release := func(ctx context.Context, l *drivers.Lease) (bool, error) {
					owned, err := s.Release(ctx, l)
					if owned {
						released.set(l.Key, released.get(l.Key)+1) // only holders get here
					}
					return owned, err
				}
				wait := func(ctx context.Context, l *drivers.Lease) error {
					for {
						if err := pause(ctx, l); err != nil || !deaf || over(l) || released.get(l.Key) != seen[l.Key] {
							return err
						}
					}
				}
				return waiter{calls{s, try, release}, wait, func(context.Context, *drivers.Lease) error { return nil }}
			}
		}
	})
}

func unclaimed(b *bound) {
	claims := b.altered.traits
	b.altered.traits = func(t *drivers.Traits) { claims(t); t.Session = false }
}

var brokenSessions = []broken{
	{"ends its holds with the session without the claim", newBound(unclaimed), "session ends"},
	{"ends its holds with a cut without the claim", newBound(func(b *bound) { b.keepClosed = true; unclaimed(b) }), "session ends"},
	{"ends its holds with Close without the claim", newBound(func(b *bound) { b.keepHolds = true; unclaimed(b) }), "closed session"},
	{"claims Session and keeps what is no longer held", newBound(func(b *bound) { b.keepHolds = true }), "session ends"},
	{"claims Session and takes its time over it", newBound(func(b *bound) { b.timeout *= 2 }), "session ends"},
	{"claims Session and keeps what was closed", newBound(func(b *bound) { b.keepClosed = true }), "closed session"},
	{"claims Session and closes its service only", newSharing(func(b *bound) { b.keepClosed = true }), "closed session"},
	{"waits for a release only, and not for the end of a session", boundWaiting(true), "wait for the end of a session"},
	{"claims both Session and Expires", claiming(func(t *drivers.Traits) { t.Session = true }), "design"},
}
