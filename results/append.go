package results

// Writing: one record, one line, one write.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// lockPatience is how long an Appender waits for others who have its file locked: each of them writes one line.
const lockPatience = time.Minute

// Appender adds records to the JSON Lines file at Path, which it creates if need be. Several processes may append to one
// file at once: each line is written by a single call under an exclusive lock on the file. After a torn line, of a process that
// was killed or a disk that was full, the next record starts a line of its own.
type Appender struct {
	Path string

	// Waiting, if set, is called once when somebody else has the file locked and Append begins to wait. The holder is
	// `process 4711 ("flock")` where the system tells, and else empty.
	Waiting func(holder string, most time.Duration)

	// Hide, if set, takes secrets out of a line.
	Hide func(line string) string

	patience time.Duration // 0: lockPatience
	open     func(path string) (file, error)
}

// file is what an Appender does with its file.
type file interface {
	io.Writer
	io.ReaderAt
	Stat() (fs.FileInfo, error)
	Sync() error
	Close() error
	Fd() uintptr
}

// Append adds r, which Label has seen, to the file, and returns once the line is on the disk. After an error the line
// may be there in part, in whole or not at all; to append r again is safe, since readers take a record with the same
// ID once.
func (a *Appender) Append(r *Record) error { return a.appendJSON(r) }

// AppendAnswer adds a line with what the records before it come to, such as the answer of lockbench plan: see Report. Those who read
// records pass over it.
func (a *Appender) AppendAnswer(answer any) error {
	return a.appendJSON(struct {
		Answer any `json:"answer"`
	}{answer})
}

func (a *Appender) appendJSON(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		if a.Hide != nil {
			line = []byte(a.Hide(string(line)))
		}
		err = a.append(line)
	}
	if err != nil {
		return fmt.Errorf("results: append: %w", err)
	}
	return nil
}

func (a *Appender) append(line []byte) error {
	if err := CheckAppendable(a.Path); err != nil {
		return err
	}
	open := a.open
	if open == nil {
		open = func(path string) (file, error) { return os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666) }
	}
	f, err := open(a.Path)
	if err != nil {
		return err
	}
	err = a.appendLine(f, line)
	return cmp.Or(err, f.Close())
}

// CheckAppendable refuses what is there at path if it would lose records: the reader of a named pipe sees its end after
// the first one, and what is written with no reader is gone. Regular files and character devices, such as /dev/null,
// will do, and so will a path where nothing is yet.
func CheckAppendable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if mode := info.Mode(); !mode.IsRegular() && mode&fs.ModeCharDevice == 0 {
		return fmt.Errorf("%s is %s: records are appended to a regular file", path, kindOf(mode))
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// appendLine writes line and a newline to f and waits for the disk. Closing f gives up the lock.
func (a *Appender) appendLine(f file, line []byte) error {
	if err := a.lock(f); err != nil {
		return fmt.Errorf("lock %s: %w", a.Path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if !info.Mode().IsRegular() { // a device has no last line, and no disk to wait for
		_, err = f.Write(line)
		return err
	}
	if size := info.Size(); size > 0 {
		var last [1]byte
		if _, err := f.ReadAt(last[:], size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if n, err := f.Write(line); err != nil {
		return err
	} else if n < len(line) {
		return io.ErrShortWrite
	}
	if err = f.Sync(); err == nil && info.Size() == 0 {
		syncDirectory(filepath.Dir(a.Path))
	}
	return err
}

// lock waits for the lock on f, but not for ever: somebody may have stopped while holding it.
func (a *Appender) lock(f file) error {
	patience := cmp.Or(a.patience, lockPatience)
	began, announced := time.Now(), false
	for {
		locked, err := tryLock(f)
		if locked || err != nil {
			return err
		}
		holder := lockHolder(f)
		if !announced && a.Waiting != nil {
			a.Waiting(holder, patience)
		}
		announced = true
		if time.Since(began) > patience {
			return fmt.Errorf("%s has held it for %v: end that process, or write to another file", cmp.Or(holder, "another process"), patience)
		}
		time.Sleep(lockPoll)
	}
}

// lockPoll is how often a lock that others hold is tried. Each of them has it for as long as a write to the disk takes.
const lockPoll = 5 * time.Millisecond

// syncDirectory makes the name of a new file as durable as its content. That not every system can do so is no
// reason to fail: the record itself is on the disk.
func syncDirectory(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}
