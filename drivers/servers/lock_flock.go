//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package servers

// File locks and file owners where there is flock.

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the exclusive lock on f unless another open file holds it. Closing f, or the death of the process,
// gives it back: children do not inherit it, because Go opens every file with O_CLOEXEC.
func tryLock(f *os.File) (had bool, err error) {
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}

// ownedByUs reports whether the file belongs to the user as whom this process acts.
func ownedByUs(fi fs.FileInfo) bool {
	_, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(uidOf(fi)) == os.Geteuid()
}

// uidOf returns the number of the file's user.
func uidOf(fi fs.FileInfo) uint32 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}
