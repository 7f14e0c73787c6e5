package drivertest

// Cases about sleeping on the server until a release (Traits.Blocks).

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// blocks opens the service with Config.Blocks, and checks the claim in both directions.
func blocks(t *T) {
	svc := t.openBlocking(2)
	c := t.client(svc)
	_, ok := drivers.As[drivers.Blocker](c.Session)
	switch claim := svc.Traits().Blocks; {
	case claim != t.traits.Blocks:
		t.Fatalf("the service, opened with Config.Blocks, says Traits.Blocks %v, its design claims %v", claim, t.traits.Blocks)
	case claim != ok:
		t.Fatalf("Traits.Blocks is %v, and that the session is a Blocker is %v", claim, ok)
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
	if !t.within(slack, func(ctx context.Context) { mustWake(ctx, a, "the key was released just before") }) {
		t.Fatalf("a release just before Block has not ended it within %v", slack)
	}
	mustSleep(b, "the release has woken another one")

	holder.hold(held, "the key is free")
	if !t.within(slack, func(ctx context.Context) { mustWake(ctx, a, "the key was released meanwhile") }, func() {
		time.Sleep(settleTime)
		holder.release(held, true, "the client held the key")
	}) {
		t.Fatalf("a release has not woken a sleeper within %v", slack)
	}
	mustSleep(b, "the release has woken another one")

	server, _ := drivers.As[drivers.Blocker](a.Session)
	if err := server.Rouse(t.ctx, held); err != nil {
		t.Fatalf("Rouse: %v", err)
	}
	if !t.within(slack, func(ctx context.Context) { mustWake(ctx, b, "the wake-up was passed on") }) {
		t.Fatalf("Rouse has not ended a sleep within %v", slack)
	}
}

// blockCancelled ends the context of a sleep; then the client must be able to sleep again.
func blockCancelled(t *T) {
	svc := t.openBlocking(2)
	holder, c := t.client(svc), t.client(svc)
	server, ok := drivers.As[drivers.Blocker](c.Session)
	if !ok {
		return // "blocks" says so
	}
	held := lease(t.key(), long)
	holder.hold(held, "the key is free")
	outer, cancel := context.WithCancel(t.ctx)
	defer cancel()
	if !t.within(slack, func(context.Context) {
		if woken, err := server.Block(outer, held, waitTime); woken || !errors.Is(err, context.Canceled) {
			t.Errorf("Block returned %v, %v after its context was cancelled; want context.Canceled", woken, err)
		}
	}, func() {
		time.Sleep(settleTime)
		cancel()
	}) {
		t.Fatalf("Block has not returned %v after its context was cancelled", slack)
	}
	holder.release(held, true, "the client held the key")
	if !t.within(slack, func(ctx context.Context) {
		for { // the token may still be on its way to the closed connection
			woken, err := server.Block(ctx, held, short)
			if err != nil {
				t.Errorf("Block, after one that was cancelled: %v", err)
			}
			if woken || err != nil {
				return
			}
			if err := server.Rouse(ctx, held); err != nil {
				t.Errorf("Rouse: %v", err)
				return
			}
		}
	}) {
		t.Fatalf("a client that was cancelled in its sleep has not been woken again within %v", slack)
	}
}
