//go:build !linux

package alarm

import "time"

// waker does nothing where the runtime's poller waits for fractions of a millisecond, as with kqueue.
type waker struct{}

var poller waker

func (waker) wakeAt(time.Duration) (slot int64) { return 0 }
func (waker) cancel(int64)                      {}

// Exact reports whether timers are more exact than the runtime's.
func Exact() bool { return false }
