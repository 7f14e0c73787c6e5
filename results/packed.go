package results

// Distributions at rest: a file of 10,000 trials has histograms by the hundred thousand, and each takes 270 KB as the
// library has it. Most of that are empty slots.

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/zlib"
)

// packed is a distribution as HdrHistogram's V2 encoding has it before it is deflated, in one to two bytes a slot: ZigZag
// LEB128 numbers of how often a slot was hit or, negative, of how many slots were not. (Beyond 2^56 the numbers differ
// from the format's, see check.) What a payload of ours inflates to is packed already. It never changes, so copies may
// share it.
type packed string

// dense is a distribution with all its slots, 270 KB, for as long as somebody adds others up in it.
type dense struct {
	counts [slotCount]int64
	end    int // no slot is filled from here on
	out    []byte
}

// denses are empty ones.
var denses = sync.Pool{New: func() any { return new(dense) }}

// unpacker reads a packed distribution, which has been checked. It is declared before the loop that uses it: one of the
// loop's own is copied each time round (Go 1.22), which took several times as long as all the rest.
type unpacker struct {
	p     packed
	at    int // what comes next
	slot  int // the current slot, which is filled
	count int64
}

func (p packed) read() unpacker { return unpacker{p: p, slot: -1} }

func (u *unpacker) next() bool {
	for u.at < len(u.p) {
		v := uint64(u.p[u.at])
		u.at++
		if v >= 0x80 { // as few are
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				c := u.p[u.at]
				u.at++
				if v |= uint64(c&0x7f) << shift; c < 0x80 {
					break
				}
			}
		}
		u.slot++
		if u.count = int64(v>>1) ^ -int64(v&1); u.count > 0 {
			return true
		}
		if u.count < 0 {
			u.slot -= int(u.count) + 1
		}
	}
	return false
}

// add adds p.
func (d *dense) add(p packed) {
	u := p.read()
	for u.next() {
		d.count(u.slot, u.count)
	}
}

// count adds n to a slot, which is full when it cannot hold more.
func (d *dense) count(slot int, n int64) {
	d.counts[slot] = plus(d.counts[slot], n)
	d.end = max(d.end, slot+1)
}

// pack packs what has been added, and empties d.
func (d *dense) pack() packed {
	d.out = d.out[:0]
	zeros := int64(0)
	for i, n := range d.counts[:d.end] {
		if n == 0 {
			zeros++
			continue
		}
		if zeros > 0 {
			d.out, zeros = appendNumber(d.out, -zeros), 0
		}
		d.out = appendNumber(d.out, n)
		d.counts[i] = 0
	}
	d.end = 0
	return packed(d.out)
}

// appendNumber is binary.AppendVarint, which takes longer for a number of one byte, as most are.
func appendNumber(b []byte, n int64) []byte {
	if u := uint64(n<<1) ^ uint64(n>>63); u < 0x80 {
		return append(b, byte(u))
	}
	return binary.AppendVarint(b, n)
}

// together is all of ps in one.
func together(ps ...packed) packed {
	d := denses.Get().(*dense)
	defer denses.Put(d)
	for _, p := range ps {
		d.add(p)
	}
	return d.pack()
}

// slots are the filled slots of p.
func (p packed) slots() []filled {
	n := 0
	u := p.read()
	for u.next() {
		n++
	}
	slots := make([]filled, 0, n)
	u = p.read()
	for u.next() {
		slots = append(slots, filled{int32(u.slot), u.count})
	}
	return slots
}

// histogram is p as a histogram of the library.
func (p packed) histogram() *hdrhistogram.Histogram {
	counts := make([]int64, slotCount)
	u := p.read()
	for u.next() {
		counts[u.slot] = u.count
	}
	return histogramOf(counts)
}

