package oracle

// The power of the oracle: which grants could have shown a violation.
//
// Enter counts a violation if another client holds the key when a grant has been read. So an attempt that was refused would
// have been counted, had it been granted wrongly, if another client holds the key when the refusal has been read. A grant is
// watched if there was such an attempt during its hold. Where holds take no time there is hardly ever one, however many
// clients contend, and the absence of violations says nothing of the lock.

import "time"

// Refused records that client me was refused the key, when it has read that. It returns whether another client holds the key
// (watched), which one, and whether the refusal is the first during that hold. It writes at most once a hold.
func (o *Oracle) Refused(key, me int) (holder int, watched, first bool) {
	c := &o.cells[key]
	word := c.word.Load()
	if count(word) == 0 || client(word) == me {
		return 0, false, false
	}
	return client(word), true, c.watch(word)
}

// Held reports whether a client holds the key.
func (o *Oracle) Held(key int) bool { return count(o.cells[key].word.Load()) > 0 }

// Died returns when the last holder of a key crashed; 0 if it did not, or if a client holds the key.
func (o *Oracle) Died(key int) time.Duration {
	c := &o.cells[key]
	if count(c.word.Load()) > 0 {
		return 0
	}
	return max(0, -time.Duration(c.released.Load()))
}

// watch marks the last grant of word as watched, and reports whether it was not marked before. A word may be older than the
// last mark. Sequence numbers are compared within half of their range, since they wrap.
func (c *cell) watch(word uint64) (first bool) {
	const half = 1 << (seqBits - 1)
	seq := int64(word >> seqShift)
	before := c.watched.Load()
	newer := (seq - before) & (2*half - 1)
	return 0 < newer && newer < half && c.watched.CompareAndSwap(before, seq)
}

// Watched reports whether a client has been refused the key since g, or was granted it too.
func (o *Oracle) Watched(key int, g *Grant) bool {
	return o.cells[key].watched.Load() == int64(g.word>>seqShift)
}

// Resume sets the time before which no hold of the key is sampled. The holder calls it.
func (o *Oracle) Resume(key int, at time.Duration) { o.cells[key].resume.Store(int64(at)) }

// Due reports whether a hold of the key may be sampled at that time.
func (o *Oracle) Due(key int, now time.Duration) bool {
	return int64(now) >= o.cells[key].resume.Load()
}
