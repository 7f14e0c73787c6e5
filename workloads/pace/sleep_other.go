//go:build !linux

// Sleeping where there is nothing better than the runtime's timers.

package pace

import "github.com/lockbench/lockbench/drivers"

func newSleeper(clock drivers.Clock, stop <-chan struct{}) sleeper { return newTimer(clock, stop) }
