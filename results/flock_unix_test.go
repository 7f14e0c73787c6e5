//go:build unix && !aix && !solaris

package results

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAppendHoldsTheLock tries the lock through another descriptor while the first is between writing and closing.
func TestAppendHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	writer, other := open(), open()
	defer other.Close()
	if err := appendLine(writer, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	try := func() error { return syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	if err := try(); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("while the writer has the file: %v", err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("after the writer has closed it: %v", err)
	}
}
