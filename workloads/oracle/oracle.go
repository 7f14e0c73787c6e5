// Package oracle watches mutual exclusion while the load runs: it keeps, for each key, who believes to hold it, and
// logs every grant of a key that someone else still holds.
//
// A client Enters after its grant has been read and Exits before its release is sent, so each recorded interval
// lies inside the client's own belief, and an overlap is never a false alarm. The common case is two
// compare-and-swaps on one cache line a key; locks and logs are for collisions only.
//
// Two witnesses are kept apart: the interval of belief, and an unprotected read-modify-write counter a key whose
// lost updates show the damage that an application would suffer.
package oracle

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
)

// MaxClients is how many clients the oracle can tell apart.
const MaxClients = 1 << clientBits

// maxEvents is how many violations are kept in detail; all are counted.
const maxEvents = 100

// Oracle watches a fixed set of keys, which are known by their index. Enter and Exit are safe for concurrent use.
type Oracle struct {
	cells []cell

	mu            sync.Mutex // guards what follows: the slow path
	contested     map[int]*contest
	events        []results.Violation
	violations    int64
	longest       time.Duration
	overlap       time.Duration
	wrongReleases int64
	fenceRegress  int64
}

// cell is one key's book, one cache line.
type cell struct {
	// word says how many believe to hold the key, who was granted it last, and the sequence number of that grant.
	// While the key is free the last two stay, so that the next holder learns whom it follows.
	word     atomic.Uint64
	released atomic.Int64  // when the last holder was about to send its release
	taken    atomic.Uint64 // the sequence number with which the present client took the key over from another
	counter  atomic.Int64  // the second witness
	fence    atomic.Uint64
	_        [24]byte
}

// A word is seq<<40 | client<<20 | count. The sequence number wraps after 16 M grants, which would hide a collision
// only if a key were granted an exact multiple of that during one hold.
const (
	countBits  = 20
	clientBits = 20
	countMask  = 1<<countBits - 1
	clientMask = 1<<clientBits - 1
	seqShift   = countBits + clientBits
)

func count(word uint64) uint64 { return word & countMask }
func client(word uint64) int   { return int(word >> countBits & clientMask) }

// next is the word after a grant to client me; the count is that of word plus one.
func next(word uint64, me int) uint64 {
	return (word>>seqShift+1)<<seqShift | uint64(me)<<countBits | count(word) + 1
}

// Grant is one hold in the oracle's books, from Enter to Exit.
type Grant struct {
	// Handoff is when the previous holder's release was sent, and 0 if the key was never held before or is held
	// by somebody else even now.
	Handoff time.Duration

	// Run is how many grants in a row the client has had of this key, this one included. 1 means that the key has
	// changed owners.
	Run int64

	word uint64 // the cell's word while this holder is alone and was granted the key last
	seen int64  // the counter when the hold began
}

// contest is a key with more holders than one, or one that outlasted such a state.
type contest struct {
	holders []holder      // in the order in which they came
	since   time.Duration // when the second one came
}

// holder is a client in a contest. If it came as an intruder, its violation lasts until it leaves or until all who
// were there before it have left, which is when it becomes the first in the list: no violation needs a list of its
// own. With one, a hundred thousand clients of a lock that excludes nobody took gigabytes and hours.
type holder struct {
	client int
	open   bool // an intruder whose violation has not ended
	at     time.Duration
	event  int // the violation's place in events, or -1
}

// New makes an oracle for keys 0 to keys-1.
func New(keys int) *Oracle {
	return &Oracle{cells: make([]cell, keys), contested: map[int]*contest{}}
}

// Enter records that client me was granted the key, at a time now that was read after the grant. A fence of 0 means
// that the design has none.
func (o *Oracle) Enter(key, me int, fence uint64, now time.Duration) Grant {
	c := &o.cells[key]
	old := c.word.Load()
	for count(old) == 0 {
		mine := next(old, me)
		if !c.word.CompareAndSwap(old, mine) {
			old = c.word.Load()
			continue
		}
		g := Grant{word: mine, seen: c.counter.Load(), Handoff: time.Duration(c.released.Load()), Run: c.run(old, mine)}
		if fence != 0 {
			o.checkFence(c, fence)
		}
		return g
	}
	g := o.collide(key, me, now)
	if fence != 0 {
		o.checkFence(c, fence)
	}
	return g
}

// run counts the grants in a row to the client of word mine, which follows old. Only an owner change is written down:
// an atomic store costs as much as a swap.
func (c *cell) run(old, mine uint64) int64 {
	if old != 0 && client(old) == client(mine) {
		return int64((mine>>seqShift-c.taken.Load())&(1<<(64-seqShift)-1)) + 1
	}
	c.taken.Store(mine >> seqShift)
	return 1
}

