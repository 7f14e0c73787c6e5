package drivertest

// How the locks of the suite's own tests are made: memory with faults, a call or two of which are changed.

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/memory"
)

// faulty returns memory that can be cut off and muted.
func faulty() drivers.Driver { return fault.NewDriver(memory.Driver{}) }

type (
	call    = func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error)
	waiting = func(s *seat, ctx context.Context, l *drivers.Lease) error
)

// altered is a driver that changes the claims and products of another one. Nil functions change nothing.
type altered struct {
	drivers.Driver
	traits              func(*drivers.Traits)                 // of the design and of the service
	open                func(*drivers.Config) error           // before the service is opened
	told                func(*drivers.Traits, drivers.Config) // of the service alone
	service             func(drivers.Service) drivers.Service
	try, release, renew call
	adopt               func(s *seat, owner string)
	remaining           func(s *seat, ctx context.Context, l *drivers.Lease) (time.Duration, error)
	wait, leave         waiting // a wait makes sessions Waiters
	block               func(s *seat, ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error)
	wrap                func(s drivers.Session, id int) drivers.Session // instead of all of these
}

// lock returns memory with faults, altered.
func lock(a altered) drivers.Driver {
	if a.Driver == nil {
		a.Driver = faulty()
	}
	return a
}

func claiming(traits func(*drivers.Traits)) drivers.Driver { return lock(altered{traits: traits}) }
func trying(try call) drivers.Driver                       { return lock(altered{try: try}) }
func releasing(release call) drivers.Driver                { return lock(altered{release: release}) }
func claimWaits(t *drivers.Traits)                         { t.Waits = true }

func (d altered) Designs() []drivers.Design {
	designs := d.Driver.Designs()
	if d.traits != nil {
		d.traits(&designs[0].Traits)
	}
	return designs
}

func (d altered) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	asked := cfg
	if d.open != nil {
		if err := d.open(&cfg); err != nil {
			return nil, err
		}
	}
	svc, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	svc = &alteredService{svc, d, asked, &shared{queue: map[string][]int{}}}
	if d.service != nil {
		svc = d.service(svc)
	}
	return svc, nil
}

type alteredService struct {
	drivers.Service
	lock  altered
	cfg   drivers.Config
	state *shared
}

func (s *alteredService) Unwrap() drivers.Service { return s.Service }

func (s *alteredService) Traits() drivers.Traits {
	t := s.Service.Traits()
	if s.lock.traits != nil {
		s.lock.traits(&t)
	}
	if s.lock.told != nil {
		s.lock.told(&t, s.cfg)
	}
	return t
}

func (s *alteredService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	d := s.lock
	switch own := d.try != nil || d.release != nil || d.renew != nil || d.adopt != nil || d.remaining != nil; {
	case err != nil:
		return nil, err
	case d.wrap != nil:
		return d.wrap(inner, id), nil
	case !own && d.wait == nil && d.block == nil:
		return inner, nil
	}
	seat := &seat{inner, d, id, s.state, map[string]drivers.Lease{}, map[string]int{}}
	switch {
	case d.wait != nil:
		return waitingSeat{seat}, nil
	case d.block != nil:
		return sleepingSeat{seat}, nil
	}
	return seat, nil
}

// shared is what the sessions of a service have in common.
type shared struct {
	holders table[drivers.Lease] // the last lease that was granted of each key
	n       table[int]

	mu    sync.Mutex
	queue map[string][]int // the numbers of the sessions that wait
}

// seat is a session of an altered lock.
type seat struct {
	drivers.Session
	lock  altered
	id    int
	all   *shared
	mine  map[string]drivers.Lease // the last lease that it was granted, of each key
	count map[string]int
}

func (s *seat) Unwrap() drivers.Session { return s.Session }

// grant is the original Try. It notes what is granted.
func (s *seat) grant(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := s.Session.Try(ctx, l)
	if held {
		kept := *l
		kept.ValidUntil = time.Now().Add(l.TTL)
		s.mine[l.Key] = kept
		s.all.holders.set(l.Key, kept)
	}
	return held, err
}

// left returns how long the present lease of a key lasts; 0 means that it is free.
func (s *seat) left(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	return capability[drivers.Remainer](s.Session).Remaining(ctx, l)
}

// extend is the original Renew, of a copy of a lease.
func (s *seat) extend(ctx context.Context, l drivers.Lease, ttl time.Duration) (bool, error) {
	l.TTL = ttl
	return capability[drivers.Renewer](s.Session).Renew(ctx, &l)
}

func (s *seat) holds(l drivers.Lease) bool {
	owned, err := s.extend(context.Background(), l, l.TTL)
	return owned && err == nil
}

// free releases, by its owner, what was granted last.
func (s *seat) free(ctx context.Context, key string) (bool, error) {
	return s.Session.Release(ctx, &drivers.Lease{Key: key, Owner: s.all.holders.get(key).Owner})
}

func (s *seat) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.lock.try != nil {
		return s.lock.try(s, ctx, l)
	}
	return s.grant(ctx, l)
}

func (s *seat) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.lock.release != nil {
		return s.lock.release(s, ctx, l)
	}
	return s.Session.Release(ctx, l)
}

func (s *seat) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.lock.renew != nil {
		return s.lock.renew(s, ctx, l)
	}
	return capability[drivers.Renewer](s.Session).Renew(ctx, l)
}

func (s *seat) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	if s.lock.remaining != nil {
		return s.lock.remaining(s, ctx, l)
	}
	return s.left(ctx, l)
}

