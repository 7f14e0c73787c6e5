package main

// The holder: a worker, which acquires the lock and waits to be killed.

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
)

// holdTimeout bounds the time to acquire the lock; a machine may stall.
const holdTimeout = 30 * time.Second

// assignment tells a holder what to hold.
type assignment struct {
	Driver, Lock, Key string
	Addrs             []string
	TTL               time.Duration
}

func (a assignment) config(polls bool) drivers.Config {
	return drivers.Config{Lock: a.Lock, Addrs: a.Addrs, Prefix: "recovery:", Clients: 1, TTL: a.TTL, Polls: polls}
}

// startHolder starts the process and returns when it holds the lock.
func startHolder(ctx context.Context, a assignment) (*exec.Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, holdTimeout)
	defer cancel()
	w, err := exec.Start(ctx, exec.Options{Driver: a.Driver, Config: a.config(false)})
	if err != nil {
		return nil, err
	}
	held, err := w.Session().Try(ctx, &drivers.Lease{Key: a.Key, TTL: a.TTL})
	if err == nil && !held {
		err = errors.New("the key is taken, although no other client uses it")
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}
