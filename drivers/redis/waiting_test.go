// The ways of waiting that depend on a server, against the contract of a session that waits by itself.
package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/wait"
)

// waiting makes a driver whose sessions wait in one way, all in one room.
type waiting struct {
	drivers.Driver
	kind    wait.Kind
	options wait.Options
}

func (w waiting) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	cfg.Wakes, cfg.Blocks = cfg.Wakes || w.kind.Wakes, cfg.Blocks || w.kind.Blocks
	svc, err := w.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	room, err := wait.NewRoom(ctx, w.kind.Name, svc, w.options)
	if err != nil {
		svc.Close()
		return nil, err
	}
	return waitingService{svc, room}, nil
}

// Designs claims Waits, and nothing about listeners: a client in line does not listen, and must leave the waiting to
// its line.
func (w waiting) Designs() []drivers.Design {
	list := w.Driver.Designs()
	for i := range list {
		list[i].Traits.Wakes, list[i].Traits.Waits = false, true
	}
	return list
}

type waitingService struct {
	drivers.Service
	room *wait.Room
}

func (s waitingService) Traits() drivers.Traits {
	t := s.Service.Traits()
	t.Wakes, t.Waits = false, true
	return t
}

func (s waitingService) Clean(ctx context.Context, keys []string) error {
	return s.Service.(drivers.Cleaner).Clean(ctx, keys)
}

func (s waitingService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	session, waiter, err := s.room.Client(inner, id)
	return waitingSession{session, waiter}, err
}

func (s waitingService) Close() error { return errors.Join(s.room.Close(), s.Service.Close()) }

type waitingSession struct {
	drivers.Session
	drivers.Waiter
}

func (s waitingSession) Unwrap() drivers.Session { return s.Session }

func TestWaitingConforms(t *testing.T) {
	d, err := drivers.Lookup("rueidis")
	if err != nil {
		t.Fatal(err)
	}
	cfg := drivers.Config{Lock: "set-nx", Addrs: plainRedis(t), IOTimeout: time.Second}
	for _, way := range []struct {
		name, kind string
		wait.Options
	}{
		{"pubsub", wait.PubSub, wait.Options{}},
		{"queue-release", wait.Queue, wait.Options{Handover: wait.HandoverRelease}},
		{"queue-swap", wait.Queue, wait.Options{Handover: wait.HandoverSwap}},
		{"block", wait.Block, wait.Options{}},
	} {
		kind, err := wait.Find(way.kind)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(way.name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Setup{Driver: waiting{d, kind, way.Options}, Config: cfg})
		})
	}
}
