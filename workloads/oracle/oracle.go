// Package oracle watches mutual exclusion while the load runs: it keeps, for each key, who believes to hold it, and
// logs every grant of a key that someone else still holds.
//
// A client Enters after its grant has been read and Exits before its release is sent, so each recorded interval
// lies inside the client's own belief, and an overlap is never a false alarm. The common case is two
// compare-and-swaps on one cache line a key; locks and logs are for collisions only.
//
// Two witnesses are kept apart: the interval of belief, and an unprotected read-modify-write counter a key whose
// lost updates show the damage that an application would suffer.
//
// What the oracle has not seen means something only where it could have seen it; see watch.go.
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
	overstayers   map[hold]time.Duration // who will hold on, and when his lease may end
	violations    int64
	overstayed    int64 // violations that overstayers have brought upon themselves
	longest       time.Duration
	overlap       time.Duration
	wrongReleases int64
	fenceRegress  int64
	intruded      int64 // grants that were violated before any refusal had made them watched
}

// cell is one key's book, one cache line.
type cell struct {
	// word says how many believe to hold the key, who was granted it last, and the sequence number of that grant.
	// While the key is free the last two stay, so that the next holder learns whom it follows.
	word     atomic.Uint64
	released atomic.Int64 // when the last holder was about to send its release, or the negative of when it died
	taken    atomic.Int64 // the sequence number with which the present client took the key over from another; see run
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

// next returns the word after a grant to client me; the count is that of word plus one.
func next(word uint64, me int) uint64 {
	return (word>>seqShift+1)<<seqShift | uint64(me)<<countBits | count(word) + 1
}

// Grant is one hold in the oracle's books, from Enter to Exit.
type Grant struct {
	// Handoff is when the previous holder's release was sent, and 0 if the key was never held before or is held
	// by somebody else even now.
	Handoff time.Duration

	// Death is when the previous holder died, if it did, and there is no Handoff.
	Death time.Duration

	// Run is how many grants in a row the client has had of this key, this one included: 1 if the key was another's
	// before, or nobody's. A guess while the key has several holders, whose order no one can tell.
	Run int64

	// Moved tells that the key was another client's before.
	Moved bool

	// Dies is set by a holder that is about to Exit without sending a release.
	Dies bool

	overstays bool // see Overstay

	word uint64 // the cell's word while this holder is alone and was granted the key last
	seen int64  // the counter when the hold began
}

// contest is a key with more holders than one, or one that outlasted such a state.
type contest struct {
	holders []holder      // in the order of their grants
	since   time.Duration // when the second one came
}

// holder is a client that believes to hold a contested key. All but the first came as intruders, and the violation of
// each is open for as long as it holds the key together with one who came before it: until it leaves itself or is the
// first.
type holder struct {
	client int
	came   time.Duration // as an intruder
	open   bool          // its violation has not ended
	event  int           // the violation's place in events, or -1
}

// hold is a client's hold of a key: it has one of a key at a time.
type hold struct{ key, client int }

// New makes an oracle for keys 0 to keys-1.
func New(keys int) *Oracle {
	return &Oracle{cells: make([]cell, keys), contested: map[int]*contest{}, overstayers: map[hold]time.Duration{}}
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
		g := Grant{word: mine, seen: c.counter.Load()}
		g.follow(c)
		g.Run, g.Moved = c.run(old, mine)
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

// follow takes down how the hold before g has ended.
func (g *Grant) follow(c *cell) {
	if g.Handoff = time.Duration(c.released.Load()); g.Handoff < 0 {
		g.Handoff, g.Death = 0, -g.Handoff
	}
}

// run counts the grants in a row to the client of word mine, which follows old. Only an owner change is written down:
// an atomic store costs as much as a swap. When the sequence number wraps in mid-run, so does the place of the start.
func (c *cell) run(old, mine uint64) (run int64, moved bool) {
	seq := int64(mine >> seqShift)
	if old == 0 || client(old) != client(mine) {
		c.taken.Store(seq)
		return 1, old != 0
	}
	if seq == 0 {
		c.taken.Add(-1 << seqBits)
	}
	return max(2, seq-c.taken.Load()+1), false // several holders may store in another order than they came in
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

// Overstay records that the holder of g will keep the key beyond its lease, which ends at that time at the earliest. Who
// is granted the key later while nobody else holds it intrudes on a holder that ought to have left: such violations are
// counted, and counted apart as well (results.Safety.Overstayed).
func (o *Oracle) Overstay(key, me int, g *Grant, ends time.Duration) {
	g.overstays = true
	o.mu.Lock()
	o.overstayers[hold{key, me}] = ends
	o.mu.Unlock()
}

// Exit records that the holder of g is about to send its release, or dies, at a time now that was read before. It answers
// whether the key was granted to nobody else since Enter.
func (o *Oracle) Exit(key, me int, g Grant, now time.Duration) (undisturbed bool) {
	c := &o.cells[key]
	c.counter.Store(g.seen + 1)
	if g.Dies {
		c.released.Store(-max(1, int64(now)))
	} else {
		c.released.Store(int64(now))
	}
	undisturbed = c.word.CompareAndSwap(g.word, g.word-1) || o.part(key, me, g, now)
	if g.overstays {
		o.comply(key, me)
	}
	return undisturbed
}

// comply forgets an overstayer that has left.
func (o *Oracle) comply(key, me int) {
	o.mu.Lock()
	delete(o.overstayers, hold{key, me})
	o.mu.Unlock()
}

// excused reports whether all who hold a key are overstayers whose leases may have been over at a time.
func (o *Oracle) excused(key int, k *contest, now time.Duration) bool {
	for _, h := range k.holders {
		if ends, ok := o.overstayers[hold{key, h.client}]; !ok || now < ends {
			return false
		}
	}
	return true
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
		g := Grant{word: mine - count(old), seen: c.counter.Load()}
		g.Run, g.Moved = c.run(old, mine)
		if count(old) == 0 {
			g.follow(c)
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
	h := holder{client: me, came: now, open: true, event: -1}
	o.violations++
	if o.cells[key].watch(old) {
		o.intruded++
	}
	if len(o.overstayers) > 0 && o.excused(key, k, now) {
		o.overstayed++
	}
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
	o.leave(k, me, now)
	if len(k.holders) == 1 {
		o.overlap += max(1, now-k.since)
	}
	word := c.word.Add(^uint64(0)) // from here on a last holder who is alone may leave by the fast path
	if count(word) == 0 || (count(word) == 1 && client(word) == k.holders[0].client) {
		delete(o.contested, key) // free, or back to what the fast path understands
	}
	return word>>seqShift == g.word>>seqShift
}

// leave takes a client out of the holders, and closes its violation and that of the one who is the first after it.
func (o *Oracle) leave(k *contest, me int, now time.Duration) {
	i := slices.IndexFunc(k.holders, func(h holder) bool { return h.client == me })
	o.settle(&k.holders[i], now)
	if i > 0 {
		k.holders = slices.Delete(k.holders, i, i+1)
		return
	}
	k.holders = k.holders[1:] // and move nobody: with thousands of holders the first mostly leaves first
	if len(k.holders) > 0 {
		o.settle(&k.holders[0], now)
	}
}

// settle closes the violation of h, if it has one that is open.
func (o *Oracle) settle(h *holder, now time.Duration) {
	if !h.open {
		return
	}
	h.open = false
	length := max(1, now-h.came) // a hold without length has both stamps before the intruder's
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

// Report sums up what was seen. It is called when no client is between Enter and Exit. The refusals that have made grants
// watched are counted by those who were refused; see Refused.
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
		Overstayed:    o.overstayed,
		Power:         &results.Power{Watched: o.intruded},
		Events:        slices.Clone(o.events),
	}
}

// Updates returns how many of the second witness's updates survived: the sum of all counters. Short of the number of
// grants, the difference was lost.
func (o *Oracle) Updates() (n int64) {
	for i := range o.cells {
		n += o.cells[i].counter.Load()
	}
	return n
}
