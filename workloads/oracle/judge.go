package oracle

// How the sweep judges each grant by the holds that came before.

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
)

// grant is a hold on the clocks.
type grant struct {
	from, to    moment
	at, end     time.Duration // the middles of from and to on the common clock; at is the order of grants
	start       time.Duration // when the client began to wait, likewise
	fence       uint64
	key, client int
	rank, host  int
	crashed     bool
	counted     bool // as a wrong one, if only possibly, or by its own oracle
}

// sees returns the times of two grants on the clock that tells most of their order.
func sees(a, b *grant) (aFrom, aTo, bFrom, bTo span) {
	if a.host == b.host {
		exactly := func(m moment) span { return span{m.host, m.host} }
		return exactly(a.from), exactly(a.to), exactly(b.from), exactly(b.to)
	}
	return a.from.common, a.to.common, b.from.common, b.to.common
}

// overlap returns for how long two grants were held at the same time, at least; 0 if they may not have been.
func overlap(a, b *grant) time.Duration {
	aFrom, aTo, bFrom, bTo := sees(a, b)
	if aFrom.high >= bTo.low || bFrom.high >= aTo.low {
		return 0
	}
	return max(1, min(a.length(), b.length(), bTo.low-aFrom.high, aTo.low-bFrom.high))
}

// mayHold reports whether a may have been held when b was granted.
func mayHold(a, b *grant) bool {
	aFrom, aTo, bFrom, _ := sees(a, b)
	return aFrom.low < bFrom.high && bFrom.low < aTo.high
}

func (a *grant) length() time.Duration { return a.to.host - a.from.host }

// keyState is what the sweep knows of a key.
type keyState struct {
	held  queue         // holds that a later grant may overlap, in the order of their ends
	fresh queue         // grants that may have come after a later one, in their order
	ranks []ofRank      // nil before the first grant
	last  int           // the client of the last grant
	run   int64         // of grants to it in a row
	freed time.Duration // the latest end of a hold
	died  bool          // of a crash
	known time.Duration // up to when Overlap has the key's
}

// ofRank is what the sweep knows of the grants of a key to a rank.
type ofRank struct {
	left           time.Duration // the latest end, by the host's clock
	early          bool          // the own oracle has counted a grant before the hold that it met; see intrudes
	fence, settled uint64        // the highest; settled is that of grants that came before all to come
}

// queue is a list that loses its first elements now and then.
type queue struct {
	all  []grant
	lost int
}

// lose drops the first elements for which old holds, and calls it once for each.
func (q *queue) lose(old func(g *grant) bool) {
	for q.lost < len(q.all) && old(&q.all[q.lost]) {
		q.lost++
	}
	if q.lost > 0 && 2*q.lost >= len(q.all) {
		q.all = slices.Delete(q.all, 0, q.lost)
		q.lost = 0
	}
}

// judge counts what grant b shows, which comes after all that were judged.
func (w *sweep) judge(k *keyState, b *grant) {
	if k.ranks == nil {
		k.ranks = make([]ofRank, len(w.ranks))
	}
	w.swept.Holds++
	w.forget(k, b.at)
	own, counted := &k.ranks[b.rank], b.counted
	w.follow(k, b, w.intrudes(k, own, b) || counted)
	w.checkFence(k, own, b)
	for i := k.fresh.lost; i < len(k.fresh.all); i++ {
		if a := &k.fresh.all[i]; !a.counted && a.rank != b.rank && mayHold(b, a) {
			a.counted = true
			w.swept.Possible++
		}
	}
	k.fresh.all = append(k.fresh.all, *b)
	k.held.all = append(k.held.all, *b)
	held := k.held.all
	for i := len(held) - 1; i > k.held.lost && held[i-1].end > b.end; i-- {
		held[i-1], held[i] = held[i], held[i-1]
	}
	own.left = max(own.left, b.to.host)
}

// forget drops what a grant at that time, and all later ones, come after for certain.
func (w *sweep) forget(k *keyState, at time.Duration) {
	at -= w.swept.Blind + 2 // which the middles are rounded by
	k.held.lose(func(a *grant) bool { return a.end < at })
	k.fresh.lose(func(a *grant) bool {
		if a.at >= at {
			return false
		}
		r := &k.ranks[a.rank]
		r.settled = max(r.settled, a.fence)
		return true
	})
}

