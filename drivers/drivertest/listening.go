package drivertest

// Cases about being woken. Every listener hears every added key, and nothing else is promised; a release wakes one client that
// sleeps on the server (Traits.Blocks).

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// recorder is a simple listener: it remembers which keys were woken.
type recorder struct {
	drivers.Listener
	t     *T
	mu    sync.Mutex
	heard map[string]bool
	rings []chan struct{} // each gets a token with every wake-up
	close func()
}

func (e *recorder) wake(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard[key] = true
	for _, ring := range e.rings {
		select {
		case ring <- struct{}{}:
		default:
		}
	}
}

// take reports whether a key was woken since the last take.
func (e *recorder) take(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.heard[key]
	delete(e.heard, key)
	return heard
}

// ring makes a channel for one waiter.
func (e *recorder) ring() chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	ring := make(chan struct{}, 1)
	e.rings = append(e.rings, ring)
	return ring
}

// listen opens a listener, which the end of the case closes.
func (t *T) listen(svc drivers.Service) *recorder {
	s, ok := drivers.As[drivers.Subscriber](svc)
	t.fatalIf(!ok, "the service is not a Subscriber (trait wakes)")
	e := &recorder{t: t, heard: map[string]bool{}}
	t.opens("Listen", func(ctx context.Context) (err error) {
		e.Listener, err = s.Listen(ctx, e.wake)
		return err
	})
	e.close = sync.OnceFunc(func() { t.should("Close of a listener", e.Listener.Close()) })
	t.cleanup(e.close)
	return e
}

func (e *recorder) add(key string) {
	e.t.must("Add", e.Add(e.t.ctx, key))
}

func (e *recorder) remove(key string) {
	e.t.must("Remove", e.Remove(e.t.ctx, key))
}

func (e *recorder) hears(key, when string) {
	e.t.eventually("no wake-up after "+when, func() bool { return e.take(key) })
}

func (c *client) cycle(key string) { c.release(c.takes(key, long), true, "the client held the key") }

// wakeUp has two listeners, like two processes. It releases keys as soon as Add has returned, which a subscription that
// is not confirmed yet would miss, and then once more, a third listener having been closed.
func wakeUp(t *T) {
	svc := t.open(1)
	c, both := t.client(svc), []*recorder{t.listen(svc), t.listen(svc)}
	for range 10 {
		key := t.key()
		l := c.takes(key, long)
		for _, e := range both {
			e.add(key)
		}
		c.release(l, true, "the client held the key")
		for _, e := range both {
			e.hears(key, "the first release, as soon as Add had returned")
		}
		third := t.listen(svc)
		third.add(key)
		third.close()
		for _, e := range both {
			e.take(key)
		}
		c.cycle(key)
		for _, e := range both {
			e.hears(key, "the second release of a key, another listener having been closed")
		}
	}
}

// listenerRemoves checks that a removed key falls silent, perhaps after a few late calls, that others do not, and that
// it can be added again.
func listenerRemoves(t *T) {
	svc := t.open(1)
	c, e := t.client(svc), t.listen(svc)
	gone, kept := t.key(), t.key()
	e.remove(gone) // never added
	e.add(gone)
	e.add(kept)
	e.add(kept) // adding twice is like adding once
	e.remove(gone)
	t.eventually("a removed key is still called", func() bool {
		e.take(gone)
		c.cycle(gone)
		time.Sleep(settleTime)
		return !e.take(gone)
	})
	c.cycle(kept)
	e.hears(kept, "a release of one key, another having been removed")
	e.add(gone)
	c.cycle(gone)
	e.hears(gone, "a release of a key that was removed and added again")
}

// wakesOrNot compares the claim with whether a release wakes.
func (t *T) wakesOrNot(svc drivers.Service, claim bool) {
	c, key := t.client(svc), t.key()
	e := &recorder{t: t, heard: map[string]bool{}}
	why := ""
	if s, ok := drivers.As[drivers.Subscriber](svc); !ok {
		why = "the service is not a Subscriber"
	} else if l, err := s.Listen(t.ctx, e.wake); err != nil {
		why = "Listen failed: " + err.Error()
	} else {
		defer l.Close()
		if err := l.Add(t.ctx, key); err != nil {
			why = "Add failed: " + err.Error()
		}
	}
	switch {
	case why != "" && claim:
		t.Fatalf("the trait wakes is true but %s", why)
	case why != "":
		return
	}
	c.cycle(key)
	if claim {
		e.hears(key, "a release (trait wakes)")
		return
	}
	time.Sleep(2 * settleTime)
	t.fatalIf(e.take(key), "a release wakes (the trait wakes is not claimed)")
}

// waitByListening makes one client sleep until a listener wakes it, and then many.
func waitByListening(t *T) {
	svc := t.open(clients(crowds))
	for _, waiting := range crowds {
		e := t.listen(svc)
		_, votes := drivers.As[drivers.Voter](svc)
		t.allGetThrough(svc, waiting, func(c *client) { c.waiter = &sleeper{recorder: e, ring: e.ring(), votes: votes} })
	}
}

