// Package oracle checks mutual exclusion while the load runs: it knows which clients hold each key, and logs every grant of
// a key that another client still holds.
//
// A client calls Enter after it has read its grant and Exit before it sends its release, so that each recorded interval
// lies inside the client's own hold, and an overlap is never a false alarm. The common case is two compare-and-swaps on one
// cache line a key; mutexes and logs are for collisions only.
//
// There are two independent witnesses: the intervals of the holds, and a counter for each key that holders increment without
// protection, whose lost updates show the damage that an application would suffer.
//
// That the oracle has seen no violation means something only where it could have seen one; see watch.go. When a release is
// called wrong is in release.go.
package oracle

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
)

// MaxEvents is how many violations are kept in detail; all are counted.
const MaxEvents = 100

// Oracle watches a fixed set of keys, which are known by their index. Enter and Exit are safe for concurrent use.
type Oracle struct {
	cells []cell

	mu            sync.Mutex // guards the rest: the slow path
	shared        map[int]*sharedKey
	events        []results.Violation
	violations    int64
	longest       time.Duration
	overlap       time.Duration
	wrongReleases int64
	attributed    int64             // wrong releases that only the loss of their victims shows
	evidence      map[int]*evidence // by key; see release.go
	fenceRegress  int64
	intruded      int64 // grants that were violated before any refusal made them watched
}

// cell is the state of one key, one cache line.
type cell struct {
	// word has the number of holders, the client of the last grant, and the sequence number of that grant. The last two
	// stay while the key is free, so that the next holder knows which client it follows.
	word     atomic.Uint64
	released atomic.Int64 // when the last holder was about to send its release, or the negative of when it crashed
	taken    atomic.Int64 // the sequence number with which the key moved to the present client; see run
	counter  atomic.Int64 // the second witness
	fence    atomic.Uint64
	watched  atomic.Int64 // the sequence number of the last grant that was watched
	resume   atomic.Int64 // when a hold of the key may be sampled again
	_        [8]byte
}

// A word is seq<<40 | client<<20 | count. The sequence number wraps after 16 M grants, which would hide a collision
// only if a key were granted an exact multiple of that during one hold.
const (
	countBits  = 20
	clientBits = 20
	countMask  = 1<<countBits - 1
	clientMask = 1<<clientBits - 1
	seqShift   = countBits + clientBits
	seqBits    = 64 - seqShift
)

func count(word uint64) uint64 { return word & countMask }
func client(word uint64) int   { return int(word >> countBits & clientMask) }

// next returns the word after a grant to client me.
func next(word uint64, me int) uint64 {
	return (word>>seqShift+1)<<seqShift | uint64(me)<<countBits | count(word) + 1
}

// Grant is one hold, from Enter to Exit.
type Grant struct {
	// Handoff is when the previous holder's release was sent. It is 0 if the key was never held before, or if another client
	// holds it still.
	Handoff time.Duration

	// CrashedAt is when the previous holder crashed, if it did. There is no Handoff then.
	CrashedAt time.Duration

	// Run is how many grants in a row the client has had of this key, this one included. It is a guess while the key has
	// several holders, whose order is unknown.
	Run int64

	// Moved reports whether another client held the key before.
	Moved bool

	// Counted reports whether Enter has counted the grant as a violation.
	Counted bool

	// Crashes is set by a holder that is about to Exit without sending a release.
	Crashes bool

	word uint64 // the cell's word while this holder is alone and was granted the key last
	seen int64  // the counter when the hold began
}

// sharedKey is a key with several holders, or with one that is left of several.
type sharedKey struct {
	holders []holder      // in the order of their grants
	since   time.Duration // when the second one was granted it
}

// holder is a client that holds a shared key. All but the first were granted it wrongly, and the violation of each is open
// until it leaves, or all who came before it have left.
type holder struct {
	client int
	came   time.Duration // of the wrong grant
	open   bool          // its violation has not ended
	event  int           // index of the violation in events, or -1
}

// New returns an oracle for keys 0 to keys-1.
func New(keys int) *Oracle {
	return &Oracle{cells: make([]cell, keys), shared: map[int]*sharedKey{}, evidence: map[int]*evidence{}}
}

// Enter records that client me was granted the key, at a time now that was read after the grant; asked was read before
// the request for it was sent. A fence of 0 means that the design has none.
func (o *Oracle) Enter(key, me int, fence uint64, asked, now time.Duration) Grant {
	c := &o.cells[key]
	old := c.word.Load()
	for count(old) == 0 {
		mine := next(old, me)
		if !c.word.CompareAndSwap(old, mine) {
			old = c.word.Load()
			continue
		}
		g := Grant{word: mine, seen: c.counter.Load()}
		g.follow(c)
		g.Run, g.Moved = c.run(old, mine)
		if fence != 0 {
			o.checkFence(c, fence)
		}
		return g
	}
	g := o.collide(key, me, asked, now)
	if fence != 0 {
		o.checkFence(c, fence)
	}
	return g
}

