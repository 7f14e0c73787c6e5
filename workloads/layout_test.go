package workloads

import (
	"testing"
	"unsafe"
)

// TestClientLiesOnWholeLines: what a cycle writes is at the beginning of a client, and no line of it is a neighbour's too.
func TestClientLiesOnWholeLines(t *testing.T) {
	const line = 64
	var c client
	if size := unsafe.Sizeof(c); size%line != 0 {
		t.Errorf("a client has %d bytes, which is no multiple of %d: change the padding at its end", size, line)
	}
	if hot := unsafe.Offsetof(c.counters) + unsafe.Offsetof(c.counters.retries); hot > 5*line {
		t.Errorf("a cycle touches %d bytes of a client, more than five lines", hot)
	}
}