// sleeper waits only for a recorder's ring: no poll hides a lost wake-up. Where several nodes vote, clients that all
// try at once never agree, so each tries after a random delay. Its bound doubles with each ring, as in package wait: on
// a busy machine an attempt takes so long that within any fixed time two of them always meet, split the votes and wake
// all others.
type sleeper struct {
	recorder *recorder
	ring     chan struct{}
	votes    bool
	bound    time.Duration // the bound of the last delay
	added    bool
}

func (s *sleeper) Wait(ctx context.Context, l *drivers.Lease) error {
	if !s.added {
		s.added = true
		return s.recorder.Add(ctx, l.Key)
	}
	timer := time.NewTimer(time.Until(l.Deadline))
	defer timer.Stop()
	select {
	case <-s.ring:
		if s.votes {
			s.bound = min(max(settleTime, 2*s.bound), 2*time.Second)
			time.Sleep(rand.N(s.bound))
		}
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (s *sleeper) Leave(context.Context, *drivers.Lease) error { return nil }

// blocks opens the service with Config.Blocks, and checks the claim in both directions.
func blocks(t *T) {
	svc := t.openBlocking(2)
	c := t.client(svc)
	_, ok := drivers.As[drivers.Blocker](c.Session)
	switch claim := svc.Traits().Blocks; {
	case claim != t.traits.Blocks:
		t.Fatalf("the service, opened with Config.Blocks, says that the trait blocks is %v, its design claims %v", claim, t.traits.Blocks)
	case claim != ok:
		t.Fatalf("the trait blocks is %v, and that the session is a Blocker is %v", claim, ok)
	case claim:
		t.sleepsAndWakes(svc)
	}
}

func (t *T) openBlocking(clients int) drivers.Service {
	cfg := t.Config
	cfg.Clients, cfg.Blocks = clients, true
	return t.openWith(cfg)
}

// sleepsAndWakes releases before a sleep and during one; each release must wake one sleeper.
func (t *T) sleepsAndWakes(svc drivers.Service) {
	holder, a, b := t.client(svc), t.client(svc), t.client(svc)
	key := t.key()
	held := lease(key, long)
	block := func(ctx context.Context, c *client, d time.Duration) (bool, error) {
		server, _ := drivers.As[drivers.Blocker](c.Session)
		return server.Block(ctx, lease(key, long), d)
	}
	mustWake := func(ctx context.Context, c *client, what string) {
		if woken, err := block(ctx, c, waitTime); !woken || err != nil {
			t.Errorf("Block returned %v, %v although %s", woken, err, what)
		}
	}
	mustSleep := func(c *client, what string) {
		if woken, err := block(t.ctx, c, short); woken || err != nil {
			t.Errorf("Block returned %v, %v although %s", woken, err, what)
		}
	}
	holder.hold(held, "the key is free")
	mustSleep(a, "there was no release")
	holder.release(held, true, "the client held the key")
	t.ends(slack, "a release just before Block has not ended it within %v", func(ctx context.Context) { mustWake(ctx, a, "the key was released just before") })
	mustSleep(b, "the release has woken another one")

	holder.hold(held, "the key is free")
	t.ends(slack, "a release has not woken a sleeper within %v", func(ctx context.Context) { mustWake(ctx, a, "the key was released meanwhile") }, func() {
		time.Sleep(settleTime)
		holder.release(held, true, "the client held the key")
	})
	mustSleep(b, "the release has woken another one")

	server, _ := drivers.As[drivers.Blocker](a.Session)
	t.must("Rouse", server.Rouse(t.ctx, held))
	t.ends(slack, "Rouse has not ended a sleep within %v", func(ctx context.Context) { mustWake(ctx, b, "the wake-up was passed on") })
}

// blockCancelled ends the context of a sleep; then the client must be able to sleep again.
func blockCancelled(t *T) {
	svc := t.openBlocking(2)
	holder, c := t.client(svc), t.client(svc)
	server, ok := drivers.As[drivers.Blocker](c.Session)
	if !ok {
		return // "blocks" says so
	}
	held := holder.takes(t.key(), long)
	outer, cancel := context.WithCancel(t.ctx)
	defer cancel()
	t.ends(slack, "Block has not returned %v after its context was cancelled", func(context.Context) {
		if woken, err := server.Block(outer, held, waitTime); woken || !errors.Is(err, context.Canceled) {
			t.Errorf("Block returned %v, %v after its context was cancelled; want context.Canceled", woken, err)
		}
	}, func() {
		time.Sleep(settleTime)
		cancel()
	})
	holder.release(held, true, "the client held the key")
	t.ends(slack, "a client that was cancelled in its sleep has not been woken again within %v", func(ctx context.Context) {
		for { // the token may still be on its way to the closed connection
			woken, err := server.Block(ctx, held, short)
			t.should("Block, after one that was cancelled", err)
			if woken || err != nil {
				return
			}
			if err := server.Rouse(ctx, held); err != nil {
				t.Errorf("Rouse: %v", err)
				return
			}
		}
	})
}
