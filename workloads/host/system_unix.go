// Limits and names of unix-like systems.

//go:build unix

package host

import (
	"math"

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
