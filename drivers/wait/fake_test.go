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
	"testing/synctest"
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

	mu    sync.Mutex
	held  map[string]time.Time // key → end of the lease; zero is never
	owner map[string]string
	owned bool // a release must name the owner
	wake  func(string)
	subs  map[string]bool
	log   []string // "listen", "add k", "remove k", "close"
}

func newService() *service {
	return &service{
		traits: drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		held:   map[string]time.Time{},
		owner:  map[string]string{},
		subs:   map[string]bool{},
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

// lose frees the lock without a publication, like a broken connection.
func (s *service) lose(key string) {
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
	at               []time.Duration // when each try was made, from base
}

// tried returns how often the session has tried, also while others go on.
func (s *session) tried() int {
	s.svc.mu.Lock()
	defer s.svc.mu.Unlock()
	return s.tries
}

func (s *session) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.svc.mu.Lock()
	s.tries++
	s.svc.mu.Unlock()
	s.at = append(s.at, time.Since(s.base))
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

// stage is a test of the clients of a room, or of several, on the clock of a bubble.
type stage struct {
	*testing.T
	svc     *service
	options wait.Options
	room    *wait.Room
	start   time.Time
	all     sync.WaitGroup
	clients int
	wakes   []func(string)
}

// on runs a test of clients that wait on svc in this way. All of them have to end.
func on(t *testing.T, kind string, svc drivers.Service, o wait.Options, f func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, options: o}
		switch svc := svc.(type) {
		case *service:
			s.svc = svc
		case deaf:
			s.svc = svc.Service.(*service)
		case endless:
			s.svc = svc.Service.(*service)
		case voting:
			s.svc = svc.service
		}
		s.room, s.start = newRoom(t, kind, svc, o), time.Now()
		f(s)
		s.all.Wait()
		closeRoom(t, s.room)
	})
}

// then starts f, and returns when it sleeps.
func (s *stage) then(f func()) {
	s.all.Go(f)
	synctest.Wait()
}

// took checks how long the test has lasted.
func (s *stage) took(want time.Duration) {
	s.Helper()
	if took := time.Since(s.start); took != want {
		s.Errorf("took %v, want %v", took, want)
	}
}

// saw checks all requests of listeners so far.
func (s *stage) saw(want ...string) {
	s.Helper()
	synctest.Wait()
	if log := s.svc.noted(); !slices.Equal(log, want) {
		s.Errorf("the server was asked for %v, want %v", log, want)
	}
}

// otherRoom adds a room on the same service, as of another process. Messages reach the rooms in their order.
func (s *stage) otherRoom() *wait.Room {
	if s.wakes == nil {
		s.wakes = append(s.wakes, s.svc.wake)
	}
	room := newRoom(s.T, wait.Queue, s.svc, s.options)
	s.wakes = append(s.wakes, s.svc.wake)
	s.svc.wake = func(key string) {
		for _, wake := range s.wakes {
			wake(key)
		}
	}
	return room
}

// client is a session with its waiter and its lease.
type client struct {
	*session
	t      testing.TB
	use    drivers.Session // the session returned by the room
	waiter drivers.Waiter
	lease  drivers.Lease
	clock  drivers.Clock
}

// client makes the next client, which wants key for a minute and waits for ever.
func (s *stage) client(key string) *client {
	s.Helper()
	return s.as(key, func(inner *session) drivers.Session { return inner })
}

// as makes a client with another session around its own.
func (s *stage) as(key string, around func(*session) drivers.Session) *client {
	s.Helper()
	s.clients++
	return newClient(s.T, s.svc, s.room, s.clients-1, key, around)
}

// line makes n clients of k.
func (s *stage) line(n int) (list []*client) {
	for range n {
		list = append(list, s.client("k"))
	}
	return list
}

func newRoom(t testing.TB, kind string, svc drivers.Service, o wait.Options) *wait.Room {
	t.Helper()
	room, err := wait.NewRoom(t.Context(), kind, svc, o)
	if err != nil {
		t.Fatal(err)
	}
	return room
}

func newClient(t testing.TB, svc *service, room *wait.Room, id int, key string, around func(*session) drivers.Session) *client {
	t.Helper()
	c := &client{
		session: &session{svc: svc, base: time.Now()}, t: t,
		lease: drivers.Lease{Key: key, TTL: time.Minute}, clock: drivers.NewClock(),
	}
	var err error
	if c.use, c.waiter, err = room.Client(around(c.session), id); err != nil {
		t.Fatal(err)
	}
	return c
}

// timeout sets the lease's deadline.
func (c *client) timeout(d time.Duration) { c.lease.Deadline = time.Now().Add(d) }

func (c *client) acquire(ctx context.Context) (wait.Attempt, error) {
	return acquire(ctx, c.use, c.waiter, &c.lease, &c.clock)
}

// must acquires, which has to succeed.
func (c *client) must() {
	c.t.Helper()
	if a, err := c.acquire(c.t.Context()); !a.Held || err != nil {
		c.t.Errorf("got %+v, %v", a, err)
	}
}

// mustNot tries until its deadline, and is granted nothing.
func (c *client) mustNot() {
	c.t.Helper()
	if a, err := c.acquire(c.t.Context()); a.Held || err != nil {
		c.t.Errorf("got %+v, %v", a, err)
	}
}

// free releases, which must find the lock still owned.
func (c *client) free() {
	c.t.Helper()
	if owned, err := c.use.Release(c.t.Context(), &c.lease); !owned || err != nil {
		c.t.Errorf("Release = %v, %v", owned, err)
	}
}

// ask tries once, and expects that answer after so many tries at the server in all.
func (c *client) ask(want bool, tries int) {
	c.t.Helper()
	if held, err := c.use.Try(c.t.Context(), &c.lease); held != want || err != nil || c.tries != tries {
		c.t.Errorf("Try = %v, %v after %d tries at the server; want %v after %d", held, err, c.tries, want, tries)
	}
}

// triedAt checks when its tries were made, from the time when it was made.
func (c *client) triedAt(want ...time.Duration) {
	c.t.Helper()
	if !slices.Equal(c.at, want) {
		c.t.Errorf("tries at %v, want %v", c.at, want)
	}
}

// closeRoom closes the room and fails the test if that fails.
func closeRoom(t testing.TB, r *wait.Room) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
