package results

// Histograms as a record carries them: HdrHistogram's V2 encoding, deflated, in base64, which is what the
// HdrHistogram tools of every language read.

import (
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of every histogram: 1 ns to 1 h, three significant digits. Values outside are counted at its ends.
const (
	lowestValue  = 1
	highestValue = int64(time.Hour)
	digits       = 3
)

// The slots that HdrHistogram derives from that range. 2 × 10³ values need unit resolution, so there are 2,048
// sub-buckets, and every further bucket of half as many slots covers one more power of two (Gil Tene,
// AbstractHistogram.java: establishSize, countsArrayIndex).
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

// quantilesOf returns h without its payload. Mean, minimum and maximum are the histogram's, exact to its three digits:
// quantiles and the maximum are the upper end of their slot, the minimum is the lower end.
func quantilesOf(h *hdrhistogram.PackedHistogram, overflow int64) Latency {
	q := h.ValueAtPercentilesSlice([]float64{50, 90, 99, 99.9})
	return Latency{
		Count:    h.TotalCount(),
		Mean:     time.Duration(math.Round(h.Mean())),
		Min:      time.Duration(h.Min()),
		P50:      time.Duration(q[0]),
		P90:      time.Duration(q[1]),
		P99:      time.Duration(q[2]),
		P999:     time.Duration(q[3]),
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
