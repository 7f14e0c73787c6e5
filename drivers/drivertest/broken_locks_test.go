package drivertest

// Broken claims, grants and releases.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// claiming returns memory (with faults) with other claims.
func claiming(traits func(*drivers.Traits)) drivers.Driver {
	return altered{Driver: faulty(), traits: traits}
}

// sessions returns memory (with faults) whose sessions are wrapped.
func sessions(wrap func(s drivers.Session, id int) drivers.Session) drivers.Driver {
	return altered{Driver: faulty(), session: func() func(drivers.Session, int) drivers.Session { return wrap }}
}

// services returns memory (with faults) whose services are wrapped.
func services(wrap func(drivers.Service) drivers.Service) drivers.Driver {
	return altered{Driver: faulty(), service: wrap}
}

// bare hides the capabilities of a session, because it has no Unwrap.
type bare struct{ drivers.Session }

type bareService struct{ drivers.Service }

// wrapped is a service that keeps its capabilities.
type wrapped struct{ drivers.Service }

func (w wrapped) Unwrap() drivers.Service { return w.Service }

type mislisted struct{ wrapped }

func (m mislisted) Traits() drivers.Traits {
	t := m.Service.Traits()
	t.Fenced = false
	return t
}

// lenient opens any design.
type lenient struct{ drivers.Driver }

func (l lenient) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	cfg.Lock = ""
	return l.Driver.Open(ctx, cfg)
}

var brokenClaims = []broken{
	{"service and design differ in their claims", services(func(s drivers.Service) drivers.Service {
		return mislisted{wrapped{s}}
	}), "design"},
	{"accepts every lock", lenient{faulty()}, "unknown lock"},
	{"shows the password", altered{Driver: faulty(), open: func(cfg drivers.Config) error {
		if cfg.Lock == "" {
			return nil
		}
		return fmt.Errorf("cannot open %v with password %s", cfg.Lock, string(cfg.Password))
	}}, "unknown lock"},
	{"claims Renews without a Renewer", altered{
		Driver: memory.Driver{},
		session: func() func(drivers.Session, int) drivers.Session {
			return func(s drivers.Session, _ int) drivers.Session { return bare{s} }
		},
	}, "capabilities"},
	{"renews without the claim", claiming(func(t *drivers.Traits) { t.Renews = false }), "capabilities"},
	{"claims Waits without a Waiter", claiming(claimWaits), "capabilities"},
	{"waits without the claim", altered{Driver: polling(), traits: func(t *drivers.Traits) { t.Waits = false }}, "capabilities"},
	{"claims Wakes without a Subscriber", services(func(s drivers.Service) drivers.Service { return bareService{s} }), "capabilities"},
	{"wakes without the claim", claiming(func(t *drivers.Traits) { t.Wakes = false }), "capabilities"},
	{"excludes without the claim", claiming(func(t *drivers.Traits) { t.Exclusive = false }), "exclusion"},
	{"refuses other clients without the claim", claiming(func(t *drivers.Traits) { t.Owned = false }), "release by another client"},
	{"expires without the claim", claiming(func(t *drivers.Traits) { t.Expires = false }), "expiry"},
	{"fences without the claim", claiming(func(t *drivers.Traits) { t.Fenced = false }), "fence"},
	{"claims Expires falsely", altered{Driver: untagged(false), traits: func(t *drivers.Traits) { t.Expires = true }}, "expiry"},
	{"claims Owned falsely", altered{Driver: untagged(true), traits: func(t *drivers.Traits) { t.Owned = true }}, "release by another client"},
	{"claims Fenced falsely", altered{Driver: untagged(true), traits: func(t *drivers.Traits) { t.Fenced = true }}, "fence"},
	{"claims Reentrant falsely", claiming(func(t *drivers.Traits) { t.Reentrant = true }), "re-entry"},
	{"lets its holder in again without the claim", altered{
		Driver: reentrant(false), traits: func(t *drivers.Traits) { t.Reentrant = false },
	}, "re-entry"},
	{"grants its holder again what it will hold for long", sessions(func(s drivers.Session, _ int) drivers.Session {
		mine := map[string]drivers.Lease{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			left, _ := capability[drivers.Remainer](s).Remaining(ctx, l)
			if h, held := mine[l.Key]; held && left > long/2 && owns(capability[drivers.Renewer](s), h) {
				l.Owner, l.Fence = h.Owner, h.Fence
				return true, nil
			}
			held, err := s.Try(ctx, l)
			if held {
				mine[l.Key] = *l
			}
			return held, err
		}, nil}
	}), "re-entry"},
	{"frees the key when its first lease is released", reentrant(true), "re-entry in depth"},
	{"frees the key at the first of two releases", altered{Driver: reentrant(false),
		session: func() func(drivers.Session, int) drivers.Session {
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, nil, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					owned, err := s.Release(ctx, l)
					for more := owned; more && err == nil; {
						more, err = s.Release(ctx, l)
					}
					return owned, err
				}}
			}
		}}, "re-entry"},
	{"claims Fair falsely", claiming(func(t *drivers.Traits) { t.Fair = true }), "order"},
	{"claims Fair falsely and polls", altered{Driver: polling(), traits: func(t *drivers.Traits) { t.Fair = true }}, "order"},
	{"is fair without the claim", altered{Driver: queueing(true), traits: func(t *drivers.Traits) { t.Fair = false }}, "order"},
	{"null claims Exclusive", altered{Driver: memory.Null{}, traits: func(t *drivers.Traits) { t.Exclusive = true }}, "exclusion"},
}

