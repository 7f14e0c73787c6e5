package results

// Payloads: the histograms of a record, decoded and added up. With hdrhistogram.DecodePacked, which takes eight times as
// long for each, a large file took five times as long to read. zlib is klauspost's, since most of the time goes into it, and
// the standard library's takes a third more.

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/zlib"
)

// counts is a distribution as HdrHistogram's V2 encoding has it before it is deflated, in one to two bytes a slot: ZigZag
// LEB128 numbers of how often a slot was hit or, negative, of how many slots were not. It is a string so that copies may
// share it and a Latency can be compared.
type counts string

// maxCount is more values than any run has in a slot. All slots together do not overflow with it.
const maxCount = 1 << 47

// each calls add with the filled slots in order. It returns false if c is no distribution of lockbench's range.
func (c counts) each(add func(slot int, n int64)) (total int64, ok bool) {
	slot := 0
	for b := []byte(c); len(b) > 0; {
		v, length := int64(b[0]>>1)^-int64(b[0]&1), 1 // as most are
		if b[0] >= 0x80 {
			v, length = binary.Varint(b)
		}
		if length <= 0 || length > 8 { // the format's own encoding differs in the ninth byte
			return 0, false
		}
		b = b[length:]
		switch {
		case -slotCount <= v && v < 0:
			slot -= int(v)
		case v < 0 || v > maxCount || slot >= slotCount:
			return 0, false
		default:
			if v > 0 {
				add(slot, v)
			}
			total += v
			slot++
		}
	}
	return total, slot <= slotCount
}

// histogram returns c as a histogram of the library.
func (c counts) histogram() *hdrhistogram.PackedHistogram {
	h := newHistogram()
	c.each(func(slot int, n int64) {
		low, _ := bounds(slot)
		_ = h.RecordValues(low, n) // every slot is in its range
	})
	return h
}

// adder has room for all slots, in which distributions are added up.
type adder struct {
	slots [slotCount]int64
	end   int // no slot is filled from here on
	out   []byte
}

// adders are empty ones.
var adders = sync.Pool{New: func() any { return new(adder) }}

// together returns the distribution of all that fill adds.
func together(fill func(add func(slot int, n int64))) counts {
	a := adders.Get().(*adder)
	defer adders.Put(a)
	fill(a.add)
	zeros := int64(0)
	a.out = a.out[:0]
	for i, n := range a.slots[:a.end] {
		if n == 0 {
			zeros++
			continue
		}
		if zeros > 0 {
			a.out, zeros = binary.AppendVarint(a.out, -zeros), 0
		}
		a.out = binary.AppendVarint(a.out, n)
		a.slots[i] = 0
	}
	a.end = 0
	return counts(a.out)
}

// add adds n to a slot, which is full when it has maxCount.
func (a *adder) add(slot int, n int64) {
	a.slots[slot] = min(a.slots[slot]+n, maxCount)
	a.end = max(a.end, slot+1)
}

// decode returns the distribution of l. What is not as lockbench writes it goes to the library, which says what is wrong
// with it, or knows what other program has made it.
func (l Latency) decode() (counts, error) {
	switch {
	case l.merged != "" || l.Count == 0 && l.HDR == "":
		return l.merged, nil
	case l.HDR == "":
		return "", fmt.Errorf("no payload for %d values", l.Count)
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	c, total, ok := d.decode(l.HDR)
	if !ok {
		h, err := hdrhistogram.DecodePacked([]byte(l.HDR))
		if err != nil {
			return "", fmt.Errorf("payload does not decode: %w", err)
		}
		ours := newHistogram()
		if dropped := ours.Merge(h); dropped > 0 {
			return "", fmt.Errorf("%d values do not fit", dropped)
		}
		if c, total, ok = d.decode(latencyOf(ours, 0).HDR); !ok {
			return "", fmt.Errorf("%d values are more than any run has", ours.TotalCount())
		}
	}
	if total != l.Count {
		return "", fmt.Errorf("payload holds %d values, but count is %d", total, l.Count)
	}
	return c, nil
}

// decoder takes payloads apart with buffers that it keeps from one to the next.
type decoder struct {
	raw   []byte
	in    bytes.Reader
	zlib  io.ReadCloser // nil before the first
	plain bytes.Buffer
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// header precedes the counts.
type header struct {
	Cookie, Length, Offset, Digits int32
	Low, High                      int64
	Ratio                          float64
}

// decode decodes a payload of lockbench's own range, and tells whether it is one: 8 bytes and then, deflated, a header and
// the counts.
func (d *decoder) decode(payload string) (c counts, total int64, ok bool) {
	d.raw = append(d.raw[:0], payload...)
	n, err := base64.StdEncoding.Decode(d.raw, d.raw) // in place: it writes behind what it reads
	if err != nil || n < 8 {
		return "", 0, false
	}
	cookie, length := int32(binary.BigEndian.Uint32(d.raw)), binary.BigEndian.Uint32(d.raw[4:])
	if cookie&^0xf0 != hdrhistogram.V2CompressedEncodingCookieBase || uint64(length) > uint64(n-8) {
		return "", 0, false
	}
	if err := d.inflate(d.raw[8 : 8+length]); err != nil {
		return "", 0, false
	}
	var h header
	n, err = binary.Decode(d.plain.Bytes(), binary.BigEndian, &h)
	if err != nil || h.Cookie&^0xf0 != hdrhistogram.V2EncodingCookieBase || int(h.Length) != d.plain.Len()-n ||
		h.Digits != digits || h.Low != lowestValue || h.High != highestValue {
		return "", 0, false
	}
	c = counts(d.plain.Bytes()[n:])
	total, ok = c.each(func(int, int64) {})
	return c, total, ok
}

// inflate fills plain with up to as much as a payload has, and a byte more if there is more.
func (d *decoder) inflate(deflated []byte) (err error) {
	d.in.Reset(deflated)
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(&d.in)
	} else {
		err = d.zlib.(zlib.Resetter).Reset(&d.in, nil)
	}
	if err == nil {
		d.plain.Reset()
		_, err = d.plain.ReadFrom(io.LimitReader(d.zlib, hdrhistogram.ENCODING_HEADER_SIZE+9*slotCount+1))
	}
	return err
}