func (s *seat) Adopt(owner string) {
	if s.lock.adopt != nil {
		s.lock.adopt(s, owner)
		return
	}
	capability[drivers.Adopter](s.Session).Adopt(owner)
}

type waitingSeat struct{ *seat }

func (s waitingSeat) Wait(ctx context.Context, l *drivers.Lease) error {
	return s.lock.wait(s.seat, ctx, l)
}

func (s waitingSeat) Leave(ctx context.Context, l *drivers.Lease) error {
	if s.lock.leave != nil {
		return s.lock.leave(s.seat, ctx, l)
	}
	return nil
}

type sleepingSeat struct{ *seat }

func (s sleepingSeat) Block(ctx context.Context, l *drivers.Lease, d time.Duration) (bool, error) {
	return s.lock.block(s.seat, ctx, l, d)
}

func (s sleepingSeat) Rouse(_ context.Context, l *drivers.Lease) error {
	s.all.n.set(l.Key, 1)
	return nil
}

// shop is a service with other capabilities than memory's.
type shop struct {
	drivers.Service
	session func(ctx context.Context, id int) (drivers.Session, error)
	clean   func(ctx context.Context, keys []string) error
	ping    func(ctx context.Context) error
	probe   func(ctx context.Context) error
	inspect func(ctx context.Context) (drivers.Server, drivers.Usage, error)
	listen  func(ctx context.Context, wake func(string)) (drivers.Listener, error)
	end     func() error
}

// serving changes a service, all of whose capabilities are filled in.
func serving(change func(s *shop)) drivers.Driver {
	return lock(altered{service: func(svc drivers.Service) drivers.Service {
		cleaner, _ := drivers.As[drivers.Cleaner](svc)
		pinger, _ := drivers.As[drivers.Pinger](svc)
		prober, _ := drivers.As[drivers.Prober](svc)
		inspector, _ := drivers.As[drivers.Inspector](svc)
		subscriber, _ := drivers.As[drivers.Subscriber](svc)
		s := &shop{svc, svc.Session, cleaner.Clean, pinger.Ping, prober.Probe, inspector.Inspect, subscriber.Listen, svc.Close}
		change(s)
		return s
	}})
}

func (s *shop) Session(ctx context.Context, id int) (drivers.Session, error) {
	return s.session(ctx, id)
}
func (s *shop) Clean(ctx context.Context, keys []string) error { return s.clean(ctx, keys) }
func (s *shop) Ping(ctx context.Context) error                 { return s.ping(ctx) }
func (s *shop) Probe(ctx context.Context) error                { return s.probe(ctx) }
func (s *shop) Close() error                                   { return s.end() }

func (s *shop) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	return s.inspect(ctx)
}

func (s *shop) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	return s.listen(ctx, wake)
}

// counted is a service that counts its own round trips, or forgets half of them.
type counted struct {
	drivers.Service
	trips *atomic.Int64
	half  bool
}

func (c counted) Unwrap() drivers.Service { return c.Service }

func (c counted) Traffic() drivers.Traffic {
	if c.half {
		return drivers.Traffic{RoundTrips: c.trips.Load() / 2}
	}
	return drivers.Traffic{RoundTrips: c.trips.Load()}
}

func counting(half bool) drivers.Driver {
	trips := new(atomic.Int64)
	return lock(altered{
		service: func(s drivers.Service) drivers.Service { return counted{s, trips, half} },
		try: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			trips.Add(1)
			return s.grant(ctx, l)
		},
		release: func(s *seat, ctx context.Context, l *drivers.Lease) (bool, error) {
			trips.Add(1)
			return s.Session.Release(ctx, l)
		},
	})
}

// listener has another Add or Remove, or a Close that does more; nil keeps the original.
type listener struct {
	drivers.Listener
	add, remove func(ctx context.Context, key string) error
}

func (l listener) Add(ctx context.Context, key string) error {
	if l.add == nil {
		return l.Listener.Add(ctx, key)
	}
	return l.add(ctx, key)
}

func (l listener) Remove(ctx context.Context, key string) error {
	if l.remove == nil {
		return l.Listener.Remove(ctx, key)
	}
	return l.remove(ctx, key)
}

// capability returns the capability C of a session that is known to have it.
func capability[C any](s drivers.Session) C {
	c, _ := drivers.As[C](s)
	return c
}

// table is the state of a lock. Its zero value is ready.
type table[V any] struct {
	mu sync.Mutex
	m  map[string]V
}

func (t *table[V]) get(key string) V {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.m[key]
}

func (t *table[V]) set(key string, v V) (before V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m == nil {
		t.m = map[string]V{}
	}
	before, t.m[key] = t.m[key], v
	return before
}

// addressed is a driver that claims to have a server.
type addressed struct{ drivers.Driver }

func (addressed) Service() string { return "memory" }

func (addressed) ReadAddr(addr string) (drivers.Addr, error) {
	return drivers.Addr{Redacted: addr}, nil
}

// poll is the pause of the native waits here; time is fake.
const poll = time.Millisecond

// pause sleeps for a poll, or until the deadline or the end of the context.
func pause(ctx context.Context, l *drivers.Lease) error {
	wait := poll
	if !l.Deadline.IsZero() {
		wait = min(wait, time.Until(l.Deadline))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func over(l *drivers.Lease) bool { return !l.Deadline.IsZero() && !time.Now().Before(l.Deadline) }

// until pauses until something is so, or the deadline has passed.
func until(ctx context.Context, l *drivers.Lease, so func() bool) error {
	for !over(l) && !so() {
		if err := pause(ctx, l); err != nil {
			return err
		}
	}
	return nil
}
