package results

// Histograms as a record carries them: HdrHistogram's V2 encoding, deflated, in base64, which is what the
// HdrHistogram tools of every language read.

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/compress/zlib"
)

// The range of every histogram: 1 ns to 1 h, three significant digits. Values outside are counted at its ends.
const (
	lowestValue  = 1
	highestValue = int64(time.Hour)
	digits       = 3
)

// The slots that HdrHistogram derives from that range: 2 × 10³ values need unit resolution, and every further bucket of half as
// many slots covers one more power of two (Gil Tene, AbstractHistogram.java: establishSize, countsArrayIndex).
const (
	subBucketBits = 11 // 2^11 is the first power of two that is not below 2 × 10^digits
	subBucketMask = 1<<subBucketBits - 1
	halfBits      = subBucketBits - 1
	slotCount     = 33 << halfBits // 32 buckets reach 2^42 ns, the first power of two above an hour; the first is a double one
)

// slot is HdrHistogram's countsArrayIndex for this range. The bucket is the number of low bits that a value of its
// size loses; within [lowestValue, highestValue] the answer is below slotCount.
func slot(v int64) int {
	bucket := bits.Len64(uint64(v)|subBucketMask) - subBucketBits
	return bucket<<halfBits + int(v>>bucket)
}

// newHistogram returns an empty histogram of the range of all lockbench histograms. It has memory for filled slots alone: with
// all its slots it takes 270 KB, and a file of 10,000 trials has histograms by the hundred thousand.
func newHistogram() *hdrhistogram.PackedHistogram {
	return hdrhistogram.NewPacked(lowestValue, highestValue, digits)
}

// bounds returns the inverse of slot: the least and the greatest value that count there.
func bounds(slot int) (low, high int64) {
	bucket := max(0, slot>>halfBits-1)
	low = int64(slot-bucket<<halfBits) << bucket
	return low, low + 1<<bucket - 1
}

// RankOf returns the place of the q-quantile among n sorted values, the first being 1: the nearest rank, which is the
// least that the share q of the values does not exceed (⌈q × n⌉). All quantiles of lockbench are the values of that
// rank.
func RankOf(q float64, n int64) int64 {
	const slack = 0x1p-51 // q × n may be rounded up beyond a whole number
	return min(n, max(1, int64(math.Ceil(q*float64(n)*(1-slack)))))
}

// Quantile returns the value of h at the rank of the q-quantile (see RankOf), as the upper end of its slot; 0 if h is
// empty. The library's own rank is the nearest half up, so that its p99.9 of 700 values is the 699th.
func Quantile(h *hdrhistogram.PackedHistogram, q float64) time.Duration {
	n := max(1, h.TotalCount())
	return time.Duration(h.ValueAtPercentile(100 * float64(RankOf(q, n)) / float64(n)))
}

// quantilesOf returns h without its payload. Mean, minimum and maximum are the histogram's, exact to its three digits:
// quantiles and the maximum are the upper end of their slot, the minimum is the lower end.
func quantilesOf(h *hdrhistogram.PackedHistogram, overflow int64) Latency {
	v := Values{h, overflow}
	return Latency{
		Count:    h.TotalCount(),
		Mean:     time.Duration(math.Round(h.Mean())),
		Min:      time.Duration(h.Min()),
		P50:      v.Quantile(0.5),
		P90:      v.Quantile(0.9),
		P99:      v.Quantile(0.99),
		P999:     v.Quantile(0.999),
		Max:      time.Duration(h.Max()),
		Overflow: overflow,
	}
}

// latencyOf returns h as a record holds it.
func latencyOf(h *hdrhistogram.PackedHistogram, overflow int64) Latency {
	l := quantilesOf(h, overflow)
	// Encoding fails only if writing to memory does. Should it ever, the payload is empty and Validate says so.
	if payload, err := h.Encode(); err == nil {
		l.HDR = string(payload)
	}
	return l
}

// Histogram returns the distribution of l, of a record or of a cell. It fails if l has counted values and has no
// histogram: of a trial, a Collector keeps the quantiles alone.
func (l Latency) Histogram() (*hdrhistogram.PackedHistogram, error) {
	c, err := l.decode()
	if err != nil {
		return nil, err
	}
	return c.histogram(), nil
}

// Payloads: the histograms of a record, decoded and added up. hdrhistogram.DecodePacked takes eight times as long, and the zlib
// of the standard library a third more than klauspost's.

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
