package breakable_test

// The defects that are planted in sound drivers.

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// plant makes a session that has a defect.
type plant func(drivers.Session) drivers.Session

// calls is a session that does some things in another way.
type calls struct {
	drivers.Session
	try, release func(context.Context, *drivers.Lease) (bool, error)
}

func (c calls) Unwrap() drivers.Session { return c.Session }

func (c calls) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if c.try == nil {
		return c.Session.Try(ctx, l)
	}
	return c.try(ctx, l)
}

func (c calls) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if c.release == nil {
		return c.Session.Release(ctx, l)
	}
	return c.release(ctx, l)
}

// renews is a session that renews in another way.
type renews struct {
	drivers.Session
	renew func(context.Context, *drivers.Lease) (bool, error)
}

func (r renews) Unwrap() drivers.Session { return r.Session }

func (r renews) Renew(ctx context.Context, l *drivers.Lease) (bool, error) { return r.renew(ctx, l) }

// holder is who was granted a key last, and with what.
type holder struct {
	session drivers.Session
	lease   drivers.Lease
}

var holders sync.Map // of keys

func releasesAnyOwner(s drivers.Session) drivers.Session {
	c := recording(s)
	c.release = func(ctx context.Context, l *drivers.Lease) (bool, error) {
		if h, ok := holders.LoadAndDelete(l.Key); ok {
			h := h.(*holder)
			return h.session.Release(ctx, &h.lease)
		}
		return s.Release(ctx, l)
	}
	return c
}

func releasesNothing(s drivers.Session) drivers.Session {
	return calls{Session: s, release: func(context.Context, *drivers.Lease) (bool, error) { return true, nil }}
}

func confirmsEveryRelease(s drivers.Session) drivers.Session {
	return calls{Session: s, release: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		_, err := s.Release(ctx, l)
		return err == nil, err
	}}
}

func grantsRefused(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		_, err := s.Try(ctx, l)
		return err == nil, err
	}}
}

func grantsErrors(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		return held || err != nil, nil
	}}
}

func refusesErrors(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		return held && err == nil, nil
	}}
}

func leasesForAnHour(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		ttl := l.TTL
		l.TTL = time.Hour
		defer func() { l.TTL = ttl }()
		return s.Try(ctx, l)
	}}
}

func reentersByItself(s drivers.Session) drivers.Session {
	depth := map[string]int{}
	return calls{s, func(ctx context.Context, l *drivers.Lease) (held bool, err error) {
		if held = depth[l.Key] > 0; !held {
			held, err = s.Try(ctx, l)
		}
		if held {
			depth[l.Key]++
		}
		return held, err
	}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		if depth[l.Key]--; depth[l.Key] > 0 {
			return true, nil
		}
		return s.Release(ctx, l)
	}}
}

// holdsUntilReleased forgets a hold only when the server has confirmed its release, and not when its connection or its session
// has ended.
func holdsUntilReleased(s drivers.Session) drivers.Session {
	owners := map[string]string{} // of the keys that it believes to hold
	return calls{s, func(ctx context.Context, l *drivers.Lease) (held bool, err error) {
		if owner, believes := owners[l.Key]; believes {
			l.Reset()
			l.Owner = owner
			return true, nil
		}
		if held, err = s.Try(ctx, l); held {
			owners[l.Key] = l.Owner
		}
		return held, err
	}, func(ctx context.Context, l *drivers.Lease) (owned bool, err error) {
		if owned, err = s.Release(ctx, l); owned {
			delete(owners, l.Key)
		}
		return owned, err
	}}
}

// fences returns a defect of the fencing token.
func fences(token func(uint64) uint64) plant {
	return func(s drivers.Session) drivers.Session {
		return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			l.Fence = token(l.Fence)
			return held, err
		}}
	}
}

func repeats(uint64) uint64     { return 7 }
func falls(fence uint64) uint64 { return 1<<63 - fence }
func isMissing(uint64) uint64   { return 0 }

