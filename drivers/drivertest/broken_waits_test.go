package drivertest

// Broken waits and listeners.

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

type waiting func(ctx context.Context, l *drivers.Lease) error

// waitingBy returns polling with another Wait and Leave; nil keeps the original.
func waitingBy(make func(s drivers.Session) (wait, leave waiting)) drivers.Driver {
	return sessionsWaiting(func(s drivers.Session, _ int) drivers.Session {
		wait, leave := make(s)
		if wait == nil {
			wait = pause
		}
		if leave == nil {
			leave = func(context.Context, *drivers.Lease) error { return nil }
		}
		return waiter{s, wait, leave}
	})
}

func sessionsWaiting(wrap func(s drivers.Session, id int) drivers.Session) drivers.Driver {
	d := sessions(wrap).(altered)
	d.traits = claimWaits
	return d
}

// onRelease returns a lock whose waits end only at releases: the releases of each key are counted, and Wait sleeps
// until the count changes. start chooses the count with which a wait begins, from that at the last Try and the present
// one.
func onRelease(start func(first bool, atTry, now int) int, expiry bool) drivers.Driver {
	return altered{
		Driver: faulty(),
		traits: claimWaits,
		session: func() func(drivers.Session, int) drivers.Session {
			var count table[int]
			var mu sync.Mutex
			return func(s drivers.Session, _ int) drivers.Session {
				atTry, first := map[string]int{}, map[string]bool{}
				return waiter{calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					atTry[l.Key] = count.get(l.Key)
					return s.Try(ctx, l)
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					owned, err := s.Release(ctx, l)
					if owned {
						mu.Lock()
						count.set(l.Key, count.get(l.Key)+1)
						mu.Unlock()
					}
					return owned, err
				}}, func(ctx context.Context, l *drivers.Lease) error {
					seen := start(!first[l.Key], atTry[l.Key], count.get(l.Key))
					first[l.Key] = true
					left, _ := capability[drivers.Remainer](s).Remaining(ctx, l)
					end := time.Now().Add(left)
					for !over(l) && count.get(l.Key) == seen && !(expiry && left > 0 && !time.Now().Before(end)) {
						if err := pause(ctx, l); err != nil {
							return err
						}
					}
					return nil
				}, func(_ context.Context, l *drivers.Lease) error {
					delete(first, l.Key)
					return nil
				}}
			}
		},
	}
}

// queueingBut returns queueing with another Leave.
func queueingBut(leave func(ctx context.Context, l *drivers.Lease, leave waiting) error) drivers.Driver {
	return altered{
		Driver: faulty(),
		traits: func(t *drivers.Traits) { t.Fair, t.Waits = true, true },
		session: func() func(drivers.Session, int) drivers.Session {
			q := &line{queue: map[string][]int{}}
			return func(s drivers.Session, id int) drivers.Session {
				inner := q.session(s, id, false)
				w := capability[drivers.Waiter](inner)
				return waiter{inner, w.Wait, func(ctx context.Context, l *drivers.Lease) error {
					return leave(ctx, l, w.Leave)
				}}
			}
		},
	}
}

func atTryCount(_ bool, atTry, _ int) int { return atTry }

