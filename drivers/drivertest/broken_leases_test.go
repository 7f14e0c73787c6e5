package drivertest

// Broken leases: owners, fences, expiry and renewal.

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// trying changes Try after the lock has answered.
func trying(after func(l *drivers.Lease, held bool)) drivers.Driver {
	return sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			after(l, held)
			return held, err
		}, nil}
	})
}

// lasting changes the TTL that Try requests.
func lasting(ttl func(time.Duration) time.Duration) drivers.Driver {
	return sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			asked := l.TTL
			l.TTL = ttl(asked)
			defer func() { l.TTL = asked }()
			return s.Try(ctx, l)
		}, nil}
	})
}

// extending changes Renew.
func extending(renew func(s drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error)) drivers.Driver {
	return sessions(func(s drivers.Session, _ int) drivers.Session {
		r := capability[drivers.Renewer](s)
		return renewing{s, func(ctx context.Context, l *drivers.Lease) (bool, error) { return renew(s, r, ctx, l) }}
	})
}

// adopting changes Adopt.
type adopting struct {
	drivers.Session
	adopt func(drivers.Adopter, string)
}

func (s adopting) Unwrap() drivers.Session { return s.Session }
func (s adopting) Adopt(owner string)      { s.adopt(capability[drivers.Adopter](s.Session), owner) }

// lying changes Remaining.
func lying(remaining func(truth time.Duration, l *drivers.Lease) time.Duration) drivers.Driver {
	return sessions(func(s drivers.Session, _ int) drivers.Session {
		r := capability[drivers.Remainer](s)
		return asking{s, func(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
			left, err := r.Remaining(ctx, l)
			return remaining(left, l), err
		}}
	})
}

// times returns a lease with another TTL.
func times(l *drivers.Lease, factor float64) *drivers.Lease {
	copied := *l
	copied.TTL = time.Duration(float64(l.TTL) * factor)
	return &copied
}

