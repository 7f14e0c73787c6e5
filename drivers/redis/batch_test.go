package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// inBatches is a driver whose sessions send all their requests in batches, of one each. They share as few as a harness has.
type inBatches struct{ drivers.Driver }

func (d inBatches) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	cfg.Blocks = false // see awake
	s, err := d.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	b, ok := drivers.As[drivers.Batcher](s)
	if !ok {
		return nil, errors.Join(errors.New("it is no Batcher"), s.Close())
	}
	const batches = 16
	free := make(chan drivers.Batch, batches)
	for range batches {
		batch, err := b.Batch(ctx)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		free <- batch
	}
	return batchingService{s, free}, nil
}

type batchingService struct {
	drivers.Service
	free chan drivers.Batch
}

func (s batchingService) Unwrap() drivers.Service { return s.Service }

func (s batchingService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	plain := batchingSession{inner, s.free}
	if _, renews := inner.(drivers.Renewer); renews {
		return renewingSession{plain}, nil
	}
	return plain, nil
}

type batchingSession struct {
	drivers.Session
	free chan drivers.Batch
}

func (s batchingSession) Unwrap() drivers.Session { return s.Session }

func (s batchingSession) do(ctx context.Context, op drivers.Op, l *drivers.Lease) (bool, error) {
	r := []drivers.Request{{Session: s.Session, Op: op, Lease: l}}
	batch := <-s.free
	defer func() { s.free <- batch }()
	batch.Do(ctx, r)
	return r[0].Yes, r[0].Err
}

func (s batchingSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.do(ctx, drivers.OpTry, l)
}

func (s batchingSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.do(ctx, drivers.OpRelease, l)
}

type renewingSession struct{ batchingSession }

func (s renewingSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	return s.do(ctx, drivers.OpRenew, l)
}

// TestBatchConformance runs the suite on designs whose requests go in batches, some of them in several steps. The libraries take
// turns, and with -short each has one design.
func TestBatchConformance(t *testing.T) {
	conformAll(t, drivers.Config{}, func(d drivers.Driver, library int) (list []cell) {
		for i, design := range d.Designs() {
			if i == 0 || i%2 == library && !testing.Short() {
				list = append(list, cell{design.Name, drivers.Config{Lock: design.Name, Pipelining: drivers.PipeliningBatch}})
			}
		}
		return list
	}, func(t *testing.T) string { return servertest.Redis(t, servers.Options{}).URL() })
}

// tries returns the attempts of clients that share the keys, and a batch to send them.
func tries(t *testing.T, driver string, cfg drivers.Config, clients, keys int) (drivers.Service, drivers.Batch, []drivers.Request) {
	t.Helper()
	cfg.Pipelining, cfg.Prefix = drivers.PipeliningBatch, "batch:"
	s := open(t, driver, cfg)
	b, ok := drivers.As[drivers.Batcher](s)
	if !ok {
		t.Fatal("it is no Batcher")
	}
	batch, err := b.Batch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { batch.Close() })
	requests := make([]drivers.Request, clients)
	for i := range requests {
		l := &drivers.Lease{Key: fmt.Sprintf("batch:%d", i%keys), TTL: time.Minute}
		requests[i] = drivers.Request{Session: session(t, s, i), Op: drivers.OpTry, Lease: l}
	}
	return s, batch, requests
}

