// The errors of a trial: which were counted, when they are too many, and the keys that they left locked.

package workloads

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// errorLog counts errors by class, and keeps the first of each. Errors are rare (clients pause after each), so one lock serves all.
type errorLog struct {
	prefix string // of the run's names

	mu      sync.Mutex
	n       int64 // all but the notes
	latest  error
	classes map[string]*errorClass
}

// errorClass is the errors of a class.
type errorClass struct {
	all, counted int64  // counted: those of the measured window
	early        int64  // those before its end that are not: of what began in the warm-up
	sample       string // the first, whenever it came
}

func (g *errorLog) add(op string, err error, recorded bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	g.latest = err
	g.count(string(drivers.ClassOf(err)), op, err, recorded)
}

// standing is a state of the server in which no request can succeed.
type standing struct {
	granted, errors int64         // at the latest look
	since           time.Duration // when something was granted, or no request failed so, for the last time
	ended           bool          // the trial, for that
}

// standingTime is for how long nothing has to be granted until a trial ends for such a state.
const standingTime = 3 * time.Second

// look returns why the load cannot go on; empty if it can. The errors of the record say what the server answers.
func (s *standing) look(e *engine) string {
	g := &e.errors
	g.mu.Lock()
	defer g.mu.Unlock()
	granted, now := e.granted(), e.clock.Now()
	class := drivers.ClassOf(g.latest)
	if granted != s.granted || g.n == s.errors || !class.Stands(granted > 0) {
		s.since = now
	}
	s.granted, s.errors = granted, g.n
	if now-s.since < standingTime {
		return ""
	}
	s.ended = true
	return fmt.Sprintf("no request succeeded for %s (%s)", format.Duration(standingTime), class)
}

// note counts an error that is not the lock's: it is in no total.
func (g *errorLog) note(class string, err error, recorded bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(class, class, err, recorded)
}

func (g *errorLog) count(class, op string, err error, recorded bool) {
	c := g.classes[class]
	if c == nil {
		c = &errorClass{sample: sample(op, err, g.prefix)}
		if g.classes == nil {
			g.classes = map[string]*errorClass{}
		}
		g.classes[class] = c
	}
	c.all++
	if recorded {
		c.counted++
	}
}

// maxErrorText is how much of an error is kept, in bytes: a server may send any amount of text.
const maxErrorText = 1000

// sample is the text of an error. Where the remedy is a prefix, it says what the run's is.
func sample(op string, err error, prefix string) string {
	text := op + ": " + err.Error()
	if strings.Contains(text, drivers.PrefixRemedy) {
		text += fmt.Sprintf("; this run's begin with %q", prefix)
	}
	return shortened(text)
}

func shortened(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorText], "") + "…"
}

func (g *errorLog) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.classes {
		c.early = c.all - c.counted
	}
}

func (g *errorLog) total() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// byClass returns a number of each class, without those that have none.
func (g *errorLog) byClass(of func(*errorClass) int64) map[string]int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	numbers := map[string]int64{}
	for class, c := range g.classes {
		if n := of(c); n > 0 {
			numbers[class] = n
		}
	}
	return numbers
}

func (g *errorLog) samples() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	samples := map[string]string{}
	for class, c := range g.classes {
		samples[class] = c.sample
	}
	return samples
}

// stuckShare is the share of the window for which a key has to stay locked before it counts: the next client is granted a key at
// once if the request that failed had freed it.
const stuckShare = 0.01

// stuck are the keys that failed requests have left locked.
type stuck struct {
	some atomic.Bool // a request has failed so

	mu   sync.Mutex
	keys map[int32]*stuckKey
}

// stuckKey is a key that failed requests have left locked, perhaps several times.
type stuckKey struct {
	locked bool          // and not granted since
	since  time.Duration // if it is locked
	lasted time.Duration // the times before this one, as far as they fell into the window
}

// leave records that a request of a client for its key failed, that it may have left the key locked, and since when.
func (s *stuck) leave(c *client, since time.Duration) {
	if c.e.run.Plan.Shared {
		return // until its next grant the key may be another run's
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = map[int32]*stuckKey{}
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

// lasted returns for how long of the window each key was left locked.
func (s *stuck) lasted(e *engine) map[int32]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[int32]time.Duration{}
	for key, k := range s.keys {
		if all[key] = k.lasted; k.locked {
			all[key] += e.inside(k.since, e.until())
		}
	}
	return all
}

// stuckText says how many keys of r were left locked; empty if none were.
func stuckText(r *results.Record) string {
	n := r.Counts.StuckKeys
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("requests that failed left %s locked", format.Part(n, int64(r.Plan.Keys), "key"))
}
