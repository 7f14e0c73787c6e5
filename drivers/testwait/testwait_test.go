package testwait

import (
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that records how it failed, with a deadline of its own.
type failing struct {
	testing.TB
	deadline time.Time
	failed   bool
}

func (f *failing) Helper()                     {}
func (f *failing) Fatalf(string, ...any)       { f.failed = true; panic(f) }
func (f *failing) Deadline() (time.Time, bool) { return f.deadline, !f.deadline.IsZero() }

func TestBounds(t *testing.T) {
	never := make(chan struct{})
	for _, tt := range []struct {
		name   string
		left   time.Duration // of the test's own time; 0 means without end
		wait   func(t testing.TB)
		fails  bool
		within time.Duration
	}{
		{"it is so", 0, func(t testing.TB) { Until(t, "", func() bool { return true }) }, false, 0},
		{"it becomes so", 0, func(t testing.TB) {
			start := time.Now()
			Until(t, "", func() bool { return time.Since(start) > time.Minute })
		}, false, longest},
		{"never", 0, func(t testing.TB) { Until(t, "", func() bool { return false }) }, true, longest + time.Second},
		{"never, with little time left", time.Minute, func(t testing.TB) { Until(t, "", func() bool { return false }) }, true, time.Minute},
		{"it ends", 0, func(t testing.TB) { Ends(t, "", func() { time.Sleep(time.Minute) }) }, false, longest},
		{"it does not end", time.Minute, func(t testing.TB) { Ends(t, "", func() { <-never }) }, true, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, start := &failing{TB: t}, time.Now()
				never = make(chan struct{})
				if tt.left > 0 {
					f.deadline = start.Add(tt.left)
				}
				func() {
					defer func() { recover() }()
					tt.wait(f)
				}()
				if took := time.Since(start); f.failed != tt.fails || took > tt.within {
					t.Errorf("failed: %t after %v, want %t within %v", f.failed, took, tt.fails, tt.within)
				}
				close(never)
			})
		})
	}
}
