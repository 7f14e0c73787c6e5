//go:build unix && !aix && !solaris

package results

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// locked opens the file at path and locks it.
func locked(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAppendableFiles refuses what would lose records.
func TestAppendableFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                             dir + " is a directory: records are appended to a regular file",
		pipe:                            pipe + " is a pipe: records are appended to a regular file",
		filepath.Join(dir, "new.jsonl"): "", os.DevNull: "",
	} {
		got := ""
		if err := CheckAppendable(path); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if err := (&Appender{Path: path}).Append(smallRecord(1)); (err != nil) != (want != "") || want != "" && err.Error() != "results: append: "+want {
			t.Errorf("%s: append: %v", path, err)
		}
	}
}

// TestAppendWaits appends while somebody else has the file locked, who lets go once Append says that it waits.
func TestAppendWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	other := locked(t, path)
	waited := ""
	a := Appender{Path: path, Waiting: func(holder string, most time.Duration) {
		waited = fmt.Sprintf("%s %v", holder, most)
		other.Close()
	}}
	if err := a.Append(smallRecord(1)); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("process %d (", os.Getpid()); !strings.HasPrefix(waited, want) || !strings.HasSuffix(waited, " 1m0s") {
		t.Errorf("waited for %q, want %s", waited, want)
	}
}

// TestAppendWaitsNotForEver gives up when the other keeps the lock.
func TestAppendWaitsNotForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	defer locked(t, path).Close()
	a := Appender{Path: path, patience: time.Nanosecond}
	err := a.Append(smallRecord(1))
	if want := fmt.Sprintf("process %d (", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), " has held it for 1ns: end that process, or write to another file") {
		t.Errorf("error %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
