package main

// The waiter: a client in this process, which outlives the holder.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

// settleTime is how long the waiter waits before the holder dies, so that it is in any queue.
const settleTime = 200 * time.Millisecond

type waiter struct {
	svc     drivers.Service
	room    *wait.Room
	session drivers.Session
	waits   drivers.Waiter
	clock   drivers.Clock
}

func newWaiter(ctx context.Context, c cell, where endpoint, ttl time.Duration, kind string) (*waiter, error) {
	d, err := drivers.Lookup(c.driver)
	if err != nil {
		return nil, err
	}
	w := &waiter{clock: drivers.NewClock()}
	a := assignment{Driver: c.driver, Lock: c.design.Name, Addrs: where.urls, TTL: ttl}
	if w.svc, err = d.Open(ctx, a.config(kind != wait.Native)); err != nil {
		return nil, err
	}
	// Tries are at most ten milliseconds apart, to measure the lock and not the waiter.
	if w.room, err = wait.NewRoom(ctx, kind, w.svc, wait.Options{BackoffMax: 10 * time.Millisecond}); err == nil {
		var own drivers.Session
		if own, err = w.svc.Session(ctx, 0); err == nil {
			w.session, w.waits, err = w.room.Client(own, 0)
		}
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// server describes the server that is measured.
func (w *waiter) server(ctx context.Context) string {
	i, ok := drivers.As[drivers.Inspector](w.svc)
	if !ok {
		return "unknown"
	}
	s, _, err := i.Inspect(ctx)
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(s.Name + " " + s.Version)
	if s.Persistence != "" {
		name += ", persistence " + s.Persistence
	}
	return name
}

// survive starts a holder of a key, waits for the key in this client, and kills the holder. It returns the time from
// the death to the grant, and whether the key was granted within timeout.
func (w *waiter) survive(ctx context.Context, a assignment, timeout time.Duration) (took time.Duration, granted bool, err error) {
	h, err := startHolder(ctx, a)
	if err != nil {
		return 0, false, err
	}
	type outcome struct {
		wait.Attempt
		at  time.Time
		err error
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan outcome, 1)
	l := drivers.Lease{Key: a.Key, TTL: a.TTL, Deadline: time.Now().Add(settleTime + timeout)}
	go func() {
		held, err := w.session.Try(waiting, &l)
		var o outcome
		o.Attempt, o.err = wait.After(waiting, held, err, w.session, w.waits, &l, &w.clock, nil)
		o.at = time.Now()
		done <- o
	}()
	var o outcome
	early := false
	select {
	case o = <-done:
		early = true
	case <-time.After(settleTime):
	}
	death, failed := h.Kill()
	if !early {
		o = <-done
	}
	switch {
	case failed != nil:
		return 0, false, failed
	case o.err != nil:
		return 0, false, fmt.Errorf("waiting: %w", errors.Join(o.err, o.Leave))
	case o.Leave != nil:
		return 0, false, fmt.Errorf("leaving the wait: %w", o.Leave)
	case o.Held && early:
		return 0, false, errors.New("the lock was granted while its holder lived")
	case !o.Held:
		return 0, false, nil
	}
	if owned, err := w.session.Release(ctx, &l); err != nil || !owned {
		return 0, false, fmt.Errorf("releasing what was granted: %v, %v", owned, err)
	}
	return o.at.Sub(death.Sent), true, nil
}

func (w *waiter) close() error {
	var errs []error
	if w.room != nil {
		errs = append(errs, w.room.Close())
	}
	if c, ok := w.session.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, w.svc.Close())...)
}
