package redis

import (
	"testing"
	"time"
	"unsafe"
)

// TestSessionLiesOnWholeLines: the allocator puts objects of at most 256 bytes on whole cache lines, and larger ones
// across them.
func TestSessionLiesOnWholeLines(t *testing.T) {
	if size := unsafe.Sizeof(setNXPasser{}); size > 256 {
		t.Errorf("a session has %d bytes", size)
	}
	var s session
	if end := unsafe.Offsetof(s.args) + 6*unsafe.Sizeof(""); end > 3*64 {
		t.Errorf("a SET touches %d bytes of a session, more than three lines", end)
	}
}

// TestMillis rounds up: a lock never expires before its TTL. It formats once, otherwise there would be an allocation.
func TestMillis(t *testing.T) {
	var s session
	for ttl, want := range map[time.Duration]string{time.Millisecond: "1", time.Millisecond + 1: "2", 1500 * time.Microsecond: "2", time.Minute: "60000"} {
		if got, err := s.millis(ttl); got != want || err != nil {
			t.Errorf("%v: %q, %v, want %q", ttl, got, err, want)
		}
	}
	for _, ttl := range []time.Duration{0, -1, time.Millisecond - 1} {
		if got, err := s.millis(ttl); err == nil {
			t.Errorf("%v: %q and no error", ttl, got)
		}
	}
	s.millis(time.Hour)
	if n := testing.AllocsPerRun(100, func() { s.millis(time.Hour) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