// follow records how the hold before g ended.
func (g *Grant) follow(c *cell) {
	if g.Handoff = time.Duration(c.released.Load()); g.Handoff < 0 {
		g.Handoff, g.CrashedAt = 0, -g.Handoff
	}
}

// run counts the grants in a row to the client of word mine, which follows old. Only a change of owner is stored: an atomic
// store costs as much as a swap. When the sequence number wraps within a run, so does the stored start.
func (c *cell) run(old, mine uint64) (run int64, moved bool) {
	seq := int64(mine >> seqShift)
	if old == 0 || client(old) != client(mine) {
		c.taken.Store(seq)
		return 1, old != 0
	}
	if seq == 0 {
		c.taken.Add(-1 << seqBits)
	}
	return max(2, seq-c.taken.Load()+1), false // several holders may store in another order than that of their grants
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

// Exit records that the holder of g is about to send its release, or crashes, at a time now that was read before. It reports
// whether no other client was granted the key since Enter.
func (o *Oracle) Exit(key, me int, g Grant, now time.Duration) (exclusive bool) {
	c := &o.cells[key]
	c.counter.Store(g.seen + 1)
	if g.Crashes {
		c.released.Store(-max(1, int64(now)))
	} else {
		c.released.Store(int64(now))
	}
	return c.word.CompareAndSwap(g.word, g.word-1) || o.exitShared(key, me, g, now)
}

// collide enters a key that seemed to be held.
func (o *Oracle) collide(key, me int, asked, now time.Duration) Grant {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &o.cells[key]
	for {
		old := c.word.Load()
		mine := next(old, me)
		if !c.word.CompareAndSwap(old, mine) {
			continue // the holder left by the fast path, or another client took the free key
		}
		g := Grant{word: mine - count(old), seen: c.counter.Load()}
		g.Run, g.Moved = c.run(old, mine)
		if count(old) == 0 {
			g.follow(c)
			return g
		}
		o.violation(key, old, me, asked, now)
		g.Counted = true
		return g
	}
}

// violation records the wrong grant of a key to client me, which found the word old.
func (o *Oracle) violation(key int, old uint64, me int, asked, now time.Duration) {
	k := o.shared[key]
	if k == nil {
		k = &sharedKey{holders: []holder{{client: client(old)}}}
		o.shared[key] = k
	}
	if len(k.holders) == 1 {
		k.since = now
	}
	h := holder{client: me, came: now, open: true, event: -1}
	o.violations++
	e := o.evidenceOf(key)
	e.intrusions = keepLast(append(e.intrusions, intrusion{asked, now}))
	if o.cells[key].watch(old) {
		o.intruded++
	}
	if len(o.events) < MaxEvents {
		h.event = len(o.events)
		o.events = append(o.events, results.Violation{At: now, Key: key, Holder: k.holders[0].client, Intruder: me})
	}
	k.holders = append(k.holders, h)
}

// exitShared is Exit of a key that has, or had, several holders.
func (o *Oracle) exitShared(key, me int, g Grant, now time.Duration) (exclusive bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := &o.cells[key]
	if c.word.CompareAndSwap(g.word, g.word-1) {
		return true // the others left while this one waited for mu
	}
	k := o.shared[key]
	o.leave(k, me, now)
	if len(k.holders) == 1 {
		o.overlap += max(1, now-k.since)
	}
	word := c.word.Add(^uint64(0)) // from here on a single holder may leave by the fast path
	if count(word) == 0 || (count(word) == 1 && client(word) == k.holders[0].client) {
		delete(o.shared, key) // free, or back on the fast path
	}
	return word>>seqShift == g.word>>seqShift
}

// leave removes a client from the holders, and closes its violation and that of the holder who is now the first.
func (o *Oracle) leave(k *sharedKey, me int, now time.Duration) {
	i := slices.IndexFunc(k.holders, func(h holder) bool { return h.client == me })
	o.closeViolation(&k.holders[i], now)
	if i > 0 {
		k.holders = slices.Delete(k.holders, i, i+1)
		return
	}
	k.holders = k.holders[1:] // moves no element: with thousands of holders the first mostly leaves first
	if len(k.holders) > 0 {
		o.closeViolation(&k.holders[0], now)
	}
}

// closeViolation closes the violation of h, if it has one that is open.
func (o *Oracle) closeViolation(h *holder, now time.Duration) {
	if !h.open {
		return
	}
	h.open = false
	length := max(1, now-h.came) // both times of a hold without length are before the wrong grant's
	o.longest = max(o.longest, length)
	if h.event >= 0 {
		o.events[h.event].Overlap = length
	}
}

// Violations returns the number of violations so far.
func (o *Oracle) Violations() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.violations
}

// Report returns what was seen, without Attributed. Call it when no client is between Enter and Exit. Grants that refusals
// made watched are counted by the clients that were refused; see Refused.
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
		Power:         &results.Power{Watched: o.intruded},
		Events:        slices.Clone(o.events),
	}
}

// Updates returns how many increments of the counters survived. If that is less than the number of grants, the difference
// was lost.
func (o *Oracle) Updates() (n int64) {
	for i := range o.cells {
		n += o.cells[i].counter.Load()
	}
	return n
}
