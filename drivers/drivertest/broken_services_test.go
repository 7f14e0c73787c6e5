package drivertest

// Broken answers to outages, and broken services.

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// failing changes the results of both calls.
func failing(change func(l *drivers.Lease, held bool, err error) (bool, error)) drivers.Driver {
	return sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			return change(l, held, err)
		}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.Release(ctx, l)
			return change(l, owned, err)
		}}
	})
}

func swallow(class drivers.Class) drivers.Driver {
	return failing(func(_ *drivers.Lease, answer bool, err error) (bool, error) {
		if err != nil && drivers.ClassOf(err) == class {
			return false, nil
		}
		return answer, err
	})
}

var brokenOutages = []broken{
	{"calls a cancelled attempt contention", swallow(drivers.ClassCanceled), "cancelled"},
	{"calls a late attempt contention", swallow(drivers.ClassTimeout), "cancelled"},
	{"does not look at the context", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			return s.Try(context.WithoutCancel(ctx), l)
		}, nil}
	}), "cancelled"},
	{"hangs when it is cancelled", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			if ctx.Err() != nil {
				time.Sleep(slack + time.Second)
			}
			return s.Try(ctx, l)
		}, nil}
	}), "cancelled"},
	{"gives a cancelled attempt another name", failing(func(_ *drivers.Lease, answer bool, err error) (bool, error) {
		if errors.Is(err, context.Canceled) {
			err = errors.New("failed")
		}
		return answer, err
	}), "cancelled"},
	{"takes effect without an owner when cancelled", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			if ctx.Err() == nil {
				return s.Try(ctx, l)
			}
			sent := *l
			s.Try(context.WithoutCancel(ctx), &sent)
			return false, ctx.Err()
		}, nil}
	}), "cancelled"},
	{"takes what an attempt was granted at its end for refused", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if held && ctx.Done() != nil {
				if time.Sleep(brokenFor); ctx.Err() != nil {
					return false, &drivers.Error{Class: drivers.ClassServer, Op: "try", Err: ctx.Err()}
				}
			}
			return held, err
		}, nil}
	}), "attempt ends at a release"},
	{"calls an outage contention", swallow(drivers.ClassConnect), "cut"},
	{"answers from memory during an outage", failing(func(l *drivers.Lease, answer bool, err error) (bool, error) {
		if err != nil && drivers.ClassOf(err) == drivers.ClassConnect {
			return true, nil
		}
		return answer, err
	}), "cut"},
	{"never comes back", sessions(func(s drivers.Session, _ int) drivers.Session {
		var down error
		once := func(call answer) answer {
			return func(ctx context.Context, l *drivers.Lease) (bool, error) {
				if down != nil {
					return false, down
				}
				answer, err := call(ctx, l)
				if err != nil && drivers.ClassOf(err) == drivers.ClassConnect {
					down = err
				}
				return answer, err
			}
		}
		return calls{s, once(s.Try), once(s.Release)}
	}), "cut"},
	{"does not tell that messages may be lost", filtered(func(wake func(string)) func(string) {
		return func(key string) {
			if key != "" {
				wake(key)
			}
		}
	}), "listener after a cut"},
	{"hears nothing after a cut", filtered(func(wake func(string)) func(string) {
		var deaf atomic.Bool
		return func(key string) {
			if !deaf.Load() {
				wake(key)
			}
			if key == "" {
				deaf.Store(true)
			}
		}
	}), "listener after a cut"},
	{"calls the end of its patience an error", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			start := time.Now()
			held, err := s.Try(ctx, l)
			if time.Since(start) > l.TTL {
				return false, os.ErrDeadlineExceeded
			}
			return held, err
		}, nil}
	}), "reply after a limit"},
	{"calls a lost reply contention", swallow(drivers.ClassClosed), "lost reply"},
	{"forgets the owner when it fails", failing(func(l *drivers.Lease, answer bool, err error) (bool, error) {
		if err != nil {
			l.Owner = ""
		}
		return answer, err
	}), "lost reply"},
	{"says that a lost reply is a refusal", failing(func(_ *drivers.Lease, answer bool, err error) (bool, error) {
		if err != nil && drivers.ClassOf(err) == drivers.ClassClosed {
			err = &drivers.Error{Class: drivers.ClassServer, Op: "try", Err: err}
		}
		return answer, err
	}), "lost reply"},
	{"changes the owner after sending", failing(func(l *drivers.Lease, answer bool, err error) (bool, error) {
		if err != nil && drivers.ClassOf(err) == drivers.ClassClosed {
			l.Owner += "!"
		}
		return answer, err
	}), "lost reply"},
}