// decoder takes payloads apart with buffers that it keeps from one to the next. The library's Decode makes all of them
// anew, 300 KB for each, which of a file of 1 GB was most of the work.
type decoder struct {
	raw   []byte
	in    bytes.Reader
	zlib  io.ReadCloser // nil before the first
	plain []byte
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// What a payload of ours holds, see TestPayloadByHand: 8 bytes, and then, deflated, 40 bytes and the counts.
const (
	outerHeader  = 8
	innerHeader  = hdrhistogram.ENCODING_HEADER_SIZE
	mostOfCounts = 9 * slotCount
)

// unpack is the distribution of l. What is not exactly as lockbench writes it goes to the library, which says what is
// wrong with it, or knows what other program has made it.
func (l Latency) unpack() (packed, error) {
	switch {
	case l.merged != "":
		return l.merged, nil
	case l.HDR == "" && l.Count != 0:
		return "", fmt.Errorf("no payload for %d values", l.Count)
	case l.HDR == "":
		return "", nil
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	counts, total, ok := d.ours(l.HDR)
	p := packed(counts)
	if !ok {
		var err error
		if p, total, err = theirs(l.HDR); err != nil {
			return "", err
		}
	}
	if total != l.Count {
		return "", fmt.Errorf("payload holds %d values, but count is %d", total, l.Count)
	}
	return p, nil
}

// oneForeign keeps the memory that a payload may ask for, 50 MB if its range is the widest, from being asked for by
// several at once.
var oneForeign sync.Mutex

// theirs takes over the values of a histogram of any range.
func theirs(payload string) (p packed, total int64, err error) {
	oneForeign.Lock()
	defer oneForeign.Unlock()
	h, err := hdrhistogram.Decode([]byte(payload))
	if err != nil {
		return "", 0, fmt.Errorf("payload does not decode: %w", err)
	}
	ours := newHistogram()
	if dropped := ours.Merge(h); dropped > 0 {
		return "", 0, fmt.Errorf("%d values do not fit", dropped)
	}
	d := denses.Get().(*dense)
	defer denses.Put(d)
	d.end = copy(d.counts[:], ours.Export().Counts)
	return d.pack(), ours.TotalCount(), nil
}

// ours decodes a payload of lockbench's own range, and tells whether it is one. The counts are valid until the next.
func (d *decoder) ours(payload string) (counts []byte, total int64, ok bool) {
	d.raw = append(d.raw[:0], payload...)
	n, err := base64.StdEncoding.Decode(d.raw, d.raw) // in place: it writes behind what it reads
	if err != nil || n < outerHeader {
		return nil, 0, false
	}
	raw := d.raw[:n]
	length := uint64(binary.BigEndian.Uint32(raw[4:]))
	raw, magic := raw[outerHeader:], cookie(raw)
	if magic != hdrhistogram.V2CompressedEncodingCookieBase || length > uint64(len(raw)) {
		return nil, 0, false
	}
	if err := d.inflate(raw[:length]); err != nil || len(d.plain) < innerHeader {
		return nil, 0, false
	}
	head := d.plain[:innerHeader]
	counts = d.plain[innerHeader:]
	word := binary.BigEndian
	if cookie(head) != hdrhistogram.V2EncodingCookieBase || int(word.Uint32(head[4:])) != len(counts) ||
		word.Uint32(head[12:]) != digits || word.Uint64(head[16:]) != lowestValue || word.Uint64(head[24:]) != uint64(highestValue) {
		return nil, 0, false
	}
	total, ok = check(counts)
	return counts, total, ok
}

func cookie(b []byte) int32 { return int32(binary.BigEndian.Uint32(b) &^ 0xf0) }

// inflate fills plain, with one byte more than any payload has if there is more.
func (d *decoder) inflate(deflated []byte) error {
	d.in.Reset(deflated)
	var err error
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(&d.in)
	} else {
		err = d.zlib.(zlib.Resetter).Reset(&d.in, nil)
	}
	if err != nil {
		return err
	}
	if d.plain == nil {
		d.plain = make([]byte, innerHeader+mostOfCounts+1)
	}
	d.plain = d.plain[:0]
	for len(d.plain) < cap(d.plain) { // io.ReadFull does not tell the end from one that came too early
		n, err := d.zlib.Read(d.plain[len(d.plain):cap(d.plain)])
		d.plain = d.plain[:len(d.plain)+n]
		if err == io.EOF {
			return nil // before the room ended, and after its checksum
		}
		if err != nil {
			return err
		}
	}
	return io.ErrShortBuffer
}

// check adds counts up, which are numbers as packed has them, and tells whether they make a distribution of our range.
func check(counts []byte) (total int64, ok bool) {
	slot := int64(0)
	for len(counts) > 0 {
		v, n := int64(counts[0]>>1)^-int64(counts[0]&1), 1 // as most are
		if counts[0] >= 0x80 {
			v, n = binary.Varint(counts) // the format's own encoding differs in the ninth byte
		}
		if n <= 0 || n >= 9 {
			return 0, false
		}
		counts = counts[n:]
		if v < 0 {
			if v < -slotCount {
				return 0, false
			}
			slot -= v
			continue
		}
		if slot >= slotCount || v > math.MaxInt64-total {
			return 0, false
		}
		total += v
		slot++
	}
	return total, slot <= slotCount
}
