package results

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// faultyFile is a regular file in memory whose next write stops after room bytes with an error, nil for a short write,
// and whose Sync fails with another. It notes what is done to it.
type faultyFile struct {
	*os.File // for its descriptor, which is locked

	data      []byte
	room      int
	writeErr  error
	syncErr   error
	calls     []string
	untouched bool // no fault is left
}

func (f *faultyFile) Write(p []byte) (int, error) {
	f.calls = append(f.calls, "write")
	if f.untouched || f.room >= len(p) {
		f.data = append(f.data, p...)
		return len(p), nil
	}
	f.data = append(f.data, p[:f.room]...)
	f.untouched = true
	return f.room, f.writeErr
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *faultyFile) Stat() (fs.FileInfo, error) { return regular{size: int64(len(f.data))}, nil }

func (f *faultyFile) Sync() error {
	f.calls = append(f.calls, "sync")
	return f.syncErr
}

func (f *faultyFile) Close() error {
	f.calls = append(f.calls, "close")
	return nil
}

// regular describes a regular file of some size.
type regular struct {
	fs.FileInfo
	size int64
}

func (r regular) Size() int64     { return r.size }
func (regular) Mode() fs.FileMode { return 0o600 }
func (regular) Sys() any          { return nil }

// faultyAppender appends to f.
func faultyAppender(t *testing.T, f *faultyFile) *Appender {
	t.Helper()
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	locked, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { locked.Close() })
	f.File = locked
	return &Appender{Path: path, open: func(string) (file, error) { return f, nil }}
}

// smallRecord is as short as a record may be, so that a test can afford each of its bytes.
func smallRecord(n int) *Record {
	r := numbered(n)
	r.Latency, r.Series, r.Classes, r.Plan.Classes, r.Warnings, r.Side, r.Pair = nil, nil, nil, nil, nil, "", 0
	r.Env.Libraries, r.Env.Variables, r.Counts.Errors, r.Counts.ErrorSample, r.Safety.Events = nil, nil, nil, nil, nil
	return r
}

// TestAppendFaults fails the write of a record at each of its bytes. The records before it stay, the error is that of
// the system, and once there is room again the record is appended in whole.
func TestAppendFaults(t *testing.T) {
	before, torn := line(t, smallRecord(1)), line(t, smallRecord(2))
	for name, fault := range map[string]error{"ENOSPC": syscall.ENOSPC, "EIO": syscall.EIO, "short": nil} {
		t.Run(name, func(t *testing.T) {
			f := new(faultyFile)
			a := faultyAppender(t, f)
			for room := 0; room < len(torn); room += cutStep(len(torn) - 1 - room) {
				*f = faultyFile{File: f.File, data: []byte(before), room: room, writeErr: fault}
				want := fault
				if want == nil {
					want = io.ErrShortWrite
				}
				if err := a.Append(smallRecord(2)); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "results: append: ") {
					t.Fatalf("after %d bytes: error %v", room, err)
				}
				if slices.Contains(f.calls, "sync") || f.calls[len(f.calls)-1] != "close" {
					t.Fatalf("after %d bytes: %q", room, f.calls)
				}
				if string(f.data) != before+torn[:room] {
					t.Fatalf("after %d bytes the file has %d, and had %d", room, len(f.data), len(before))
				}
				if fault != syscall.ENOSPC {
					continue // what is in the file is the same for all
				}
				whole := room == len(torn)-1 // all but the newline
				checkNumbers(t, f.data, whole, room)
				if err := a.Append(smallRecord(2)); err != nil {
					t.Fatalf("after %d bytes, then again: %v", room, err)
				}
				checkNumbers(t, f.data, true, room)
			}
		})
	}
}

// cutStep returns how many bytes a test that cuts a record goes on to the next cut, with left bytes to the last one. With -short
// it tries every seventh cut, and all of the last ones.
func cutStep(left int) int {
	if testing.Short() && left > 14 {
		return 7
	}
	return 1
}

// checkNumbers wants record number 1, and number 2 if there is to be one; whatever else is there may be one damaged line.
func checkNumbers(t *testing.T, data []byte, second bool, room int) {
	t.Helper()
	seen := map[int]bool{}
	report, err := Read(bytes.NewReader(data), func(r *Record) error { seen[r.Trial] = true; return nil })
	if err != nil || !seen[1] || seen[2] != second || report.Damaged > 1 {
		t.Fatalf("after %d bytes: records %v, %v, error %v", room, seen, report.Damage, err)
	}
}

// TestAppendSyncs holds Append to its promise that the record is on the disk: it reports success after the file was
// synced, which comes after the write, and no success if that fails.
func TestAppendSyncs(t *testing.T) {
	f := &faultyFile{untouched: true}
	a := faultyAppender(t, f)
	if err := a.Append(smallRecord(1)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"write", "sync", "close"}; !slices.Equal(f.calls, want) {
		t.Errorf("%q, want %q", f.calls, want)
	}
	f.syncErr = syscall.EIO
	if err := a.Append(smallRecord(2)); !errors.Is(err, syscall.EIO) {
		t.Errorf("the sync failed, and the error is %v", err)
	}
}
