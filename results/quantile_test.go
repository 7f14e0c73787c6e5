package results

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestQuantileIsOfSortedList compares the quantiles of up to 2,000 values with those of a sorted list, which is
// counted by whole numbers: the least value that at least so many ten thousandths of the list do not exceed.
func TestQuantileIsOfSortedList(t *testing.T) {
	rec := NewRecorder(1)
	var list []time.Duration
	for n := int64(1); n <= 2000; n++ {
		value := time.Duration(n * 1009 % 2003) // in no order; a slot each
		shard := rec.Borrow()
		shard.Record(HoldIndex, value)
		rec.Return(shard)
		list = append(list, value)
		slices.Sort(list)
		least := func(share int64) time.Duration {
			return list[slices.IndexFunc(list, func(v time.Duration) bool {
				i, _ := slices.BinarySearch(list, v+1)
				return int64(i)*10_000 >= share*n
			})]
		}
		all := Total(Source{rec, HoldIndex})
		l := all.Latency()
		for _, q := range []struct {
			share       int64
			least       int64 // values for it
			of, spelled time.Duration
		}{
			{5000, 6, all.Quantile(0.5), l.P50}, {9000, 36, all.Quantile(0.9), l.P90}, {9900, 368, all.Quantile(0.99), l.P99},
			{9990, 3688, all.Quantile(0.999), l.P999},
		} {
			want := least(q.share)
			if got := Quantile(all.Histogram(), float64(q.share)/10_000); got != want {
				t.Fatalf("p%v of %d values: %d, want %d", float64(q.share)/100, n, got, want)
			}
			if n < q.least {
				want = 0
			}
			if q.of != want || q.spelled != want {
				t.Fatalf("p%v of %d values: %d and, in a record, %d, want %d", float64(q.share)/100, n, q.of, q.spelled, want)
			}
		}
		if got, want := Quantile(all.Histogram(), 0.9999), list[n-1]; got != want {
			t.Fatalf("p99.99 of %d values: %d, want the greatest, %d", n, got, want)
		}
		if err := l.validate(); err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
	}
}

func ExampleRankOf() {
	fmt.Println(RankOf(0.5, 4), RankOf(0.9, 10), RankOf(0.99, 100_000_000), RankOf(0.999, 700))
	// Output: 2 9 99000000 700
}
