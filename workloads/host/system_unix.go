// What unix-like systems tell: limits, their name, and the CPU time of this process.

//go:build unix

package host

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// fileLimit returns how many files this process may have open; 0 is unknown or no limit.
func fileLimit() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || uint64(l.Cur) > math.MaxInt32 {
		return 0
	}
	return int(l.Cur)
}

// kernel returns the system's name and release, "Linux 6.1.0".
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

// ProcessCPU returns the CPU time of this process; it is negative if the system does not tell.
func ProcessCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
