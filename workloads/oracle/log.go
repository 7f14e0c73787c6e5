package oracle

// Logs of holds: what one process of several knows of its clients, to be swept together with what the others know; see sweep.go.

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Hold is one hold as a rank logs it. Times are readings of the rank's own clock (drivers.Clock), which is zero when its load
// starts.
type Hold struct {
	Key, Client int           // Client is an id that no client of another rank has
	Start       time.Duration // when the cycle began that led to it: the client was waiting from then on
	From, To    time.Duration // From the grant was read, To just before the release was sent or when the client died
	Fence       uint64        // 0 if there is none, or if it is not to be checked
	Crashed     bool          // the client died without a release
	Counted     bool          // the rank's own oracle has counted the grant as a violation; see Grant
}

const (
	minBlock  = 256 // bytes of a client's first block; each is twice the last
	maxBlock  = 4 << 10
	overhead  = 32 // bytes of each block on top, so that many small ones reach the limit too
	maxRecord = 6 * binary.MaxVarintLen64
	maxTime   = 1 << 58 // nine years: sums of several do not overflow
	never     = math.MaxInt64
)

// Logs holds the holds of the clients of one rank. Each client appends to a Log of its own; all of them share one limit.
type Logs struct {
	logs []Log
	left atomic.Int64 // bytes that no block has yet
	lost atomic.Int64 // when the first hold began that found no room, or never
}

// Log has the holds of one client, in their order. One goroutine at a time may use it.
type Log struct {
	block  []byte
	last   delta
	client int
	holds  int64
	shared *Logs
	full   bool     // it drops what comes
	blocks [][]byte // those before block
	_      [32]byte // to whole cache lines
}

// delta is what a hold is written relative to.
type delta struct {
	to    time.Duration
	fence uint64
}

// A record is uvarints: the key with the flags, Start after the last To, From after Start, and then what the flags say: To
// after From, and the fence's distance to the last one. Distances wrap, so that odd ones come back too.
const (
	flagLasts   = 1 << iota // To is not From
	flagFenced              // it has a fence
	flagCrashed             // it has no release
	flagCounted             // its own oracle has counted it
	flagBits    = iota
)

// NewLogs returns the logs of so many clients, which take up to limit bytes in all.
func NewLogs(clients int, limit int64) *Logs {
	l := &Logs{logs: make([]Log, clients)}
	l.left.Store(limit)
	l.lost.Store(never)
	for i := range l.logs {
		l.logs[i].shared = l
	}
	return l
}

// Of returns the log of a client, by its index in the rank.
func (l *Logs) Of(client int) *Log { return &l.logs[client] }

// Complete returns the time before which all holds that began are in the logs, by the rank's clock: math.MaxInt64 unless the
// limit was reached. Call it when no client adds to its log any more.
func (l *Logs) Complete() time.Duration { return time.Duration(l.lost.Load()) }

// Holds returns how many holds the logs have. Call it when no client adds to its log any more.
func (l *Logs) Holds() (n int64) {
	for i := range l.logs {
		n += l.logs[i].holds
	}
	return n
}

// Add appends a hold, or drops it and all that follow if the limit is reached. The holds of a client do not overlap, and all
// have the same Client. Add does not keep h.
func (l *Log) Add(h *Hold) {
	if cap(l.block)-len(l.block) < maxRecord && !l.grow(h.From) {
		return
	}
	flags := uint64(0)
	if h.To != h.From {
		flags |= flagLasts
	}
	if h.Fence != 0 {
		flags |= flagFenced
	}
	if h.Crashed {
		flags |= flagCrashed
	}
	if h.Counted {
		flags |= flagCounted
	}
	b := binary.AppendUvarint(l.block, uint64(h.Key)<<flagBits|flags)
	b = binary.AppendUvarint(b, uint64(h.Start-l.last.to))
	b = binary.AppendUvarint(b, uint64(h.From-h.Start))
	if flags&flagLasts != 0 {
		b = binary.AppendUvarint(b, uint64(h.To-h.From))
	}
	if flags&flagFenced != 0 {
		b = binary.AppendVarint(b, int64(h.Fence-l.last.fence)) // keys may have fences of their own
		l.last.fence = h.Fence
	}
	l.block, l.last.to, l.client = b, h.To, h.Client
	l.holds++
}