// cleaning is a service with another Clean.
type cleaning struct {
	wrapped
	alter func(keys []string) []string
}

func (c cleaning) Clean(ctx context.Context, keys []string) error {
	inner, _ := drivers.As[drivers.Cleaner](c.Service)
	return inner.Clean(ctx, c.alter(keys))
}

func cleaningOnly(alter func(keys []string) []string) drivers.Driver {
	return services(func(s drivers.Service) drivers.Service { return cleaning{wrapped{s}, alter} })
}

// cleaningAll ignores the keys that it was given.
type cleaningAll struct {
	wrapped
	tried *table[bool]
}

func (c cleaningAll) Clean(ctx context.Context, _ []string) error {
	inner, _ := drivers.As[drivers.Cleaner](c.Service)
	var keys []string
	for key := range c.tried.m {
		keys = append(keys, key)
	}
	return inner.Clean(ctx, keys)
}

func (c cleaningAll) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := c.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		c.tried.set(l.Key, true)
		return s.Try(ctx, l)
	}, nil}, nil
}

type pinging struct {
	wrapped
	ping func(ctx context.Context) error
}

func (p pinging) Ping(ctx context.Context) error { return p.ping(ctx) }

type inspecting struct {
	wrapped
	look func(n int64) (drivers.Server, drivers.Usage)
	n    *int64
}

func (i inspecting) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	*i.n++
	server, usage := i.look(*i.n)
	return server, usage, nil
}

func inspectedAs(look func(n int64) (drivers.Server, drivers.Usage)) drivers.Driver {
	return services(func(s drivers.Service) drivers.Service { return inspecting{wrapped{s}, look, new(int64)} })
}

// counted is a service that counts its own round trips, wrongly: some are forgotten, looking costs one, and sessions
// take their counts along when they are closed.
type counted struct {
	wrapped
	trips        *atomic.Int64
	forgets      int64 // that many of ten
	looking, per bool
}

type countedSession struct {
	drivers.Session
	mine, trips *atomic.Int64
}

func (s countedSession) Unwrap() drivers.Session { return s.Session }

func (s countedSession) Close() error {
	s.trips.Add(-s.mine.Load())
	return nil
}

func (c counted) Traffic() drivers.Traffic {
	n := c.trips.Load()
	if c.looking {
		c.trips.Add(1)
	}
	return drivers.Traffic{RoundTrips: n - n*c.forgets/10}
}

func (c counted) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := c.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	mine := new(atomic.Int64)
	count := func(call answer) answer {
		return func(ctx context.Context, l *drivers.Lease) (bool, error) {
			mine.Add(1)
			c.trips.Add(1)
			return call(ctx, l)
		}
	}
	s = calls{s, count(s.Try), count(s.Release)}
	if c.per {
		s = countedSession{s, mine, c.trips}
	}
	return s, nil
}

func counting(forgets int64, looking, per bool) drivers.Driver {
	return services(func(s drivers.Service) drivers.Service {
		return counted{wrapped{s}, new(atomic.Int64), forgets, looking, per}
	})
}

// ending is a service with another Close.
type ending struct {
	wrapped
	end func(drivers.Service) error
}

