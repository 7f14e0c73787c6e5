//go:build unix && !aix && !solaris

package results

import (
	"errors"
	"os"
	"syscall"
)

// lockFile waits for the exclusive lock on f, which lasts until f is closed or its process ends. On a file system
// that knows no locks it goes on without: a write in append mode is still one piece.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			return nil
		}
		return err
	}
}
