//go:build !linux

package alarm

import "time"

// bell does nothing where the runtime's poller waits for fractions of a millisecond, as with kqueue.
type bell struct{}

var poller bell

func (bell) ringAt(time.Duration) (slot int64) { return 0 }
func (bell) forget(int64)                      {}

// Rings reports whether timers of the system are used.
func Rings() bool { return false }
