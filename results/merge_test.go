package results

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSumAddsUp compares sums with those of Values: of short distributions, which stay packed, of long ones, which are
// counted, and of such whose counts do not fit into two bytes, singly or together.
func TestSumAddsUp(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		name        string
		slots, most int64
		counted     bool
	}{
		{"short", 50, 100, false},
		{"long", 12_000, 100, true},
		{"high together", 12_000, 1 << 13, true},
		{"high", 12_000, 1 << 40, true},
	} {
		s, want := sum{}, Values{}
		for n := range 20 {
			v := Values{}
			for _, slot := range random.Perm(slotCount)[:c.slots] {
				v.slots = append(v.slots, filled{int32(slot), 1 + random.Int64N(c.most)})
			}
			slices.SortFunc(v.slots, func(a, b filled) int { return int(a.slot - b.slot) })
			for _, f := range v.slots {
				v.count += f.count
			}
			s.add(Latency{Count: v.count, HDR: latencyOf(v.Histogram(), 0).HDR}, pack(v.slots))
			want = want.Plus(v)
			if n%7 != 6 { // looking at a sum changes nothing
				continue
			}
			got := sums{Hold: &s}.spelt()[Hold]
			if got.merged != pack(want.slots) || got.Count != want.count || got.P99 != want.Quantile(0.99) {
				t.Fatalf("%s: %d trials are %d values, want %d, or others", c.name, 1+n, got.Count, want.count)
			}
		}
		if counted := s.low != nil; counted != c.counted || len(s.high) >= longHigh+2*slotCount {
			t.Errorf("%s: counted %v, %d waiting", c.name, counted, len(s.high))
		}
	}
}

// TestSumIsFull: counts that no run can have leave a slot full, whichever way they are kept.
func TestSumIsFull(t *testing.T) {
	slots := []filled{{3, math.MaxInt64 - 1}}
	one := latencyOf(Values{slots: slots}.Histogram(), 0)
	for name, s := range map[string]*sum{"packed": {}, "counted": {Latency: Latency{Count: 1}, low: make([]uint16, 8)}} {
		for range 3 {
			s.add(one, pack(slots))
		}
		if got := s.packed().slots(); !slices.Equal(got, []filled{{3, math.MaxInt64}}) || s.Count != math.MaxInt64 {
			t.Errorf("%s: %v, %d in all", name, got, s.Count)
		}
	}
}
