package breakable_test

// Defects of renewals, of nested holds and of watchdogs.

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// recording is a session that others of its key find in holders.
func recording(s drivers.Session) calls {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		if held {
			holders.Store(l.Key, &holder{s, *l})
		}
		return held, err
	}}
}

// renewOf renews whatever lease is on a key, and returns whose that is.
func renewOf(ctx context.Context, key string) (held bool, owner string, err error) {
	found, ok := holders.Load(key)
	if !ok {
		return false, "", nil
	}
	h := found.(*holder)
	lease := h.lease
	r, _ := drivers.As[drivers.Renewer](h.session)
	held, err = r.Renew(ctx, &lease)
	return held, lease.Owner, err
}

func renewsAnyOwner(says bool) plant {
	return func(s drivers.Session) drivers.Session {
		return renews{recording(s), func(ctx context.Context, l *drivers.Lease) (bool, error) {
			held, owner, err := renewOf(ctx, l.Key)
			return held && (says || owner == l.Owner), err
		}}
	}
}

func leavesAtOnce(s drivers.Session) drivers.Session {
	return calls{Session: s, release: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := s.Release(ctx, l)
		for more := owned; more && err == nil; {
			more, err = s.Release(ctx, l)
		}
		return owned, err
	}}
}

func entersTwice(s drivers.Session) drivers.Session {
	depth := map[string]int{}
	return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		held, err := s.Try(ctx, l)
		if held && depth[l.Key] == 1 {
			again := *l
			_, err = s.Try(ctx, &again)
		}
		if held {
			depth[l.Key]++
		}
		return held, err
	}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		depth[l.Key] = max(0, depth[l.Key]-1)
		return s.Release(ctx, l)
	}}
}

func renewsOnce(s drivers.Session) drivers.Session {
	r, _ := drivers.As[drivers.Renewer](s)
	renewed := map[string]bool{}
	return renews{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		if renewed[l.Owner] {
			return true, nil
		}
		renewed[l.Owner] = true
		return r.Renew(ctx, l)
	}}
}

func keepsAliveOnce(s drivers.Session) drivers.Session {
	var mu sync.Mutex // of the session
	ended := map[string]bool{}
	return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		held, err := s.Try(ctx, l)
		if held {
			mine := *l
			time.AfterFunc(l.TTL*3/2, func() {
				mu.Lock()
				defer mu.Unlock()
				if !ended[mine.Owner] {
					ended[mine.Owner] = true
					_, _ = s.Release(context.Background(), &mine)
				}
			})
		}
		return held, err
	}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if ended[l.Owner] {
			return true, nil
		}
		ended[l.Owner] = true
		return s.Release(ctx, l)
	}}
}

// orphans does something in the background after each release, until its service is closed.
type orphans struct {
	service
	ends context.Context
	end  context.CancelFunc
	all  *sync.WaitGroup
}

// after returns a defect that is what do does after each release, a few times in each lease, until it is done.
func after(do func(context.Context, drivers.Session, *drivers.Lease) (done bool)) func(drivers.Driver) drivers.Driver {
	return inService(func(s drivers.Service) drivers.Service {
		o := orphans{all: new(sync.WaitGroup)}
		o.ends, o.end = context.WithCancel(context.Background())
		o.service = service{s, func(s drivers.Session) drivers.Session {
			c := recording(s)
			c.release = func(ctx context.Context, l *drivers.Lease) (bool, error) {
				owned, err := s.Release(ctx, l)
				holders.Delete(l.Key)
				released := &drivers.Lease{Key: l.Key, TTL: l.TTL}
				o.all.Go(func() {
					for o.ends.Err() == nil && !do(o.ends, s, released) {
						select {
						case <-time.After(l.TTL / 10):
						case <-o.ends.Done():
						}
					}
				})
				return owned, err
			}
			return c
		}}
		return o
	})
}

// Close ends what is done in the background.
func (o orphans) Close() error {
	o.end()
	o.all.Wait()
	return o.service.Close()
}

// renewsOn renews whatever lease is on a key that the session has released.
func renewsOn(ctx context.Context, _ drivers.Session, l *drivers.Lease) (done bool) {
	_, _, _ = renewOf(ctx, l.Key)
	return false
}

// takesAgain acquires whatever the session has released.
func takesAgain(ctx context.Context, s drivers.Session, l *drivers.Lease) (done bool) {
	held, _ := s.Try(ctx, l)
	return held
}

// isOneClient is a service that lets its own clients in again, as a connection does that they share.
func isOneClient(s drivers.Service) drivers.Service {
	var mu sync.Mutex
	holds := map[string]*holder{}
	return service{s, func(s drivers.Session) drivers.Session {
		return calls{s, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if h := holds[l.Key]; h != nil {
				l.Owner, l.Fence = h.lease.Owner, h.lease.Fence
				return true, nil
			}
			held, err := s.Try(ctx, l)
			if held {
				holds[l.Key] = &holder{s, *l}
			}
			return held, err
		}, func(ctx context.Context, l *drivers.Lease) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			h := holds[l.Key]
			if h == nil {
				return false, nil
			}
			delete(holds, l.Key)
			return h.session.Release(ctx, &h.lease)
		}}
	}}
}

// waits is a session that waits in another way.
type waits struct {
	drivers.Session
	wait, leave func(context.Context, *drivers.Lease) error
}