// folded returns a key as a service that ignores case sees it.
func folded(l *drivers.Lease) *drivers.Lease {
	copied := *l
	if stem, ok := strings.CutSuffix(l.Key, "KEY"); ok {
		copied.Key = stem + "key"
	}
	return &copied
}

var brokenHolding = []broken{
	{"grants a key that a session has held before", sessions(func(s drivers.Session, _ int) drivers.Session {
		mine := map[string]bool{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			again := mine[l.Key]
			mine[l.Key] = held || again
			return held || again && err == nil, err
		}, nil}
	}), "exclusion"},
	{"keeps one owner for all sessions", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var last table[string]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					last.set("", l.Owner)
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					return s.Release(ctx, &drivers.Lease{Key: l.Key, Owner: last.get("")})
				}}
			}
		},
	}, "exclusion"},
	{"looks, and then takes, where no client waits", altered{
		Driver: memory.Driver{},
		session: func() func(drivers.Session, int) drivers.Session {
			var owners table[string]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					if !l.Deadline.IsZero() {
						return s.Try(ctx, l)
					}
					left, err := capability[drivers.Remainer](s).Remaining(ctx, l)
					if err != nil || left != 0 {
						s.Try(ctx, l) // for its owner
						return false, err
					}
					time.Sleep(poll) // the gap in which another client looks
					if held, err := s.Try(ctx, l); held || err != nil {
						owners.set(l.Key, l.Owner)
						return held, err
					}
					l.Owner = owners.get(l.Key) // both write their names; the later one wins
					return true, nil
				}, nil}
			}
		},
	}, "concurrency"},
	{"ignores the case of keys", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			f := folded(l)
			held, err := s.Try(ctx, f)
			l.Owner, l.Fence, l.ValidUntil = f.Owner, f.Fence, f.ValidUntil
			return held, err
		}, func(ctx context.Context, l *drivers.Lease) (bool, error) { return s.Release(ctx, folded(l)) }}
	}), "independent keys"},
	{"releases longer keys too", sessions(func(s drivers.Session, _ int) drivers.Session {
		mine := map[string]drivers.Lease{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if held {
				mine[l.Key] = *l
			}
			return held, err
		}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			for key, other := range mine {
				if strings.HasPrefix(key, l.Key) && key != l.Key {
					s.Release(ctx, &other)
				}
			}
			return s.Release(ctx, l)
		}}
	}), "independent keys"},
	{"is alone in its process", addressed{faulty()}, "another process"},
	{"calls contention an error", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if !held && err == nil {
				err = errors.New("not acquired")
			}
			return held, err
		}, nil}
	}), "contention"},
	{"calls lasting contention an error", sessions(func(s drivers.Session, _ int) drivers.Session {
		refused := map[string]int{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if refused[l.Key]++; !held && err == nil && refused[l.Key] > 48 {
				return false, errors.New("tried too often")
			}
			return held, err
		}, nil}
	}), "contention"},
	{"waits in Try", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			for {
				if held, err := s.Try(ctx, l); held || err != nil {
					return held, err
				}
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return false, ctx.Err()
				}
			}
		}, nil}
	}), "contention"},
}

