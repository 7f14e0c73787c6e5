package drivertest

// Holders that do not die as they should, and probes that do not probe.

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// crashing returns bound with another Crash.
func crashing(crash func(*boundSession)) drivers.Driver {
	return newBound(func(b *bound) { b.afterCrash = crash })
}

// leaking is a service that keeps a goroutine for every session that it ever had.
type leaking struct {
	wrapped
	closed chan struct{}
}

func (h leaking) Session(ctx context.Context, id int) (drivers.Session, error) {
	go func() { <-h.closed }()
	return h.Service.Session(ctx, id)
}

func (h leaking) Close() error {
	close(h.closed)
	return h.Service.Close()
}

var brokenCrashes = []broken{
	{"tells the service when it crashes", crashing(func(s *boundSession) {
		s.dead, s.gone = true, true
		s.end()
	}), "crash"},
	{"tells the service soon after it has crashed", crashing(func(s *boundSession) {
		s.dead, s.gone = true, true
		time.AfterFunc(poll, s.end)
	}), "crash"},
	{"is kept alive after it has crashed", crashing(func(s *boundSession) { s.dead, s.gone = true, true }), "crash"},
	{"goes on to try after it has crashed", crashing(func(s *boundSession) {
		s.gone = true
		time.AfterFunc(s.lock.timeout, s.end)
	}), "crash"},
	{"goes on to release after it has crashed", crashing(func(s *boundSession) {
		s.dead = true
		time.AfterFunc(s.lock.timeout, s.end)
	}), "crash"},
	{"takes all sessions with it when it crashes", crashing(func(s *boundSession) {
		s.dead, s.gone = true, true
		time.AfterFunc(s.lock.timeout, func() {
			s.lock.mu.Lock()
			defer s.lock.mu.Unlock()
			for other := range s.lock.sessions {
				other.end()
			}
		})
	}), "crash"},
	{"takes a client for the dead one that had its number", reentrantBy(func() func(id int) holds {
		var clients table[holds]
		return func(id int) holds {
			h := clients.get(strconv.Itoa(id))
			if h == nil {
				h = holds{}
				clients.set(strconv.Itoa(id), h)
			}
			return h
		}
	}, false), "crash"},
	{"leaves a goroutine behind when it crashes", services(func(s drivers.Service) drivers.Service {
		return leaking{wrapped{s}, make(chan struct{})}
	}), "crashes"},
}

// probing is a service with another Probe, which gets the original one.
type probing struct {
	wrapped
	probe func(ctx context.Context, right func(context.Context) error) error
}

func (p probing) Probe(ctx context.Context) error {
	inner, _ := drivers.As[drivers.Prober](p.Service)
	return p.probe(ctx, inner.Probe)
}

// probedBy makes a Probe for each service.
func probedBy(probe func() func(ctx context.Context, right func(context.Context) error) error) drivers.Driver {
	return services(func(s drivers.Service) drivers.Service { return probing{wrapped{s}, probe()} })
}

type asked = func(ctx context.Context, right func(context.Context) error) error

var brokenProbes = []broken{
	{"cannot be probed", probedBy(func() asked {
		return func(context.Context, func(context.Context) error) error { return errors.New("unknown command") }
	}), "probe"},
	{"probes whatever its context says", probedBy(func() asked {
		return func(ctx context.Context, right func(context.Context) error) error {
			return right(context.WithoutCancel(ctx))
		}
	}), "probe"},
	{"answers a probe from memory", probedBy(func() asked {
		known := false
		return func(ctx context.Context, right func(context.Context) error) error {
			if err := right(ctx); err != nil && (!known || ctx.Err() != nil) {
				return err
			}
			known = true
			return nil
		}
	}), "probe over a cut"},
	{"waits with a probe until it is heard", probedBy(func() asked {
		return func(ctx context.Context, right func(context.Context) error) error {
			for {
				err := right(ctx)
				if err == nil || ctx.Err() != nil {
					return err
				}
				time.Sleep(poll)
			}
		}
	}), "probe over a cut"},
	{"probes no more after an outage", probedBy(func() asked {
		var down error
		return func(ctx context.Context, right func(context.Context) error) error {
			if err := right(ctx); err != nil {
				down = err
			}
			return down
		}
	}), "probe over a cut"},
}