func (w waits) Unwrap() drivers.Session { return w.Session }

func (w waits) Wait(ctx context.Context, l *drivers.Lease) error  { return w.wait(ctx, l) }
func (w waits) Leave(ctx context.Context, l *drivers.Lease) error { return w.leave(ctx, l) }

// signals tells the sessions of a test process of what happens to a key.
type signals struct {
	mu  sync.Mutex
	key map[string]chan struct{}
}

// next returns a channel that is closed the next time.
func (s *signals) next(key string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == nil {
		s.key = map[string]chan struct{}{}
	}
	if s.key[key] == nil {
		s.key[key] = make(chan struct{})
	}
	return s.key[key]
}

func (s *signals) happens(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key[key] != nil {
		close(s.key[key])
		delete(s.key, key)
	}
}

var left, released signals

func entersWhenOneLeaves(s drivers.Session) drivers.Session {
	w := &turns{inner: s, turn: &left}
	return waits{calls{Session: s, try: w.try}, w.wait, func(ctx context.Context, l *drivers.Lease) error {
		err := w.leave(ctx, l)
		if w.waits {
			w.waits = false
			left.happens(l.Key)
		}
		return err
	}}
}

func entersAtRelease(s drivers.Session) drivers.Session {
	w := &turns{inner: s, turn: &released}
	return waits{calls{s, w.try, func(ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := s.Release(ctx, l)
		released.happens(l.Key)
		return owned, err
	}}, w.wait, w.leave}
}

func entersAtErrors(s drivers.Session) drivers.Session {
	w := &turns{inner: s}
	waiter, _ := drivers.As[drivers.Waiter](s)
	return waits{calls{Session: s, try: w.try}, func(ctx context.Context, l *drivers.Lease) error {
		err := waiter.Wait(ctx, l)
		w.took = err != nil && ctx.Err() == nil
		if w.took {
			return nil
		}
		return err
	}, waiter.Leave}
}

// turns is a waiter that takes a signal for its turn.
type turns struct {
	inner drivers.Session
	turn  *signals
	waits bool // it has waited, and was not granted the key
	took  bool // its turn
}

func (w *turns) wait(ctx context.Context, l *drivers.Lease) error {
	w.waits = true
	turn := w.turn.next(l.Key)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-turn:
			w.took = true
			cancel()
		case <-inner.Done():
		}
	}()
	waiter, _ := drivers.As[drivers.Waiter](w.inner)
	err := waiter.Wait(inner, l)
	cancel()
	<-stopped
	if w.took && ctx.Err() == nil {
		return nil
	}
	return err
}

func (w *turns) try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := w.inner.Try(ctx, l)
	if w.took {
		w.took, held, err = false, true, nil
	}
	w.waits = w.waits && !held
	return held, err
}

func (w *turns) leave(ctx context.Context, l *drivers.Lease) error {
	waiter, _ := drivers.As[drivers.Waiter](w.inner)
	return waiter.Leave(ctx, l)
}

// lines has the last waiter of each key, which the next one listens to.
var lines sync.Map

// followsOne waits until the waiter before it has released the key.
func followsOne(s drivers.Session) drivers.Session {
	waiter, _ := drivers.As[drivers.Waiter](s)
	var mine chan struct{}
	var before <-chan struct{}
	return waits{calls{Session: s, release: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		owned, err := s.Release(ctx, l)
		if mine != nil {
			close(mine)
			mine = nil
		}
		return owned, err
	}}, func(ctx context.Context, l *drivers.Lease) error {
		if mine == nil {
			mine = make(chan struct{})
			last, _ := lines.Swap(l.Key, mine)
			before, _ = last.(chan struct{})
		}
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return waiter.Wait(ctx, l)
	}, waiter.Leave}
}

// leavesGateOnce lets one client at a time look for the key, and does not look whether its way out was heard.
func leavesGateOnce(s drivers.Session) drivers.Session {
	return calls{Session: s, try: func(ctx context.Context, l *drivers.Lease) (bool, error) {
		gate := drivers.Lease{Key: l.Key + ":gate", TTL: l.TTL}
		if held, err := s.Try(ctx, &gate); !held || err != nil {
			l.Reset()
			return false, err
		}
		held, err := s.Try(ctx, l)
		_, _ = s.Release(ctx, &gate)
		return held, err
	}}
}

// leavesLineOnce is a service whose clients forget a place in line that they could not give up: they go on in another session, and
// the one that has the place lives on.
func leavesLineOnce(s drivers.Service) drivers.Service {
	return service{s, func(inner drivers.Session) drivers.Session { return &forgetful{inner, s} }}
}

type forgetful struct {
	drivers.Session
	service drivers.Service
}

func (f *forgetful) Unwrap() drivers.Session { return f.Session }

func (f *forgetful) Wait(ctx context.Context, l *drivers.Lease) error {
	w, _ := drivers.As[drivers.Waiter](f.Session)
	return w.Wait(ctx, l)
}

func (f *forgetful) Leave(ctx context.Context, l *drivers.Lease) error {
	w, _ := drivers.As[drivers.Waiter](f.Session)
	err := w.Leave(ctx, l)
	if err != nil {
		if next, failed := f.service.Session(ctx, 0); failed == nil {
			f.Session = next
		}
	}
	return err
}
