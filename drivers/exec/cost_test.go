package exec

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// An Ask costs the line of its answer and, now and then, room for more.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("a sync.Pool drops what it likes under the race detector, whose tests are short")
	}
	s := rivalOf(t, adapterOf(t, "null"), drivers.Config{})
	l := &drivers.Lease{Key: "k", TTL: time.Minute}
	if n := testing.AllocsPerRun(1000, func() {
		if held, err := s.Try(t.Context(), l); !held || err != nil {
			t.Fatal(held, err)
		}
	}); n > 2 {
		t.Errorf("a Try costs %v allocations", n)
	}
}