// renewsByItsClock sends nothing, and says that it has the lease for as long as that lasts.
func renewsByItsClock(s drivers.Session) drivers.Session {
	var ends time.Time
	return renews{calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		ends = time.Now().Add(l.TTL)
		return s.Try(ctx, l)
	}}, func(context.Context, *drivers.Lease) (bool, error) { return time.Now().Before(ends), nil }}
}

func renewsRefused(s drivers.Session) drivers.Session {
	r, _ := drivers.As[drivers.Renewer](s)
	return renews{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		_, err := r.Renew(ctx, l)
		return err == nil, err
	}}
}

func renewsErrors(s drivers.Session) drivers.Session {
	r, _ := drivers.As[drivers.Renewer](s)
	return renews{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := r.Renew(ctx, l)
		return owned || err != nil, nil
	}}
}

// mutant is a driver whose services have a defect.
type mutant struct {
	drivers.Driver
	plant func(drivers.Service) drivers.Service
}

// Library implements drivers.Described.
func (m mutant) Library() drivers.Library { return drivers.LibraryOf(m.Driver) }

func (m mutant) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := m.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return m.plant(s), nil
}

// addressed is a mutant that needs a server.
type addressed struct {
	mutant
	drivers.Addressed
}

// service is one whose sessions have a defect.
type service struct {
	drivers.Service
	plant plant
}

func (s service) Unwrap() drivers.Service { return s.Service }

func (s service) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.plant(inner), nil
}

// asked has a channel for each key, which is closed once its waiter has asked for the rest of the lease.
var asked sync.Map

// subscribesLast is the service of waiters that subscribe only when they have tried again and are about to sleep.
func subscribesLast(s drivers.Service) drivers.Service {
	return late{service{s, func(s drivers.Session) drivers.Session { return asking{s} }}}
}

type asking struct{ drivers.Session }

func (a asking) Unwrap() drivers.Session { return a.Session }

func (a asking) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	if done, ok := asked.LoadAndDelete(l.Key); ok {
		defer close(done.(chan struct{}))
	}
	r, _ := drivers.As[drivers.Remainer](a.Session) // it expires, so it has one
	return r.Remaining(ctx, l)
}

// late takes a waiter for subscribed at once.
type late struct{ service }

func (l late) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	sub, ok := drivers.As[drivers.Subscriber](l.Service)
	if !ok {
		return nil, errors.New("its releases cannot be listened to")
	}
	inner, err := sub.Listen(ctx, wake)
	return &lateListener{Listener: inner}, err
}

type lateListener struct {
	drivers.Listener
	adding sync.WaitGroup
}

func (l *lateListener) Add(ctx context.Context, key string) error {
	done := make(chan struct{})
	asked.Store(key, done)
	l.adding.Go(func() {
		select {
		case <-done:
			_ = l.Listener.Add(ctx, key) // its waiter sleeps until the lease ends then
		case <-ctx.Done():
		}
	})
	return nil
}

// Close ends the subscription; the hub has ended the context of those under way.
func (l *lateListener) Close() error {
	err := l.Listener.Close()
	l.adding.Wait()
	return err
}

// sleepsOverLoss does not wake those who may have missed a message.
func sleepsOverLoss(s drivers.Service) drivers.Service {
	return deaf{service{s, func(s drivers.Session) drivers.Session { return s }}}
}

type deaf struct{ service }

func (d deaf) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	sub, _ := drivers.As[drivers.Subscriber](d.Service) // it wakes
	return sub.Listen(ctx, func(key string) {
		if key != "" {
			wake(key)
		}
	})
}

// livesForAMinute is a driver whose sessions outlive their holder.
func livesForAMinute(sound drivers.Driver) drivers.Driver {
	return patient{sound, sound.(drivers.Addressed)}
}

type patient struct {
	drivers.Driver
	drivers.Addressed
}

// Library implements drivers.Described.
func (p patient) Library() drivers.Library { return drivers.LibraryOf(p.Driver) }

func (p patient) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	cfg.TTL = time.Minute
	return p.Driver.Open(ctx, cfg)
}
