// A service for the tests: a lock with leases and publication on the bubble's clock, which stops and calls hooks at
// every point where a wake-up could get lost.

package wait_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is the fake server. The hooks are called without its mutex and may use it; nil ones do nothing.
type service struct {
	traits drivers.Traits
	named  atomic.Uint64

	listen  func() error
	add     func(key string) error     // the request to subscribe has arrived
	confirm func(key string)           // subscribed, but the confirmation is not out yet
	remove  func(key string)           // the request to unsubscribe has arrived
	tried   func(s *session, won bool) // a try is decided, but its answer is not out yet
	asked   func(s *session) error     // the rest of the lease is read, but the answer is not out yet

	releasing func(s *session, l *drivers.Lease) (bool, error)  // the request to release has arrived; false: not the owner's
	passing   func(s *session, to *drivers.Lease) (bool, error) // the request to pass the lock on has arrived

	mu      sync.Mutex
	held    map[string]time.Time // key → end of the lease; zero is never
	owner   map[string]string
	owned   bool // a release must name the owner
	granted map[string]*session
	wake    func(string)
	subs    map[string]bool
	log     []string // "listen", "add k", "remove k", "close"
}

func newService() *service {
	return &service{
		traits:  drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		held:    map[string]time.Time{},
		owner:   map[string]string{},
		granted: map[string]*session{},
		subs:    map[string]bool{},
	}
}

// names are owners that cost nothing.
var names = func() (list [4096]string) {
	for i := range list {
		list[i] = fmt.Sprint("owner ", i)
	}
	return
}()

// name returns an owner that was not used for long.
func (s *service) name() string { return names[s.named.Add(1)%uint64(len(names))] }

func (s *service) Traits() drivers.Traits { return s.traits }
func (s *service) Close() error           { return nil }
func (s *service) Session(context.Context, int) (drivers.Session, error) {
	return &session{svc: s}, nil
}

// hold gives the lock to an outside client for d; 0 is for ever.
func (s *service) hold(key string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[key] = time.Time{}
	if d > 0 {
		s.held[key] = time.Now().Add(d)
	}
}

// seize gives the lock to an outside client for ever if it is free, and reports whether it was.
func (s *service) seize(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken(key) {
		return false
	}
	s.held[key] = time.Time{}
	return true
}

// release frees the lock and publishes that.
func (s *service) release(key string) {
	s.mu.Lock()
	delete(s.held, key)
	wake := s.wake
	if !s.subs[key] {
		wake = nil
	}
	s.mu.Unlock()
	if wake != nil {
		wake(key)
	}
}

// free frees the lock without a publication, like a broken connection.
func (s *service) free(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, key)
}

// taken reports whether the key is held. The caller holds the mutex.
func (s *service) taken(key string) bool {
	end, held := s.held[key]
	return held && (end.IsZero() || time.Now().Before(end))
}

func (s *service) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

// noted returns the log so far.
func (s *service) noted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *service) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	s.note("listen")
	if s.listen != nil {
		if err := s.listen(); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake = wake
	return (*listener)(s), ctx.Err()
}

type listener service

