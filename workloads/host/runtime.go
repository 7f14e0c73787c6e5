// The metrics of Go's runtime (package runtime/metrics), read at both ends of the measured window.

package host

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
)

// The metrics in the order in which Runtime has them.
const (
	allocsMetric = "/gc/heap/allocs:objects"
	queueMetric  = "/sched/latencies:seconds"            // runnable to running, of every eighth goroutine that is tracked
	pausesMetric = "/sched/pauses/total/gc:seconds"      // of the whole program, for the collector
	totalMetric  = "/memory/classes/total:bytes"         // mapped by the runtime…
	freedMetric  = "/memory/classes/heap/released:bytes" // …of which this went back to the system
)

// Runtime is the state of the runtime's running totals.
type Runtime struct {
	Allocs        uint64    // objects
	Memory        int64     // bytes; 0 if unknown
	Queue, Pauses Histogram // of times from runnable to running, and in which the collector stopped the program
}

// ReadRuntime reads the totals. A runtime that does not have one of them leaves it empty.
func ReadRuntime() (r Runtime) {
	samples := []metrics.Sample{{Name: allocsMetric}, {Name: queueMetric}, {Name: pausesMetric}, {Name: totalMetric}, {Name: freedMetric}}
	metrics.Read(samples)
	if v := samples[0].Value; v.Kind() == metrics.KindUint64 {
		r.Allocs = v.Uint64()
	}
	if total, freed := samples[3].Value, samples[4].Value; total.Kind() == metrics.KindUint64 && freed.Kind() == metrics.KindUint64 {
		r.Memory = int64(total.Uint64() - freed.Uint64())
	}
	for i, h := range []*Histogram{&r.Queue, &r.Pauses} {
		if v := samples[i+1].Value; v.Kind() == metrics.KindFloat64Histogram {
			*h = Histogram(*v.Float64Histogram())
		}
	}
	return r
}

// Histogram is one of the runtime's: bucket i holds Counts[i] values of at least Buckets[i] and below Buckets[i+1] seconds.
type Histogram metrics.Float64Histogram

// Since returns what has been added after an earlier state of the same Histogram.
func (h Histogram) Since(before Histogram) Histogram {
	if len(before.Counts) != len(h.Counts) {
		return h
	}
	counts := slices.Clone(h.Counts)
	for i, n := range before.Counts {
		counts[i] -= min(n, counts[i])
	}
	return Histogram{Counts: counts, Buckets: h.Buckets}
}

// Quantile returns the upper end of the bucket that holds the q-quantile, which is at most 1/8 above it, or the lower end of
// the last bucket, which has no other; 0 for an empty Histogram. Its rank is that of results.RankOf.
func (h Histogram) Quantile(q float64) time.Duration {
	var total, seen uint64
	for _, n := range h.Counts {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := uint64(results.RankOf(q, int64(total)))
	for i, n := range h.Counts {
		if seen += n; seen < rank {
			continue
		}
		if end := h.Buckets[i+1]; !math.IsInf(end, 0) {
			return seconds(end)
		}
		return seconds(h.Buckets[i])
	}
	return 0
}

func seconds(s float64) time.Duration { return time.Duration(max(0, s) * float64(time.Second)) }