// TestBatch sends the requests of many sessions at once, of which some are refused, one makes no sense, and the server does not
// know the scripts.
func TestBatch(t *testing.T) {
	for _, name := range []string{"go-redis", "rueidis"} {
		t.Run(name, func(t *testing.T) {
			const clients, keys = 100, 20
			s, batch, requests := tries(t, name, drivers.Config{Lock: "fenced", Addrs: plainRedis(t)}, clients, keys)
			requests[7].Lease.TTL = time.Microsecond
			do := func(what string, want func(i int) (yes, fails bool)) {
				t.Helper()
				batch.Do(t.Context(), requests)
				for i := range requests {
					r := &requests[i]
					if yes, fails := want(i); r.Yes != yes || (r.Err != nil) != fails {
						t.Errorf("%s, request %d: %v, %v, want %v and an error: %v", what, i, r.Yes, r.Err, yes, fails)
					}
				}
			}
			holder := func(i int) bool { return i < keys && i != 7 || i == 7+keys }
			do("tries", func(i int) (bool, bool) { return holder(i), i == 7 })
			for i := range requests {
				if got := requests[i].Lease.Fence; (got == 1) != holder(i) {
					t.Errorf("request %d has the fencing token %d", i, got)
				}
				requests[i].Op, requests[i].Lease.TTL = drivers.OpRenew, time.Hour
			}
			do("renewals", func(i int) (bool, bool) { return holder(i), false })
			for i := range requests {
				r := &requests[i]
				r.Op, r.To = drivers.OpPass, &drivers.Lease{Key: r.Lease.Key, TTL: time.Minute}
			}
			do("hand-overs", func(i int) (bool, bool) { return holder(i), false })
			for i := range requests {
				r := &requests[i]
				if (r.To.Fence == 2) != holder(i) {
					t.Errorf("request %d passed its lock on with the fencing token %d", i, r.To.Fence)
				}
				r.Op = drivers.OpRelease
			}
			do("releases of what was passed on", func(int) (bool, bool) { return false, false })
			for i := range requests {
				requests[i].Lease = requests[i].To
			}
			do("releases", func(i int) (bool, bool) { return holder(i), false })
			before := s.(drivers.Sender).Sent()
			do("releases again", func(int) (bool, bool) { return false, false })
			after := s.(drivers.Sender).Sent()
			if sent, writes := after.Requests-before.Requests, after.Writes-before.Writes; sent < clients || writes < 1 || writes > 3 {
				t.Errorf("%d releases went as %d requests in %d writes, want one, and two for a new connection at the most", clients, sent, writes)
			}
		})
	}
}

// TestNoBatch opens what cannot be sent in batches.
func TestNoBatch(t *testing.T) {
	s := open(t, "rueidis", drivers.Config{Lock: "set-nx", Blocks: true, Addrs: plainRedis(t), Pipelining: drivers.PipeliningBatch, Prefix: "batch:"})
	b, _ := drivers.As[drivers.Batcher](s)
	if _, err := b.Batch(t.Context()); err == nil {
		t.Error("a lock that wakes clients which sleep on the server can")
	}
}

// TestSteps sends requests at once of which some need a second command, after the answer to their first one.
func TestSteps(t *testing.T) {
	for _, name := range []string{"go-redis", "rueidis"} {
		t.Run(name, func(t *testing.T) {
			server := servertest.Redis(t, servers.Options{})
			rdb := bare(t, drivers.Config{Addrs: []string{server.URL()}})
			_, batch, requests := tries(t, name, drivers.Config{Lock: "setnx-expire", Addrs: []string{server.URL()}}, 100, 20)
			before := calls(t, rdb)
			batch.Do(t.Context(), requests)
			for i, r := range requests {
				if r.Yes != (i < 20) || r.Err != nil {
					t.Errorf("try %d: %v, %v", i, r.Yes, r.Err)
				}
				left, err := r.Session.(drivers.Remainer).Remaining(t.Context(), r.Lease) // by itself
				if left <= 0 || err != nil {
					t.Errorf("the lock of request %d lasts %v, %v", i, left, err)
				}
			}
			after := calls(t, rdb)
			if setnx, expire := after["setnx"]-before["setnx"], after["pexpire"]-before["pexpire"]; setnx != 100 || expire != 20 {
				t.Errorf("%d times SETNX and %d times PEXPIRE", setnx, expire)
			}
			server.Close()
			batch.Do(t.Context(), requests)
			for i, r := range requests {
				if r.Yes || r.Err == nil {
					t.Errorf("try %d without a server: %v, %v", i, r.Yes, r.Err)
				}
			}
		})
	}
}
