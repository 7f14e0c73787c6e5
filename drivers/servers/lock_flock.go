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

// tryLock takes the exclusive lock on f unless another open file holds it. The lock ends when f is closed or the
// process dies: children do not inherit it, because Go opens every file with O_CLOEXEC.
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

// ownedByUs reports whether the file belongs to the effective user of this process.
func ownedByUs(fi fs.FileInfo) bool {
	_, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(uidOf(fi)) == os.Geteuid()
}

// uidOf returns the user id of the file's owner.
func uidOf(fi fs.FileInfo) uint32 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}