var brokenWaiting = []broken{
	{"polls every seven seconds", waitingBy(func(s drivers.Session) (wait, leave waiting) {
		return func(ctx context.Context, l *drivers.Lease) error {
			left, err := capability[drivers.Remainer](s).Remaining(ctx, l)
			if err != nil || left == 0 {
				return ctx.Err()
			}
			sleep := drivers.Lease{Deadline: time.Now().Add(min(left, slack+2*time.Second, max(0, time.Until(l.Deadline))))}
			for !over(&sleep) {
				if err := pause(ctx, &sleep); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}), "wait for a release"},
	{"begins to listen after the release", onRelease(func(first bool, atTry, now int) int {
		if first {
			return now
		}
		return atTry
	}, true), "wait after a release"},
	{"waits beyond the deadline", waitingBy(func(s drivers.Session) (wait, leave waiting) {
		return func(ctx context.Context, l *drivers.Lease) error {
			for {
				left, err := capability[drivers.Remainer](s).Remaining(ctx, l)
				if err != nil || left == 0 {
					return ctx.Err()
				}
				if err := pause(ctx, &drivers.Lease{}); err != nil {
					return err
				}
			}
		}, nil
	}), "wait ends at the deadline"},
	{"calls the deadline an error", waitingBy(func(drivers.Session) (wait, leave waiting) {
		return func(ctx context.Context, l *drivers.Lease) error {
			if err := pause(ctx, l); err != nil || !over(l) {
				return err
			}
			return context.DeadlineExceeded
		}, nil
	}), "wait ends at the deadline"},
	{"ignores the context", waitingBy(func(drivers.Session) (wait, leave waiting) {
		return func(ctx context.Context, l *drivers.Lease) error { return pause(context.WithoutCancel(ctx), l) }, nil
	}), "wait ends with its context"},
	{"says that a cancelled wait went well", waitingBy(func(drivers.Session) (wait, leave waiting) {
		return func(ctx context.Context, l *drivers.Lease) error {
			pause(ctx, l)
			return nil
		}, nil
	}), "wait ends with its context"},
	{"waits for a release only", onRelease(atTryCount, false), "wait for an expiry"},
	{"sleeps through its waitTime once it was cut off", sessionsWaiting(func(s drivers.Session, _ int) drivers.Session {
		deaf := false
		try := func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			deaf = deaf || err != nil && drivers.ClassOf(err) == drivers.ClassConnect
			return held, err
		}
		return waiter{calls{s, try, nil}, func(ctx context.Context, l *drivers.Lease) error {
			for {
				if err := pause(ctx, l); err != nil || !deaf || over(l) {
					return err
				}
			}
		}, func(context.Context, *drivers.Lease) error { return nil }}
	}), "wait over a cut"},
	{"leaves nothing", queueingBut(func(context.Context, *drivers.Lease, waiting) error { return nil }), "leave"},
	{"leaves nothing after the deadline", queueingBut(func(ctx context.Context, l *drivers.Lease, leave waiting) error {
		if over(l) {
			return nil
		}
		return leave(ctx, l)
	}), "leave"},
	{"leaves a moment after the deadline", queueingBut(func(ctx context.Context, l *drivers.Lease, leave waiting) error {
		if over(l) {
			time.AfterFunc(poll, func() { _ = leave(context.WithoutCancel(ctx), l) })
			return nil
		}
		return leave(ctx, l)
	}), "leave"},
	{"keeps what Wait has acquired", blocking(true), "leave after a wake-up"},
	{"takes what a wait was granted at its end for refused", waitingBy(func(s drivers.Session) (wait, leave waiting) {
		return func(ctx context.Context, l *drivers.Lease) error {
			err := pause(ctx, l)
			if err != nil || over(l) {
				time.Sleep(brokenFor)
				_, _ = s.Try(context.WithoutCancel(ctx), &drivers.Lease{Key: l.Key, TTL: l.TTL})
			}
			return err
		}, nil
	}), "wait ends at a release"},
	{"gives up what it holds on Leave", waitingBy(func(s drivers.Session) (wait, leave waiting) {
		waited := false
		return func(ctx context.Context, l *drivers.Lease) error {
				waited = true
				return pause(ctx, l)
			}, func(ctx context.Context, l *drivers.Lease) error {
				if waited {
					return nil
				}
				_, err := s.Release(ctx, l)
				return err
			}
	}), "leave as holder"},
}

// hearing is a service with altered listeners.
type hearing struct {
	wrapped
	alter func(inner drivers.Subscriber, ctx context.Context, wake func(string)) (drivers.Listener, error)
}

func (h hearing) Listen(ctx context.Context, wake func(string)) (drivers.Listener, error) {
	inner, _ := drivers.As[drivers.Subscriber](h.Service)
	return h.alter(inner, ctx, wake)
}

// hears wraps the listeners of each service separately.
func hears(make func() func(drivers.Subscriber, context.Context, func(string)) (drivers.Listener, error)) drivers.Driver {
	return services(func(s drivers.Service) drivers.Service { return hearing{wrapped{s}, make()} })
}

// filtered listens with another wake, made separately for each listener.
func filtered(filter func(wake func(string)) func(string)) drivers.Driver {
	return hears(func() func(drivers.Subscriber, context.Context, func(string)) (drivers.Listener, error) {
		return func(s drivers.Subscriber, ctx context.Context, wake func(string)) (drivers.Listener, error) {
			return s.Listen(ctx, filter(wake))
		}
	})
}

// adding is a listener with another Add or Remove; nil keeps the original.
type adding struct {
	drivers.Listener
	add, remove func(ctx context.Context, key string) error
}

func (a adding) Add(ctx context.Context, key string) error {
	if a.add == nil {
		return a.Listener.Add(ctx, key)
	}
	return a.add(ctx, key)
}

func (a adding) Remove(ctx context.Context, key string) error {
	if a.remove == nil {
		return a.Listener.Remove(ctx, key)
	}
	return a.remove(ctx, key)
}

// listening listens with an altered listener.
func listening(alter func(drivers.Listener) drivers.Listener) drivers.Driver {
	return hears(func() func(drivers.Subscriber, context.Context, func(string)) (drivers.Listener, error) {
		return func(s drivers.Subscriber, ctx context.Context, wake func(string)) (drivers.Listener, error) {
			l, err := s.Listen(ctx, wake)
			if err != nil {
				return nil, err
			}
			return alter(l), nil
		}
	})
}

// dropping loses the messages for which lose returns true, given the number of earlier messages of that key.
func dropping(lose func(n int) bool) drivers.Driver {
	return filtered(func(wake func(string)) func(string) {
		var heard table[int]
		return func(key string) {
			n := heard.get(key)
			heard.set(key, n+1)
			if key == "" || !lose(n) {
				wake(key)
			}
		}
	})
}

// alwaysWakes always opens with Wakes, and claims what was requested.
type alwaysWakes struct {
	drivers.Driver
	claim bool // instead: always claim it, and open as requested
}

type wakesClaim struct {
	wrapped
	claim bool
}

func (w wakesClaim) Traits() drivers.Traits {
	t := w.Service.Traits()
	t.Wakes = w.claim
	return t
}

func (d alwaysWakes) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	claim := cfg.Wakes || d.claim
	cfg.Wakes = cfg.Wakes || !d.claim
	s, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return wakesClaim{wrapped{s}, claim}, nil
}