func (e ending) Close() error { return e.end(e.Service) }

func endingBy(end func(drivers.Service) error) drivers.Driver {
	return services(func(s drivers.Service) drivers.Service { return ending{wrapped{s}, end} })
}

// limited opens only sessions below a number.
type limited struct {
	wrapped
	limit int
}

func (l limited) Session(ctx context.Context, id int) (drivers.Session, error) {
	if id >= l.limit {
		return nil, errors.New("too many sessions")
	}
	return l.Service.Session(ctx, id)
}

// heavy is a session with a large buffer.
type heavy struct {
	drivers.Session
	ballast []byte
}

func (h heavy) Unwrap() drivers.Session { return h.Session }

var brokenServices = []broken{
	{"cleans nothing", cleaningOnly(func([]string) []string { return nil }), "clean"},
	{"cleans the first hundred keys", cleaningOnly(func(keys []string) []string { return keys[:min(len(keys), 100)] }), "clean"},
	{"cleans all keys that were ever used", services(func(s drivers.Service) drivers.Service {
		return cleaningAll{wrapped{s}, &table[bool]{}}
	}), "clean"},
	{"cannot be pinged", services(func(s drivers.Service) drivers.Service {
		return pinging{wrapped{s}, func(context.Context) error { return errors.New("unknown command") }}
	}), "ping"},
	{"pings no server", services(func(s drivers.Service) drivers.Service {
		return pinging{wrapped{s}, func(context.Context) error { return nil }}
	}), "ping"},
	{"has no name", inspectedAs(func(int64) (drivers.Server, drivers.Usage) { return drivers.Server{}, drivers.Usage{CPU: -1} }), "inspect"},
	{"is another server each time", inspectedAs(func(n int64) (drivers.Server, drivers.Usage) {
		return drivers.Server{Name: "memory", RunID: string(rune('a' + n))}, drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	}), "inspect"},
	{"counts no commands", inspectedAs(func(int64) (drivers.Server, drivers.Usage) {
		return drivers.Server{Name: "memory"}, drivers.Usage{CPU: -1, Commands: 5, BytesIn: -1, BytesOut: -1}
	}), "inspect"},
	{"has CPU time that falls", inspectedAs(func(n int64) (drivers.Server, drivers.Usage) {
		return drivers.Server{Name: "memory"}, drivers.Usage{CPU: time.Duration(9 - n), Commands: -1, BytesIn: -1, BytesOut: -1}
	}), "inspect"},
	{"counts half of its round trips", counting(5, false, false), "traffic"},
	{"counts how often it is asked", counting(0, true, false), "traffic"},
	{"counts those sessions only that are open", counting(0, false, true), "traffic"},
	{"opens sixty sessions", services(func(s drivers.Service) drivers.Service { return limited{wrapped{s}, 60} }), "crowd"},
	{"makes heavy sessions", sessions(func(s drivers.Session, _ int) drivers.Session {
		return heavy{s, make([]byte, 221<<10)}
	}), "crowd"},
	{"goes on after Close", endingBy(func(drivers.Service) error { return nil }), "close"},
	{"refuses politely after Close", swallowAfterClose{memory.Driver{}}, "close"},
	{"leaks a goroutine", endingBy(func(s drivers.Service) error {
		go time.Sleep(time.Hour)
		return s.Close()
	}), "goroutines"},
}

// swallowAfterClose takes a closed service for a taken lock.
type swallowAfterClose struct{ drivers.Driver }

func (d swallowAfterClose) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	return altered{Driver: d.Driver, session: func() func(drivers.Session, int) drivers.Session {
		return func(s drivers.Session, _ int) drivers.Session {
			return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
				held, err := s.Try(ctx, l)
				if drivers.ClassOf(err) == drivers.ClassClosed {
					return false, nil
				}
				return held, err
			}, nil}
		}
	}}.Open(ctx, cfg)
}
