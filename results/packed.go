package results

// Distributions at rest: a file of 10,000 trials has histograms by the hundred thousand, and each takes 270 KB as the
// library has it. Most of that are empty slots.

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// packed is a distribution in two or three bytes a filled slot: for each of them how far it is from the one before, and
// its count, as varints. It never changes, so copies may share it.
type packed string

// next takes the first number off p, which is not empty.
func (p packed) next() (uint64, packed) {
	var v uint64
	for i, shift := 0, 0; i < len(p); i, shift = i+1, shift+7 {
		v |= uint64(p[i]&0x7f) << shift
		if p[i] < 0x80 {
			return v, p[i+1:]
		}
	}
	return v, ""
}

// pack packs slots, which are in order.
func pack(slots []filled) packed {
	var out packer
	for _, f := range slots {
		out.add(f)
	}
	return packed(out.b)
}

// packer writes a packed distribution.
type packer struct {
	b    []byte
	last int32
}

func (w *packer) add(f filled) {
	if gap := f.slot - w.last; gap < 0x80 && uint64(f.count) < 0x80 { // as most are
		w.b = append(w.b, byte(gap), byte(f.count))
		w.last = f.slot
		return
	}
	w.b = binary.AppendUvarint(w.b, uint64(f.slot-w.last))
	w.b = binary.AppendUvarint(w.b, uint64(f.count))
	w.last = f.slot
}

// unpacker reads a packed distribution slot by slot.
type unpacker struct {
	rest packed
	at   filled // the current slot; valid while more is true
	more bool
}

func (p packed) read() unpacker {
	u := unpacker{rest: p}
	u.next()
	return u
}

func (u *unpacker) next() {
	if u.more = u.rest != ""; !u.more {
		return
	}
	if p := u.rest; len(p) > 1 && p[0]|p[1] < 0x80 { // as most are
		u.at.slot, u.at.count, u.rest = u.at.slot+int32(p[0]), int64(p[1]), p[2:]
		return
	}
	var gap, count uint64
	gap, u.rest = u.rest.next()
	count, u.rest = u.rest.next()
	u.at.slot, u.at.count = u.at.slot+int32(gap), int64(count)
}

// plus is p and the slots, which are in order, together.
func (p packed) plus(slots []filled) packed {
	out := packer{b: make([]byte, 0, len(p)+len(p)/8+4*len(slots)/8)}
	u := p.read()
	for _, f := range slots {
		for ; u.more && u.at.slot < f.slot; u.next() {
			out.add(u.at)
		}
		if u.more && u.at.slot == f.slot {
			f.count += u.at.count
			u.next()
		}
		out.add(f)
	}
	for ; u.more; u.next() {
		out.add(u.at)
	}
	return packed(out.b)
}

// slots appends the filled slots of p.
func (p packed) slots(to []filled) []filled {
	for u := p.read(); u.more; u.next() {
		to = append(to, u.at)
	}
	return to
}

// decoder takes payloads apart with buffers that it keeps from one to the next. The library's Decode makes all of them
// anew, 300 KB for each, which of a file of 1 GB was most of the work.
type decoder struct {
	raw   []byte
	in    bytes.Reader
	zlib  io.ReadCloser // nil before the first
	plain []byte
	slots []filled // valid until the next payload
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// What a payload of ours holds, see TestPayloadByHand: 8 bytes, and then, deflated, 40 bytes and the counts.
const (
	outerHeader  = 8
	innerHeader  = hdrhistogram.ENCODING_HEADER_SIZE
	mostOfCounts = 9 * slotCount
)

// decode finds the filled slots of l, in order. What is not exactly as lockbench writes it goes to the library, which says
// what is wrong with it, or knows what other program has made it.
func (d *decoder) decode(l Latency) (slots []filled, err error) {
	switch {
	case l.merged != "":
		d.slots = l.merged.slots(d.slots[:0])
		return d.slots, nil
	case l.HDR == "" && l.Count != 0:
		return nil, fmt.Errorf("no payload for %d values", l.Count)
	case l.HDR == "":
		return nil, nil
	}
	total, ok := d.ours(l.HDR)
	if !ok {
		h, err := hdrhistogram.Decode([]byte(l.HDR))
		if err != nil {
			return nil, fmt.Errorf("payload does not decode: %w", err)
		}
		if total, err = d.theirs(h); err != nil {
			return nil, err
		}
	}
	if total != l.Count {
		return nil, fmt.Errorf("payload holds %d values, but count is %d", total, l.Count)
	}
	return d.slots, nil
}

// theirs takes over the values of a histogram of any range.
func (d *decoder) theirs(h *hdrhistogram.Histogram) (total int64, err error) {
	ours := newHistogram()
	if dropped := ours.Merge(h); dropped > 0 {
		return 0, fmt.Errorf("%d values do not fit", dropped)
	}
	d.slots = d.slots[:0]
	for i, n := range ours.Export().Counts {
		if n > 0 {
			d.slots = append(d.slots, filled{int32(i), n})
		}
	}
	return ours.TotalCount(), nil
}

// ours decodes a payload of lockbench's own range, and tells whether it is one.
func (d *decoder) ours(payload string) (total int64, ok bool) {
	d.raw = append(d.raw[:0], payload...)
	n, err := base64.StdEncoding.Decode(d.raw, d.raw) // in place: it writes behind what it reads
	if err != nil || n < outerHeader {
		return 0, false
	}
	raw := d.raw[:n]
	length := uint64(binary.BigEndian.Uint32(raw[4:]))
	raw, magic := raw[outerHeader:], cookie(raw)
	if magic != hdrhistogram.V2CompressedEncodingCookieBase || length > uint64(len(raw)) {
		return 0, false
	}
	if err := d.inflate(raw[:length]); err != nil || len(d.plain) < innerHeader {
		return 0, false
	}
	head, counts := d.plain[:innerHeader], d.plain[innerHeader:]
	word := binary.BigEndian
	if cookie(head) != hdrhistogram.V2EncodingCookieBase || int(word.Uint32(head[4:])) != len(counts) ||
		word.Uint32(head[12:]) != digits || word.Uint64(head[16:]) != lowestValue || word.Uint64(head[24:]) != uint64(highestValue) {
		return 0, false
	}
	return d.count(counts)
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

// count reads ZigZag numbers: how often a slot was hit, or, negative, how many slots were not.
func (d *decoder) count(counts []byte) (total int64, ok bool) {
	d.slots = d.slots[:0]
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
		if v > 0 {
			d.slots = append(d.slots, filled{int32(slot), v})
			total += v
		}
		slot++
	}
	return total, slot <= slotCount
}
