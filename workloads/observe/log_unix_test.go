//go:build unix && !aix && !solaris

package observe

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestIntervalLogPipe: a log may go to another program, and the run ends when that has gone.
func TestIntervalLogPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	reader := make(chan *os.File)
	go func() {
		f, _ := os.Open(path) // waits for who writes
		reader <- f
	}()
	l, err := CreateLog(path, false, "devel")
	if err != nil {
		t.Fatal(err)
	}
	f := <-reader
	head := make([]byte, len(logHead))
	if n, err := f.Read(head); string(head) != logHead {
		t.Errorf("the reader got %q, %v", head[:n], err)
	}
	f.Close()
	l.comment("nobody reads this")
	if err := l.Close(); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the end of a log that nobody reads: %v, want a broken pipe", err)
	}
}