var brokenListening = []broken{
	{"drops the first message", dropping(func(n int) bool { return n == 0 }), "wake-up"},
	{"drops the second message", dropping(func(n int) bool { return n == 1 }), "wake-up"},
	{"adds after Add has returned", listening(func(l drivers.Listener) drivers.Listener {
		return adding{l, func(ctx context.Context, key string) error {
			time.AfterFunc(poll, func() { l.Add(context.WithoutCancel(ctx), key) })
			return nil
		}, nil}
	}), "wake-up"},
	{"hears eight keys", listening(func(l drivers.Listener) drivers.Listener {
		var n atomic.Int32
		return adding{l, func(ctx context.Context, key string) error {
			if n.Add(1) > 8 {
				return nil
			}
			return l.Add(ctx, key)
		}, nil}
	}), "wake-up"},
	{"wakes the newest listener alone", hears(func() func(drivers.Subscriber, context.Context, func(string)) (drivers.Listener, error) {
		var newest atomic.Int64
		return func(s drivers.Subscriber, ctx context.Context, wake func(string)) (drivers.Listener, error) {
			me := newest.Add(1)
			return s.Listen(ctx, func(key string) {
				if me == newest.Load() {
					wake(key)
				}
			})
		}
	}), "wake-up of two listeners"},
	{"closes all listeners with one", hears(func() func(drivers.Subscriber, context.Context, func(string)) (drivers.Listener, error) {
		var closed atomic.Bool
		return func(s drivers.Subscriber, ctx context.Context, wake func(string)) (drivers.Listener, error) {
			l, err := s.Listen(ctx, func(key string) {
				if !closed.Load() {
					wake(key)
				}
			})
			return closer{l, func() { closed.Store(true) }}, err
		}
	}), "wake-up of two listeners"},
	{"stops listening with the context of Listen", hears(func() func(drivers.Subscriber, context.Context, func(string)) (drivers.Listener, error) {
		return func(s drivers.Subscriber, ctx context.Context, wake func(string)) (drivers.Listener, error) {
			return s.Listen(ctx, func(key string) {
				if ctx.Err() == nil {
					wake(key)
				}
			})
		}
	}), "opening"},
	{"removes nothing", listening(func(l drivers.Listener) drivers.Listener {
		return adding{l, nil, func(context.Context, string) error { return nil }}
	}), "listener removes"},
	{"removes everything", listening(func(l drivers.Listener) drivers.Listener {
		var added table[bool]
		return adding{l, func(ctx context.Context, key string) error {
			added.set(key, true)
			return l.Add(ctx, key)
		}, func(ctx context.Context, key string) error {
			for key := range added.m {
				l.Remove(ctx, key)
			}
			return nil
		}}
	}), "listener removes"},
	{"cannot remove what was not added", listening(func(l drivers.Listener) drivers.Listener {
		var added table[bool]
		return adding{l, func(ctx context.Context, key string) error {
			added.set(key, true)
			return l.Add(ctx, key)
		}, func(ctx context.Context, key string) error {
			if !added.get(key) {
				return errors.New("not added")
			}
			return l.Remove(ctx, key)
		}}
	}), "listener removes"},
	{"cannot add again", listening(func(l drivers.Listener) drivers.Listener {
		var added table[bool]
		return adding{l, func(ctx context.Context, key string) error {
			if added.set(key, true) {
				return nil
			}
			return l.Add(ctx, key)
		}, nil}
	}), "listener removes"},
	{"wakes though it was opened without", alwaysWakes{faulty(), false}, "wakes as configured"},
	{"claims to wake though it was opened without", alwaysWakes{faulty(), true}, "wakes as configured"},
	{"hears ten releases of a key", dropping(func(n int) bool { return n >= 10 }), "wait by listening"},
}

type closer struct {
	drivers.Listener
	also func()
}

func (c closer) Close() error {
	c.also()
	return c.Listener.Close()
}