// tagsBySession returns a lock that identifies its holders by session, not by acquisition, whatever the token.
func tagsBySession(showSession bool) drivers.Driver {
	return altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			type tag struct {
				id    int
				owner string
			}
			var holders table[tag]
			return func(s drivers.Session, id int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if held {
						holders.set(l.Key, tag{id, l.Owner})
					}
					if showSession {
						l.Owner = fmt.Sprint("client ", id)
					}
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					sent := *l
					if h := holders.get(l.Key); h.id == id && l.Owner != "" {
						sent.Owner = h.owner
					}
					return s.Release(ctx, &sent)
				}}
			}
		},
	}
}

var brokenReleasing = []broken{
	{"says that it released what was free", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, nil, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			left, err := capability[drivers.Remainer](s).Remaining(ctx, l)
			owned, releaseErr := s.Release(ctx, l)
			return owned || err == nil && left == 0 && l.Owner == "", releaseErr
		}}
	}), "release of nothing"},
	{"calls a release of nothing an error", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, nil, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.Release(ctx, l)
			if !owned && err == nil {
				err = errors.New("not held")
			}
			return owned, err
		}}
	}), "release of nothing"},
	{"forgets the owner after a refused attempt", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var holders table[string]
			return func(s drivers.Session, _ int) drivers.Session {
				refused := map[string]bool{}
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if held {
						holders.set(l.Key, l.Owner)
					} else if err == nil {
						refused[l.Owner] = true
					}
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					sent := *l
					if refused[l.Owner] {
						sent.Owner = holders.get(l.Key)
					}
					return s.Release(ctx, &sent)
				}}
			}
		},
	}, "release by another client"},
	{"removes on a late release", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var holders, granted table[string]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if held {
						holders.set(l.Key, l.Owner)
						granted.set(l.Owner, l.Key)
					}
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					sent := *l
					if granted.set(l.Owner, "") == l.Key {
						sent.Owner = holders.get(l.Key)
					}
					return s.Release(ctx, &sent)
				}}
			}
		},
	}, "late release"},
	{"knows its holders by session", tagsBySession(false), "late release"},
	{"says that it released what had ended", sessions(func(s drivers.Session, _ int) drivers.Session {
		ends := map[string]time.Time{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if held {
				ends[l.Owner] = time.Now().Add(l.TTL)
			}
			return held, err
		}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			owned, err := s.Release(ctx, l)
			end, granted := ends[l.Owner]
			return owned || err == nil && granted && !time.Now().Before(end), err
		}}
	}), "late release"},
}

var counter atomic.Int64 // numbers what must differ between services

// aliased gives acquisitions names of its own.
func aliased(name func(service int64, id, n int) string) drivers.Driver {
	return altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			service := counter.Add(1)
			return func(s drivers.Session, id int) drivers.Session {
				n := 0
				real := map[string]string{}
				truly := func(call answer) answer {
					return func(ctx context.Context, l *drivers.Lease) (bool, error) {
						sent := *l
						if owner, aliased := real[l.Owner]; aliased {
							sent.Owner = owner
						}
						return call(ctx, &sent)
					}
				}
				adopted := false // it keeps an owner that it is told
				adopt := func(a drivers.Adopter, owner string) {
					adopted = true
					a.Adopt(owner)
				}
				return adopting{renewing{calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					n++
					if alias := name(service, id, n); !adopted {
						real[alias] = l.Owner
						l.Owner = alias
					}
					adopted = false
					return held, err
				}, truly(s.Release)}, truly(capability[drivers.Renewer](s).Renew)}, adopt}
			}
		},
	}
}