var brokenLeases = []broken{
	{"uses the client's number as owner", tagsBySession(true), "owner"},
	{"numbers its owners in each process", aliased(func(_ int64, id, n int) string { return fmt.Sprint(id, "-", n) }), "owner"},
	{"numbers its owners over all sessions alike", aliased(func(service int64, _, n int) string { return fmt.Sprint(service, "-", n) }), "owner"},
	{"has bytes as owners", aliased(func(service int64, id, n int) string { return fmt.Sprint("\xff", service, "-", id, "-", n) }), "owner"},
	{"sets the owner only after success", trying(func(l *drivers.Lease, held bool) {
		if !held {
			l.Owner = ""
		}
	}), "owner"},
	{"has its own idea of the owner that it is told", sessions(func(s drivers.Session, _ int) drivers.Session {
		return adopting{s, func(drivers.Adopter, string) {}}
	}), "adopted owner"},
	{"keeps the owner that it was told once", sessions(func(s drivers.Session, _ int) drivers.Session {
		adopter, kept := capability[drivers.Adopter](s), ""
		return adopting{calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			if kept != "" {
				adopter.Adopt(kept)
			}
			return s.Try(ctx, l)
		}, nil}, func(_ drivers.Adopter, owner string) { kept = owner }}
	}), "adopted owner"},
	{"has a constant fence", trying(func(l *drivers.Lease, _ bool) { l.Fence = 7 }), "fence"},
	{"has a fence that falls", trying(func(l *drivers.Lease, _ bool) { l.Fence = 1000 - l.Fence }), "fence"},
	{"counts its fence by session", sessions(func(s drivers.Session, _ int) drivers.Session {
		n := map[string]uint64{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			n[l.Key]++
			l.Fence = n[l.Key]
			return held, err
		}, nil}
	}), "fence"},
	{"begins its fence anew after an expiry", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var ends table[time.Time]
			var base table[uint64]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if !held {
						return held, err
					}
					if end := ends.set(l.Key, time.Now().Add(l.TTL)); !end.IsZero() && !time.Now().Before(end) {
						base.set(l.Key, l.Fence-1)
					}
					l.Fence -= base.get(l.Key)
					return held, err
				}, nil}
			}
		},
	}, "fence"},
	{"keeps a pointer to the lease", sessions(func(s drivers.Session, _ int) drivers.Session {
		kept := map[string]*drivers.Lease{}
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, err := s.Try(ctx, l)
			if held {
				kept[l.Owner] = l
			}
			return held, err
		}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			if k := kept[l.Owner]; k != nil {
				l = k
			}
			return s.Release(ctx, l)
		}}
	}), "lease is the caller's"},
	{"rounds the caller's TTL", trying(func(l *drivers.Lease, _ bool) { l.TTL = l.TTL.Truncate(7 * time.Second) }), "lease fields"},
	{"says that a lease is valid for too long", trying(func(l *drivers.Lease, _ bool) { l.ValidUntil = time.Now().Add(2 * l.TTL) }), "lease fields"},
	{"leaves an old ValidUntil", sessions(func(s drivers.Session, _ int) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			old := l.ValidUntil
			held, err := s.Try(ctx, l)
			l.ValidUntil = old
			return held, err
		}, nil}
	}), "lease fields"},
	{"ignores the TTL", lasting(func(time.Duration) time.Duration { return 0 }), "expiry"},
	{"expires early", lasting(func(ttl time.Duration) time.Duration { return ttl.Truncate(150 * time.Millisecond) }), "expiry"},
	{"expires late", lasting(func(ttl time.Duration) time.Duration { return ttl + 2*slack }), "expiry"},
	{"prolongs the lease with each refused attempt", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var holders table[drivers.Lease]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if held {
						holders.set(l.Key, *l)
					} else if err == nil {
						holder := holders.get(l.Key)
						holder.TTL = l.TTL
						capability[drivers.Renewer](s).Renew(ctx, &holder)
					}
					return held, err
				}, nil}
			}
		},
	}, "expiry"},
	{"expires what was released", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var holders table[drivers.Lease]
			return func(s drivers.Session, _ int) drivers.Session {
				return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if held {
						holders.set(l.Key, *l)
					}
					return held, err
				}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					if l.TTL == 0 { // of a client that only knows the owner, and has no timer
						return s.Release(ctx, l)
					}
					key := l.Key
					time.AfterFunc(l.TTL, func() { // the timer that should have been stopped here
						holder := holders.get(key)
						s.Release(context.Background(), &holder)
					})
					return s.Release(ctx, l)
				}}
			}
		},
	}, "expiry after release"},
	{"says that it renews", extending(func(s drivers.Session, _ drivers.Renewer, _ context.Context, _ *drivers.Lease) (bool, error) {
		return true, nil
	}), "renewal"},
	{"renews nothing", extending(func(s drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error) {
		left, err := capability[drivers.Remainer](s).Remaining(ctx, l)
		if err != nil {
			return false, err
		}
		kept := *l
		kept.TTL = left
		return r.Renew(ctx, &kept)
	}), "renewal"},
	{"renews for too short", extending(func(_ drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error) {
		return r.Renew(ctx, times(l, 0.8))
	}), "renewal"},
	{"renews for too long", extending(func(_ drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error) {
		return r.Renew(ctx, times(l, 200))
	}), "renewal"},
	{"draws a new fence with each renewal", extending(func(_ drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := r.Renew(ctx, l)
		l.Fence++
		return owned, err
	}), "renewal"},
	{"brings a lost lease back", extending(func(s drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := r.Renew(ctx, l)
		if !owned && err == nil {
			return s.Try(ctx, l)
		}
		return owned, err
	}), "renewal of a lost lease"},
	{"brings a lost lease back but says that it is lost", extending(func(s drivers.Session, r drivers.Renewer, ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := r.Renew(ctx, l)
		if !owned && err == nil {
			s.Try(ctx, l)
		}
		return owned, err
	}), "renewal of a lost lease"},
	{"renews for any holder of the key", altered{
		Driver: faulty(),
		session: func() func(drivers.Session, int) drivers.Session {
			var holders table[string]
			return func(s drivers.Session, _ int) drivers.Session {
				r := capability[drivers.Renewer](s)
				return renewing{calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					held, err := s.Try(ctx, l)
					if held {
						holders.set(l.Key, l.Owner)
					}
					return held, err
				}, nil}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
					owned, err := r.Renew(ctx, l)
					if !owned && err == nil {
						r.Renew(ctx, &drivers.Lease{Key: l.Key, TTL: l.TTL, Owner: holders.get(l.Key)})
					}
					return owned, err
				}}
			}
		},
	}, "renewal of a lost lease"},
	{"says that every key has a second left", lying(func(time.Duration, *drivers.Lease) time.Duration { return time.Second }), "remaining"},
	{"answers the asker's own TTL", lying(func(left time.Duration, l *drivers.Lease) time.Duration {
		if left > 0 {
			return l.TTL
		}
		return left
	}), "remaining"},
	{"says that free keys never expire", lying(func(left time.Duration, _ *drivers.Lease) time.Duration {
		if left == 0 {
			return -1
		}
		return left
	}), "remaining"},
}