// intrudes counts b if another client held the key, and reports whether one did for certain. Of several holders the
// last to leave tells of the overlap. A client may lose its processor between the reading of its clock and Enter: then
// its own oracle has seen a later grant first, and counted the earlier one, which stands for the later one here.
func (w *sweep) intrudes(k *keyState, own *ofRank, b *grant) bool {
	var holder *grant
	possible := false
	for i := len(k.held.all) - 1; i >= k.held.lost && holder == nil; i-- {
		if a := &k.held.all[i]; overlap(a, b) > 0 {
			holder = a
		} else {
			possible = possible || mayHold(a, b)
		}
	}
	s, meets := &w.swept, own.left > b.from.host
	if early := own.early && meets; holder == nil {
		own.early = early || b.counted
		if possible && !b.counted {
			b.counted = true
			s.Possible++
		}
		return false
	} else if own.early = early && b.counted; early {
		b.counted = true
	}
	length := overlap(holder, b)
	s.Longest = max(s.Longest, length)
	begin := max(holder.from.common.high, b.from.common.high, k.known)
	if end := min(holder.to.common.low, b.to.common.low); end > begin {
		s.Overlap += end - begin
		k.known = end
	}
	if !b.counted {
		b.counted = true
		s.Violations++
		at := max(0, b.at) // the start is an instant of each clock, which bounds may put before that of the common one
		for _, violated := range w.violated {
			violated(at)
		}
		if len(s.Events) < 2*MaxEvents {
			e := results.Violation{At: at, Key: b.key, Holder: holder.client, Intruder: b.client, Overlap: length}
			s.Events = append(s.Events, e)
		}
	}
	return true
}

// follow relates b to the grant before it and to the hold that ended last. After a disturbed grant, as after any of a key that
// is held, nobody knows which hold it follows.
func (w *sweep) follow(k *keyState, b *grant, disturbed bool) {
	first, moved := k.run == 0, k.run > 0 && k.last != b.client
	if moved {
		k.run = 0
	}
	k.run++
	k.last = b.client
	if b.at >= w.from && b.at < w.until {
		if moved {
			w.swept.Changes++
		}
		w.swept.LongestRun = max(w.swept.LongestRun, k.run)
		switch {
		case first || disturbed:
		case k.died:
			w.record(results.RecoveryIndex, max(0, b.at-k.freed))
		case k.freed > b.start: // it was waiting when the key was released
			w.record(results.HandoffIndex, max(0, b.at-k.freed))
		}
	}
	if first || b.end >= k.freed {
		k.freed, k.died = b.end, b.crashed
	}
}

// checkFence counts b if its fence is not above that of an earlier grant to another rank.
func (w *sweep) checkFence(k *keyState, own *ofRank, b *grant) {
	if b.fence <= own.fence {
		return // it has none, or its own rank has counted it
	}
	own.fence = b.fence
	for r := range k.ranks {
		if r != b.rank && k.ranks[r].settled >= b.fence {
			w.swept.FenceRegress++
			return
		}
	}
	for i := k.fresh.lost; i < len(k.fresh.all); i++ {
		a := &k.fresh.all[i]
		aFrom, _, bFrom, _ := sees(a, b)
		if a.rank != b.rank && (a.fence == b.fence || a.fence > b.fence && aFrom.high < bFrom.low) {
			w.swept.FenceRegress++
			return
		}
	}
}

// cursor is at a grant in the log of a client.
type cursor struct {
	grant
	in      input
	blocks  [][]byte
	written delta
}

// before reports whether c is judged before d: by the middle of the bounds, and by the host's clock if that is the same.
func (c *cursor) before(d *cursor) bool {
	if c.at != d.at {
		return c.at < d.at
	}
	return cmp.Or(cmp.Compare(c.from.host, d.from.host), cmp.Compare(c.client, d.client)) < 0
}

// next goes on to the next grant of a key of the group. After the last one, at is never.
func (c *cursor) next(w *sweep) error {
	var h Hold
	for again := true; again; again = h.Key < w.first || h.Key >= w.first+len(w.keys) {
		for len(c.in.b) == 0 {
			if len(c.blocks) == 0 {
				c.at = never
				return nil
			}
			c.in.b, c.blocks = c.blocks[0], c.blocks[1:]
		}
		if c.written.next(&c.in, &h); c.in.bad || h.Key < 0 || h.Key >= w.all {
			return fmt.Errorf("rank %d: client %d has logged a hold that cannot be: %+v", c.rank, c.client, h)
		}
	}
	r := &w.ranks[c.rank]
	c.key, c.fence, c.crashed, c.counted = h.Key, h.Fence, h.Crashed, h.Counted
	c.from, c.to = r.moment(h.From), r.moment(h.To)
	c.at, c.end = c.from.common.middle(), c.to.common.middle()
	c.start = c.at - (h.From - h.Start)
	return nil
}

// group judges all grants of the group's keys.
func (w *sweep) group() error {
	var heap []*cursor
	for i := range w.ranks {
		r := &w.ranks[i]
		for j := range r.Logs.logs {
			l := &r.Logs.logs[j]
			c := &cursor{grant: grant{rank: i, host: r.Host, client: l.client}, blocks: l.all()}
			if err := c.next(w); err != nil {
				return err
			}
			heap = append(heap, c)
		}
	}
	for i := len(heap) / 2; i >= 0; i-- {
		sink(heap, i)
	}
	for len(heap) > 0 && heap[0].at < w.swept.Until {
		c := heap[0]
		w.judge(&w.keys[c.key-w.first], &c.grant)
		if err := c.next(w); err != nil {
			return err
		}
		sink(heap, 0)
	}
	return nil
}

// sink moves element i down to its place in a heap, whose first is the one to judge next.
func sink(heap []*cursor, i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].before(heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
