package results

// Writing: one record, one line, one write.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Append adds r to the JSON Lines file at path, which it creates if need be. It checks r first and returns once the
// line is on the disk. Several processes may append to one file at once: each line is written by a single call
// under an exclusive lock on the file. If the last line is torn, because a process was killed or a disk was full,
// the record starts a line of its own, so that only the torn one is lost.
func Append(path string, r *Record) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("results: append: %w", err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("results: append: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("results: append: %w", err)
	}
	err = appendLine(f, line)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("results: append: %w", err)
	}
	return nil
}

// appendLine writes line and a newline to f and waits for the disk. Closing f gives up the lock.
func appendLine(f *os.File, line []byte) error {
	if err := lockFile(f); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if !info.Mode().IsRegular() { // a pipe or a terminal has no last line, and no disk to wait for
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
	if _, err = f.Write(line); err != nil {
		return err
	}
	if err = f.Sync(); err == nil && info.Size() == 0 {
		syncDirectory(filepath.Dir(f.Name()))
	}
	return err
}

// syncDirectory makes the name of a new file as durable as its content. That not every system can do so is no
// reason to fail: the record itself is on the disk.
func syncDirectory(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}
