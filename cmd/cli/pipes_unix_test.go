//go:build unix && !aix && !solaris

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestFirstSignalEndsAWaitForAPipe: neither a secret to come nor a reader of the output is worth a second Ctrl-C.
func TestFirstSignalEndsAWaitForAPipe(t *testing.T) {
	dir := t.TempDir()
	fifo := func(name string) string {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for i, args := range [][]string{
		{"-addr", "redis://127.0.0.1:1", "-password-file"},
	} {
		secret := fifo(fmt.Sprint("secret", i))
		var writer *os.File
		code, _, stderr := signalled(t, append(args, secret), func(signal func()) {
			testwait.Until(t, "nobody reads the secret", func() (opened bool) { // which succeeds once somebody does
				fd, err := syscall.Open(secret, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
				if err == nil {
					writer = os.NewFile(uintptr(fd), secret)
				}
				return err == nil
			})
			signal()
		})
		if code != exitInterrupted {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
		writer.Close()
	}

	var reader *os.File
	page := fifo("page")
	code, _, stderr := signalled(t, []string{"-driver", "memory", "-n", "10", "-warmup", "0s", "-clients", "1,2,3,4,5", "-keys", "1,2,3,4", "-format", "html=" + page}, func(signal func()) {
		var err error
		if reader, err = os.Open(page); err != nil { // returns once somebody writes
			t.Fatal(err)
		}
		if _, err := reader.Read(make([]byte, 1)); err != nil { // the rest, some 150 KB, does not fit into the pipe
			t.Fatal(err)
		}
		signal()
	})
	if code != exitInterrupted {
		t.Errorf("waiting for a reader: exit code %d, %s", code, stderr)
	}
	reader.Close() // ends the run that was given up
}
