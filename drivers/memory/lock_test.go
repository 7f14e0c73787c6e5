package memory_test

// What is particular to the in-process lock, beyond the contract.

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// TestExactTimes checks the ends of a lease to the nanosecond.
func TestExactTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := open(t, memory.Driver{})
		a, b := newSession(t, svc, 0), newSession(t, svc, 1)
		remainer, _ := drivers.As[drivers.Remainer](b)
		left := func(key string) time.Duration {
			t.Helper()
			d, err := remainer.Remaining(t.Context(), &drivers.Lease{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		try := func(s drivers.Session, l *drivers.Lease, want bool) {
			t.Helper()
			if held, err := s.Try(t.Context(), l); held != want || err != nil {
				t.Fatalf("after %v Try answered %v, %v; want %v", l.TTL, held, err, want)
			}
		}
		l := &drivers.Lease{Key: "k", TTL: time.Second}
		try(a, l, true)
		if got := left("k"); got != time.Second {
			t.Errorf("%v left of a new lease, want %v", got, time.Second)
		}
		time.Sleep(time.Second - 1)
		if got := left("k"); got != 1 {
			t.Errorf("%v left, want 1ns", got)
		}
		try(b, &drivers.Lease{Key: "k", TTL: time.Second}, false)
		time.Sleep(time.Nanosecond)
		if got := left("k"); got != 0 {
			t.Errorf("%v left of a lease that is over, want 0", got)
		}
		if owned, err := a.Release(t.Context(), l); owned || err != nil {
			t.Errorf("Release of a lease that is over answered %v, %v", owned, err)
		}
		try(b, &drivers.Lease{Key: "k", TTL: time.Second}, true)

		for _, never := range []time.Duration{0, -time.Second} {
			key := never.String()
			try(a, &drivers.Lease{Key: key, TTL: never}, true)
			time.Sleep(1000 * time.Hour)
			try(b, &drivers.Lease{Key: key, TTL: time.Second}, false)
			if got := left(key); got >= 0 {
				t.Errorf("%v left of a lease without an end, want a negative duration", got)
			}
		}
	})
}

// TestFencesCountEachKey expects 1, 2, 3 for every key, and 1 again once it is cleaned.
func TestFencesCountEachKey(t *testing.T) {
	svc := open(t, memory.Driver{})
	s := newSession(t, svc, 0)
	for _, key := range []string{"a", "b", "a cleaned"} {
		if key == "a cleaned" {
			key = "a"
			cleaner, _ := drivers.As[drivers.Cleaner](svc)
			if err := cleaner.Clean(t.Context(), []string{key}); err != nil {
				t.Fatal(err)
			}
		}
		for want := uint64(1); want <= 3; want++ {
			l := &drivers.Lease{Key: key}
			if err := pair(t.Context(), s, l); err != nil {
				t.Fatal(err)
			}
			if l.Fence != want {
				t.Errorf("grant %d of %q has fence %d", want, key, l.Fence)
			}
		}
	}
}

func TestRegistered(t *testing.T) {
	for _, name := range []string{"memory", "null"} {
		if _, err := drivers.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}

// TestNullHasNothing checks that the null driver has no claims or capabilities.
func TestNullHasNothing(t *testing.T) {
	svc := open(t, memory.Null{})
	if svc.Traits() != (drivers.Traits{}) {
		t.Errorf("null claims %+v", svc.Traits())
	}
	s := newSession(t, svc, 0)
	l := drivers.Lease{Key: "k", TTL: time.Second}
	for range 3 {
		if held, err := s.Try(t.Context(), &l); !held || err != nil {
			t.Errorf("Try answered %v, %v", held, err)
		}
		if owned, err := s.Release(t.Context(), &l); !owned || err != nil {
			t.Errorf("Release answered %v, %v", owned, err)
		}
	}
	if want := (drivers.Lease{Key: "k", TTL: time.Second}); l != want {
		t.Errorf("null wrote %+v", l)
	}
}

// TestReentry counts: a holder enters three times with one lease, and leaves as often. Each entry extends the lease,
// and a lease that is over leaves no count behind.
func TestReentry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc, err := memory.Driver{}.Open(t.Context(), drivers.Config{Lock: "reentrant"})
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		a, b := newSession(t, svc, 0), newSession(t, svc, 1)
		l := &drivers.Lease{Key: "k", TTL: time.Second}
		refused := func() {
			t.Helper()
			if held, err := b.Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Second}); held || err != nil {
				t.Fatalf("another session's Try answered %v, %v", held, err)
			}
		}
		enter := func() {
			t.Helper()
			if held, err := a.Try(t.Context(), l); !held || err != nil {
				t.Fatalf("Try answered %v, %v", held, err)
			}
		}
		leave := func(want bool) {
			t.Helper()
			if owned, err := a.Release(t.Context(), l); owned != want || err != nil {
				t.Fatalf("Release answered %v, %v; want %v", owned, err, want)
			}
		}
		for range 3 {
			enter()
			time.Sleep(900 * time.Millisecond)
		}
		leave(true)
		leave(true)
		refused()
		leave(true)
		leave(false)

		enter()
		enter()
		time.Sleep(time.Second)
		enter()
		leave(true)
		leave(false)
	})
}
