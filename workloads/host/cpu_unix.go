//go:build unix

// The CPU time of this process, where getrusage(2) tells it.

package host

import (
	"time"

	"golang.org/x/sys/unix"
)

func ProcessCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
