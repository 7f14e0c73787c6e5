//go:build unix && !aix && !solaris

package results

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// tryLock tries to get the exclusive lock on f, which lasts until f is closed or its process ends. On a file system
// that knows no locks it goes on without: a write in append mode is still one piece.
func tryLock(f file) (locked bool, err error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			return true, nil
		}
		return err == nil, err
	}
}

// lockHolder returns the process that has the lock on f, `process 4711 ("flock")`, or empty if the system does not tell. Linux does, in
// /proc/locks: "1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF", the file by its device and inode.
func lockHolder(f file) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer locks.Close()
	inode := fmt.Sprintf(":%d", stat.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 6 || words[1] != "FLOCK" || !strings.HasSuffix(words[5], inode) {
			continue
		}
		name, err := os.ReadFile("/proc/" + words[4] + "/comm")
		if err != nil {
			return "process " + words[4]
		}
		return fmt.Sprintf("process %s (%+q)", words[4], strings.TrimSpace(string(name)))
	}
	return ""
}