func (l *listener) Add(ctx context.Context, key string) error {
	s := (*service)(l)
	s.note("add " + key)
	if s.add != nil {
		if err := s.add(key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.subs[key] = true
	s.mu.Unlock()
	if s.confirm != nil {
		s.confirm(key)
	}
	return ctx.Err()
}

func (l *listener) Remove(ctx context.Context, key string) error {
	s := (*service)(l)
	s.note("remove " + key)
	if s.remove != nil {
		s.remove(key)
	}
	s.mu.Lock()
	delete(s.subs, key)
	s.mu.Unlock()
	return ctx.Err()
}

func (l *listener) Close() error {
	(*service)(l).note("close")
	return nil
}

// session is one client. It counts its calls.
type session struct {
	svc              *service
	tries            int
	rests            int
	releases, passes int
	base             time.Time
	at               []time.Duration // when each try was made, if base is set
	err              error           // returned by Try
}

func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.tries++
	if !s.base.IsZero() {
		s.at = append(s.at, time.Since(s.base))
	}
	if s.err != nil {
		return false, s.err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.Reset()
	l.Owner = s.svc.name()
	s.svc.mu.Lock()
	won := !s.svc.taken(l.Key)
	if won {
		s.svc.owner[l.Key] = l.Owner
		s.svc.held[l.Key] = time.Now().Add(l.TTL)
		s.svc.granted[l.Key] = s
	}
	s.svc.mu.Unlock()
	if s.svc.tried != nil {
		s.svc.tried(s, won)
	}
	return won, nil
}

func (s *session) Release(_ context.Context, l *drivers.Lease) (bool, error) {
	s.releases++
	if s.svc.releasing != nil {
		if owned, err := s.svc.releasing(s, l); !owned || err != nil {
			return owned, err
		}
	}
	if s.svc.owned {
		s.svc.mu.Lock()
		mine := s.svc.taken(l.Key) && s.svc.owner[l.Key] == l.Owner
		s.svc.mu.Unlock()
		if !mine {
			return false, nil
		}
	}
	s.svc.release(l.Key)
	return true, nil
}

func (s *session) Pass(_ context.Context, from, to *drivers.Lease) (bool, error) {
	s.passes++
	to.Reset()
	to.Owner = s.svc.name()
	if s.svc.passing != nil {
		if owned, err := s.svc.passing(s, to); !owned || err != nil {
			return owned, err
		}
	}
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	if !s.svc.taken(from.Key) || s.svc.owned && s.svc.owner[from.Key] != from.Owner {
		return false, nil
	}
	s.svc.held[from.Key] = time.Now().Add(to.TTL)
	s.svc.owner[from.Key] = to.Owner
	return true, nil
}

func (s *session) Remaining(_ context.Context, l *drivers.Lease) (time.Duration, error) {
	s.rests++
	s.svc.mu.Lock()
	rest := time.Duration(0)
	if s.svc.taken(l.Key) {
		rest = -1
		if end := s.svc.held[l.Key]; !end.IsZero() {
			rest = time.Until(end)
		}
	}
	s.svc.mu.Unlock()
	if s.svc.asked != nil {
		return rest, s.svc.asked(s)
	}
	return rest, nil
}

// bare hides every capability of a session.
type bare struct{ drivers.Session }

// wrapped is a session that wraps another one, like a driver's middleware.
type wrapped struct{ drivers.Session }

func (w wrapped) Unwrap() drivers.Session { return w.Session }

// deaf is a service that is not a Subscriber.
type deaf struct{ drivers.Service }

// endless is a service whose leases do not end.
type endless struct {
	drivers.Service
	drivers.Subscriber
}

func (e endless) Traits() drivers.Traits {
	traits := e.Service.Traits()
	traits.Expires = false
	return traits
}

// lasting is a session of an endless service: nobody can be asked for the rest of a lease.
type lasting struct {
	drivers.Session
	drivers.Passer
}

// voting is a service of several nodes.
type voting struct{ *service }

func (voting) Watch(func(drivers.Vote)) {}
func (voting) Nodes() []drivers.Node    { return nil }

// client is a session with its waiter and its lease.
type client struct {
	*session
	use    drivers.Session // the session returned by the room
	waiter drivers.Waiter
	lease  drivers.Lease
	clock  drivers.Clock
}

// newRoom opens a room that is closed at the end of the test.
func newRoom(t testing.TB, kind string, svc drivers.Service, o wait.Options) *wait.Room {
	t.Helper()
	room, err := wait.NewRoom(t.Context(), kind, svc, o)
	if err != nil {
		t.Fatal(err)
	}
	return room
}

// newClient makes client number id, which wants key for a minute and waits for ever.
func newClient(t testing.TB, svc *service, room *wait.Room, id int, key string) *client {
	t.Helper()
	c := &client{
		session: &session{svc: svc},
		lease:   drivers.Lease{Key: key, TTL: time.Minute},
		clock:   drivers.NewClock(),
	}
	var err error
	if c.use, c.waiter, err = room.Client(c.session, id); err != nil {
		t.Fatal(err)
	}
	return c
}

// timeout sets the lease's deadline.
func (c *client) timeout(d time.Duration) { c.lease.Deadline = time.Now().Add(d) }

func (c *client) acquire(ctx context.Context) (wait.Attempt, error) {
	return acquire(ctx, c.use, c.waiter, &c.lease, &c.clock)
}

// closeRoom closes the room and fails the test if that fails.
func closeRoom(t testing.TB, r *wait.Room) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