func (o *Oracle) checkFence(c *cell, fence uint64) {
	for {
		highest := c.fence.Load()
		if fence <= highest {
			o.mu.Lock()
			o.fenceRegress++
			o.mu.Unlock()
			return
		}
		if c.fence.CompareAndSwap(highest, fence) {
			return
		}
	}
}

// Exit records that the holder of g is about to send its release, at a time now that was read before. It answers
// whether the key was granted to nobody else since Enter.
func (o *Oracle) Exit(key, me int, g Grant, now time.Duration) (undisturbed bool) {
	c := &o.cells[key]
	c.counter.Store(g.seen + 1)
	c.released.Store(int64(now))
	if c.word.CompareAndSwap(g.word, g.word-1) {
		return true
	}
	return o.part(key, me, g, now)
}

// WrongRelease records that a release removed a lock although the key had been granted to somebody else before that
// release was sent: Exit said disturbed, and the server said removed.
func (o *Oracle) WrongRelease() {
	o.mu.Lock()
	o.wrongReleases++
	o.mu.Unlock()
}

// collide enters a key that seemed to be held.
func (o *Oracle) collide(key, me int, now time.Duration) Grant {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &o.cells[key]
	for {
		old := c.word.Load()
		mine := next(old, me)
		if !c.word.CompareAndSwap(old, mine) {
			continue // the holder left by the fast path, or somebody took the free key
		}
		g := Grant{word: mine - count(old), seen: c.counter.Load(), Run: c.run(old, mine)}
		if count(old) == 0 {
			g.Handoff = time.Duration(c.released.Load())
			return g
		}
		o.intrude(key, old, me, now)
		return g
	}
}

// intrude books the violation. old is the word that the intruder found.
func (o *Oracle) intrude(key int, old uint64, me int, now time.Duration) {
	k := o.contested[key]
	if k == nil {
		k = &contest{holders: []holder{{client: client(old)}}}
		o.contested[key] = k
	}
	if len(k.holders) == 1 {
		k.since = now
	}
	h := holder{client: me, open: true, at: now, event: -1}
	o.violations++
	if len(o.events) < maxEvents {
		h.event = len(o.events)
		o.events = append(o.events, results.Violation{At: now, Key: key, Holder: k.holders[0].client, Intruder: me})
	}
	k.holders = append(k.holders, h)
}

// part takes one of several holders out of a key, or the last one after such a state. It answers whether nobody
// else was granted the key after g.
func (o *Oracle) part(key, me int, g Grant, now time.Duration) (undisturbed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &o.cells[key]
	if c.word.CompareAndSwap(g.word, g.word-1) {
		return true // the others left while this one waited for mu
	}
	k := o.contested[key]
	if i := slices.IndexFunc(k.holders, func(h holder) bool { return h.client == me }); i >= 0 {
		o.settle(&k.holders[i], now)
		k.holders = slices.Delete(k.holders, i, i+1)
	}
	if len(k.holders) > 0 {
		o.settle(&k.holders[0], now)
	}
	if len(k.holders) == 1 {
		o.overlap += max(1, now-k.since)
	}
	word := c.word.Add(^uint64(0)) // from here on a last holder who is alone may leave by the fast path
	if count(word) == 0 || (count(word) == 1 && client(word) == k.holders[0].client) {
		delete(o.contested, key) // free, or back to what the fast path understands
	}
	return word>>seqShift == g.word>>seqShift
}

// settle closes a holder's violation, if it has one, since its overlap has ended.
func (o *Oracle) settle(h *holder, now time.Duration) {
	if !h.open {
		return
	}
	h.open = false
	lasted := max(1, now-h.at) // a hold without length has both stamps before the intruder's
	o.longest = max(o.longest, lasted)
	if h.event >= 0 {
		o.events[h.event].Overlap = lasted
	}
}

// Violations is the number of violations so far.
func (o *Oracle) Violations() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.violations
}

// Report sums up what was seen. It is called when no client is between Enter and Exit.
func (o *Oracle) Report() results.Safety {
	o.mu.Lock()
	defer o.mu.Unlock()
	return results.Safety{
		Checked:       true,
		Violations:    o.violations,
		Longest:       o.longest,
		Overlap:       o.overlap,
		WrongReleases: o.wrongReleases,
		FenceRegress:  o.fenceRegress,
		Events:        slices.Clone(o.events),
	}
}

// Updates is how many of the second witness's updates survived: the sum of all counters. Short of the number of
// grants, the difference was lost.
func (o *Oracle) Updates() (n int64) {
	for i := range o.cells {
		n += o.cells[i].counter.Load()
	}
	return n
}
