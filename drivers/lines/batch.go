package lines

// What both sides write with: lines that come together go out in one write.

import (
	"io"
	"runtime"
	"sync"
)

// maxKept is the largest buffer that is kept for later writes.
const maxKept = 1 << 20

// batcher collects lines, and writes those that have come meanwhile at once. mu is its user's lock; it is not held while
// anything is written.
type batcher struct {
	mu         sync.Mutex
	w          io.Writer
	buf, spare []byte
	writing    bool
	err        error       // of a write; nothing is written after it
	failed     func(error) // is told of it, if set
	idle       sync.Cond   // something was written
	added      int64       // lines
	begun      int64       // those of them that a write has taken
}

func (b *batcher) init(w io.Writer) { b.w, b.idle.L = w, &b.mu }

// begin has to be called, with mu held, after something was added to buf. It reports whether run has to be called then, by
// this goroutine without mu, or by another one.
func (b *batcher) begin() bool {
	b.added++
	first := !b.writing
	b.writing = true
	return first
}

// run writes. More reports whether somebody may be about to add something, who then gets into the same write: without that,
// the benchmark of yielding had 136,000 pairs a second instead of 187,000.
func (b *batcher) run(more bool) {
	if more {
		runtime.Gosched()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.buf) > 0 && b.err == nil {
		batch, w := b.buf, b.w
		b.buf, b.begun = b.spare[:0], b.added
		b.mu.Unlock()
		_, err := w.Write(batch)
		b.mu.Lock()
		if b.spare = nil; cap(batch) <= maxKept {
			b.spare = batch
		}
		if err != nil {
			b.err = err
			if b.failed != nil {
				go b.failed(err)
			}
		}
		b.idle.Broadcast()
	}
	b.buf, b.writing = b.buf[:0], false
	b.idle.Broadcast()
}
