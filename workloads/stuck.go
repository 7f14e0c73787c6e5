// Keys that failed requests have left locked: by a release that was not answered, or an attempt of unknown outcome that could not
// be taken back. Nobody is granted such a key until its lease ends, which may be long after the window. They are apart from the
// cycle: as long as no request fails, a cycle reads one word that nobody writes.

package workloads

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// stuckShare is the share of the window for which a key has to stay locked before it counts: the next client is granted a key at
// once if the request that failed had freed it.
const stuckShare = 0.01

// stuck are the keys that failed requests have left locked.
type stuck struct {
	some atomic.Bool // a request has failed so

	mu    sync.Mutex
	keys  map[int32]*stuckKey
	first string // the error that left the first of them
}

// stuckKey is a key that failed requests have left locked, perhaps several times.
type stuckKey struct {
	locked bool          // and not granted since
	since  time.Duration // if it is locked
	lasted time.Duration // the times before this one, as far as they fell into the window
}

// leave records that a request of a client for its key failed, that it may have left the key locked, and since when.
func (s *stuck) leave(c *client, op string, err error, since time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys, s.first = map[int32]*stuckKey{}, shortened(op+": "+err.Error())
	}
	k := s.keys[c.key]
	if k == nil {
		k = new(stuckKey)
		s.keys[c.key] = k
	}
	if !k.locked {
		k.locked, k.since = true, since
	}
	s.some.Store(true)
}

// waited returns for how long of its acquisition, which is over, a client asked for a key that was left locked.
func (s *stuck) waited(c *client) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keys[c.key]; k != nil && k.locked {
		return c.e.inside(max(k.since, c.start), c.granted)
	}
	return 0
}

// granted records that a client was granted its key, which is free of former holders then.
func (s *stuck) granted(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keys[c.key]; k != nil && k.locked {
		k.locked = false
		k.lasted += c.e.inside(k.since, c.granted)
	}
}

// number returns how many keys were left locked for long enough to count.
func (s *stuck) number(e *engine) (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.keys {
		lasted := k.lasted
		if k.locked {
			lasted += e.inside(k.since, e.until())
		}
		if float64(lasted) > stuckShare*float64(e.until()-e.from) {
			n++
		}
	}
	return n
}

// stuckText says which keys of r were left locked, and by what; empty if none were.
func (e *engine) stuckText(r *results.Record) string {
	n := r.Counts.StuckKeys
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("requests that failed left %d of %s locked (the first: %s)", n, format.Plural(r.Plan.Keys, "key"), e.stuck.first)
}
