package drivertest

// How the locks of the suite's own tests are made from memory: one layer for each change.

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// altered is a driver that changes the claims and products of another one. Nil functions change nothing.
type altered struct {
	drivers.Driver
	traits  func(*drivers.Traits)
	open    func(cfg drivers.Config) error
	service func(drivers.Service) drivers.Service
	session func() func(s drivers.Session, id int) drivers.Session // called once per service
}

func (d altered) Designs() []drivers.Design {
	designs := d.Driver.Designs()
	if d.traits != nil {
		d.traits(&designs[0].Traits)
	}
	return designs
}

func (d altered) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	if d.open != nil {
		if err := d.open(cfg); err != nil {
			return nil, err
		}
	}
	svc, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if d.traits != nil || d.session != nil {
		a := &alteredService{Service: svc, alter: d.traits}
		if d.session != nil {
			a.wrap = d.session()
		}
		svc = a
	}
	if d.service != nil {
		svc = d.service(svc)
	}
	return svc, nil
}

type alteredService struct {
	drivers.Service
	alter func(*drivers.Traits)
	wrap  func(drivers.Session, int) drivers.Session
}

func (s *alteredService) Unwrap() drivers.Service { return s.Service }

func (s *alteredService) Traits() drivers.Traits {
	t := s.Service.Traits()
	if s.alter != nil {
		s.alter(&t)
	}
	return t
}

func (s *alteredService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil || s.wrap == nil {
		return inner, err
	}
	return s.wrap(inner, id), nil
}

// The layers that alter sessions, one for each capability.
type (
	answer = func(ctx context.Context, l *drivers.Lease) (bool, error)

	calls struct {
		drivers.Session
		try, release answer // nil: as before
	}
	renewing struct {
		drivers.Session
		renew answer
	}
	asking struct {
		drivers.Session
		remaining func(ctx context.Context, l *drivers.Lease) (time.Duration, error)
	}
	waiter struct {
		drivers.Session
		wait, leave func(ctx context.Context, l *drivers.Lease) error
	}
)

func (s calls) Unwrap() drivers.Session    { return s.Session }
func (s renewing) Unwrap() drivers.Session { return s.Session }
func (s asking) Unwrap() drivers.Session   { return s.Session }
func (s waiter) Unwrap() drivers.Session   { return s.Session }

func (s calls) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.try == nil {
		return s.Session.Try(ctx, l)
	}
	return s.try(ctx, l)
}

func (s calls) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.release == nil {
		return s.Session.Release(ctx, l)
	}
	return s.release(ctx, l)
}

func (s renewing) Renew(ctx context.Context, l *drivers.Lease) (bool, error) { return s.renew(ctx, l) }

func (s asking) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	return s.remaining(ctx, l)
}

func (s waiter) Wait(ctx context.Context, l *drivers.Lease) error  { return s.wait(ctx, l) }
func (s waiter) Leave(ctx context.Context, l *drivers.Lease) error { return s.leave(ctx, l) }

// capability returns the capability C of a session that is known to have it.
func capability[C any](s drivers.Session) C {
	c, _ := drivers.As[C](s)
	return c
}

// table is the state of a broken or naive lock. Its zero value is ready.
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
