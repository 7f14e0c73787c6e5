// Package testwait makes tests wait for asynchronous events. How long that takes depends on the machine: the bound is
// for a test that fails, and says nothing about one that passes.
package testwait

import (
	"testing"
	"time"
)

const (
	// longest is how long to wait at most. At load 20 what takes 10 ms on an idle machine has been seen to take seconds.
	longest = 2 * time.Minute

	// interval is the time between two looks.
	interval = time.Millisecond
)

// Until polls ok until it returns true, and fails the test if that takes too long.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := bound(t); !ok(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// Ends runs f, and fails the test if f does not return in time. f then goes on alone, and must not end the test.
func Ends(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(time.Until(bound(t)))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("it never ended: %s", what)
	}
}

// bound returns until when to wait: for longest, but early enough to report what is wrong.
func bound(t testing.TB) time.Time {
	end := time.Now().Add(longest)
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := limited.Deadline(); ok {
			left := time.Until(deadline)
			if sooner := deadline.Add(-left / 10); sooner.Before(end) {
				return sooner
			}
		}
	}
	return end
}