// grow begins a new block for a hold that began at from. It reports whether there is room for one.
func (l *Log) grow(from time.Duration) bool {
	size := min(maxBlock, max(minBlock, 2*cap(l.block)))
	if l.full || l.shared.left.Add(int64(-size-overhead)) < 0 {
		for lost := &l.shared.lost; !l.full; {
			old := lost.Load()
			l.full = old <= int64(from) || lost.CompareAndSwap(old, int64(from))
		}
		return false
	}
	if l.block != nil {
		l.blocks = append(l.blocks, l.block)
	}
	l.block = make([]byte, 0, size)
	return true
}

// all returns the blocks of the log. A record does not go from one into the next.
func (l *Log) all() [][]byte {
	if len(l.block) == 0 {
		return l.blocks
	}
	return append(slices.Clip(l.blocks), l.block)
}

// input is what is left to read.
type input struct {
	b   []byte
	bad bool // it is not what was expected
}

func (in *input) uvarint() uint64 {
	v, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.b, in.bad = nil, true
		return 0
	}
	in.b = in.b[n:]
	return v
}

// next reads a hold, but for its Client.
func (d *delta) next(in *input, h *Hold) {
	head := in.uvarint()
	h.Key = int(head >> flagBits)
	h.Start = d.to + time.Duration(in.uvarint())
	h.From = h.Start + time.Duration(in.uvarint())
	h.To, h.Fence, h.Crashed, h.Counted = h.From, 0, head&flagCrashed != 0, head&flagCounted != 0
	if head&flagLasts != 0 {
		h.To += time.Duration(in.uvarint())
	}
	if head&flagFenced != 0 {
		v := in.uvarint()
		h.Fence = d.fence + (v>>1 ^ -(v & 1)) // as binary.Varint has it
		d.fence = h.Fence
	}
	in.bad = in.bad || h.Start < 0 || h.From < max(h.Start, d.to) || h.To < h.From || h.To > maxTime
	d.to = h.To
}

var errLogs = errors.New("the logs of a rank are damaged, or a part of them is missing")

// Encode writes the logs for DecodeLogs. No client may add to its log meanwhile.
func (l *Logs) Encode(w io.Writer) error {
	b := binary.AppendUvarint(nil, uint64(len(l.logs)))
	b = binary.AppendUvarint(b, uint64(l.Complete()))
	b = binary.AppendUvarint(b, uint64(l.Holds()))
	for i := range l.logs {
		for _, block := range l.logs[i].all() {
			b = binary.AppendUvarint(b, uint64(i))
			b = binary.AppendUvarint(b, uint64(l.logs[i].client))
			b = binary.AppendUvarint(b, uint64(len(block)))
			if _, err := w.Write(append(b, block...)); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err := w.Write(b)
	return err
}

// DecodeLogs reads the logs of a rank of so many clients. What no Encode has written is an error, as is what is missing, and logs of
// more than limit bytes.
func DecodeLogs(from io.Reader, clients int, limit int64) (*Logs, error) {
	l, r, failed := NewLogs(clients, limit), bufio.NewReader(from), error(nil)
	next := func() (v uint64) {
		if failed == nil {
			v, failed = binary.ReadUvarint(r)
		}
		return v
	}
	n, complete, holds := next(), next(), next()
	if failed != nil || n != uint64(clients) || complete > never {
		return nil, errLogs
	}
	l.lost.Store(int64(complete))
	for read := uint64(0); read < holds; {
		index, id, n := next(), next(), next()
		if failed != nil || index >= uint64(clients) || id > math.MaxInt32 || n == 0 || n > maxBlock {
			return nil, errLogs
		}
		c, in := &l.logs[index], input{b: make([]byte, n)}
		if _, err := io.ReadFull(r, in.b); err != nil || c.holds > 0 && c.client != int(id) {
			return nil, errLogs
		}
		if l.left.Add(-int64(n)-overhead) < 0 {
			return nil, fmt.Errorf("the logs of a rank take more than %d bytes", limit)
		}
		c.client, c.blocks = int(id), append(c.blocks, in.b)
		for h := (Hold{}); len(in.b) > 0; read++ {
			if c.last.next(&in, &h); in.bad {
				return nil, errLogs
			}
			c.holds++
		}
	}
	if n, _ := r.Read(make([]byte, 1)); n > 0 || uint64(l.Holds()) != holds {
		return nil, errLogs
	}
	return l, nil
}
