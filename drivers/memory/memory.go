// Package memory has the locks that need no server: "memory", an in-process lock that keeps every promise a lock can
// make, and is the reference of the conformance suite; and "null", which promises nothing and shows the cost of the
// harness alone.
//
// The state of a memory lock belongs to the service that Open returned: two services share nothing.
package memory

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

func init() {
	drivers.Register("memory", Driver{})
	drivers.Register("null", Null{})
}

// Driver opens in-process locks.
type Driver struct{}

var traits = drivers.Traits{
	Exclusive: true, Owned: true, Expires: true, Fenced: true, Renews: true, Wakes: true,
}

// loses is what every lease loses to that is not compared with a clock at its holder.
var loses = []drivers.Hazard{
	drivers.HazardOverrun, drivers.HazardHolderPauses, drivers.HazardLateGrant, drivers.HazardOrphanWatchdog,
}

// Designs lists "mutex" and "reentrant", which differ in how they answer their own holder.
func (Driver) Designs() []drivers.Design {
	again := traits
	again.Reentrant = true
	return []drivers.Design{{
		Name:   "mutex",
		Traits: traits,
		Models: "a Go map behind sharded mutexes, with a lease, an owner and a fence for each key",
		Wrong:  "serves one process only; a holder that outlives its lease goes on beside the next one, unless the fence is checked",
		Loses:  loses,
	}, {
		Name:   reentrant,
		Traits: again,
		Models: "mutex, but its holder may acquire it again, with a fresh lease each time; as many releases free it",
		Wrong:  "as mutex",
		Loses:  loses,
	}}
}

const reentrant = "reentrant"

// Open makes an empty lock table. It uses only Lock and Wakes of cfg.
func (d Driver) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	design, err := drivers.FindDesign(d, cfg.Lock)
	if err != nil {
		return nil, fmt.Errorf("memory: open: %w", err)
	}
	s := &service{clock: drivers.NewClock(), seed: maphash.MakeSeed(), traits: design.Traits}
	s.traits.Wakes = cfg.Wakes
	for i := range s.shards {
		s.shards[i].keys = map[string]*entry{}
	}
	return s, nil
}

// shardCount bounds how often clients of different keys meet at a mutex. It is far above the number of cores and far
// below what a table costs.
const shardCount = 256

type service struct {
	clock  drivers.Clock
	seed   maphash.Seed
	traits drivers.Traits
	closed atomic.Bool
	shards [shardCount]shard
}

type shard struct {
	mu   sync.Mutex
	keys map[string]*entry
	_    [48]byte // avoids false sharing
}

// entry is the state of a key. It outlives its holder, because the fence must go on growing.
type entry struct {
	owner     string        // empty: free
	session   *session      // that was last granted the key
	more      int           // releases before the one that frees it; 0 unless it was acquired again
	until     time.Duration // end of the lease on the service's clock; 0: never
	fence     uint64        // of the last grant
	listeners []*listener   // grown or replaced, elements never change: Release reads them outside the mutex
}

func (e *entry) held(now time.Duration) bool { return e.owner != "" && (e.until == 0 || now < e.until) }

// blank reports whether forgetting the entry loses nothing.
func (e *entry) blank() bool { return e.owner == "" && e.fence == 0 && len(e.listeners) == 0 }

func (s *service) shard(key string) *shard { return &s.shards[maphash.String(s.seed, key)%shardCount] }

// entry finds or makes the entry of a key. The caller holds the mutex.
func (sh *shard) entry(key string) *entry {
	e := sh.keys[key]
	if e == nil {
		e = &entry{}
		sh.keys[key] = e
	}
	return e
}

// end returns when a lease taken now expires.
func end(now, ttl time.Duration) time.Duration {
	if ttl <= 0 {
		return 0
	}
	return now + ttl
}

// check represents what can fail between a client and a server.
func (s *service) check(ctx context.Context, op string) error {
	if s.closed.Load() {
		return &drivers.Error{Class: drivers.ClassClosed, Op: op, Err: net.ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (s *service) Session(context.Context, int) (drivers.Session, error) {
	return &session{service: s}, nil
}

func (s *service) Traits() drivers.Traits { return s.traits }

// Batch implements drivers.Batcher.
func (s *service) Batch(context.Context) (drivers.Batch, error) { return drivers.InTurn{}, nil }

// Library implements drivers.Described.
func (Driver) Library() drivers.Library { return inProcess }

// inProcess is of drivers that have no connections.
var inProcess = drivers.Library{Pipelining: []drivers.Pipelining{drivers.PipeliningBatch}}

func (s *service) Close() error {
	s.closed.Store(true)
	return nil
}

// Ping measures the cost of a request that does nothing.
func (s *service) Ping(ctx context.Context) error { return s.check(ctx, "memory: ping") }

// Probe looks up a key that does not exist, under its shard's mutex. A service has its own table, so one opened only
// for probes shares nothing with others but the processors.
func (s *service) Probe(ctx context.Context) error {
	if err := s.check(ctx, "memory: probe"); err != nil {
		return err
	}
	sh := s.shard("")
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e := sh.keys[""]; e == nil || !e.held(s.clock.Now()) {
		return nil
	}
	return errors.New("memory: probe: the key without a name is held")
}

// Clean forgets the keys' holders and fences. Listeners stay.
func (s *service) Clean(ctx context.Context, keys []string) error {
	if err := s.check(ctx, "memory: clean"); err != nil {
		return err
	}
	for _, key := range keys {
		sh := s.shard(key)
		sh.mu.Lock()
		if e := sh.keys[key]; e != nil {
			*e = entry{listeners: e.listeners}
			if e.blank() {
				delete(sh.keys, key)
			}
		}
		sh.mu.Unlock()
	}
	return nil
}

// Inspect names the server; it has no process or network usage of its own.
func (s *service) Inspect(ctx context.Context) (drivers.Server, drivers.Usage, error) {
	unknown := drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	if err := s.check(ctx, "memory: inspect"); err != nil {
		return drivers.Server{}, unknown, err
	}
	return drivers.Server{Name: "memory", Mode: "standalone", Persistence: "none"}, unknown, nil
}

// Null opens locks that grant every attempt and keep no state. They claim nothing, not even exclusion.
type Null struct{}

// Designs lists the one design, "none".
func (Null) Designs() []drivers.Design {
	return []drivers.Design{{
		Name:   "none",
		Models: "no lock at all",
		Wrong:  "no exclusion; it shows the cost of the harness, and what violations look like",
	}}
}

// Library implements drivers.Described.
func (Null) Library() drivers.Library { return inProcess }

// Open only requires a known Lock.
func (d Null) Open(_ context.Context, cfg drivers.Config) (drivers.Service, error) {
	if _, err := drivers.FindDesign(d, cfg.Lock); err != nil {
		return nil, fmt.Errorf("null: open: %w", err)
	}
	return null{}, nil
}

// null is both service and session, because neither has any state.
type null struct{}

func (null) Session(context.Context, int) (drivers.Session, error) { return null{}, nil }
func (null) Traits() drivers.Traits                                { return drivers.Traits{} }
func (null) Batch(context.Context) (drivers.Batch, error)          { return drivers.InTurn{}, nil }
func (null) Close() error                                          { return nil }
func (null) Try(_ context.Context, l *drivers.Lease) (held bool, err error) {
	l.Reset()
	return true, nil
}
func (null) Release(context.Context, *drivers.Lease) (ok bool, err error) { return true, nil }
