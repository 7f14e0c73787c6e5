// Package files writes files that appear whole or not at all, and tells beforehand whether they can be written.
package files

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace makes path a file of what write writes. Whoever reads it meanwhile sees the old one or the new one and never
// a half: it is written beside and renamed. An old file keeps its mode, and a link what it points at. What is no regular
// file, such as /dev/stderr or a named pipe, is written to as it is.
func Replace(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o666) // less the umask
	old, err := os.Stat(path)
	switch {
	case err == nil && !old.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return Write(f, write)
	case err == nil:
		mode = old.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	beside := filepath.Join(filepath.Dir(path), ".lockbench-"+rand.Text())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: errors.Unwrap(err)}
	}
	defer func() {
		if err != nil {
			os.Remove(beside)
		}
	}()
	if old != nil {
		if err := f.Chmod(mode); err != nil {
			f.Close()
			return err
		}
	}
	if err := Write(f, write); err != nil {
		var where *fs.PathError
		if errors.As(err, &where) && where.Path == beside {
			return &fs.PathError{Op: where.Op, Path: path, Err: where.Err} // the name that the user knows
		}
		return err
	}
	return os.Rename(beside, path)
}

// Create makes path within a directory a file of what write writes, see Into.
type Create func(path string, write func(io.Writer) error) error

// Into makes a directory if need be, and calls all with what puts a file into it, as Replace does.
func Into(dir string, all func(Create) error) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return all(func(path string, write func(io.Writer) error) error { return Replace(filepath.Join(dir, path), write) })
}

// Write writes and reports what writing, flushing or closing f went wrong.
func Write(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// Same reports whether two paths lead to one regular file, which may have to be made yet.
func Same(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(first, second) && first.Mode().IsRegular()
	}
	a, err1 = filepath.Abs(a)
	b, err2 = filepath.Abs(b)
	return err1 == nil && err2 == nil && a == b
}

// CheckCreate tries whether a file can be made at path, which that flag or variable names.
func CheckCreate(name, path string) error { return tryIn(filepath.Dir(path), name, path) }

// tryIn makes a file in a directory and removes it.
func tryIn(dir, name, path string) error {
	f, err := os.CreateTemp(dir, ".lockbench-*")
	if err != nil {
		return fmt.Errorf("%s %s: no file can be made there: %w", name, path, errors.Unwrap(err))
	}
	f.Close()
	return os.Remove(f.Name())
}

// CheckInto tells before the work begins that no files can be put into a directory, which that flag or variable names and
// which Into may have to make.
func CheckInto(name, path string) error {
	dir := path
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return tryIn(dir, name, path)
}

// CheckReplace tells before the work begins that a file cannot be made, which that flag or variable names.
func CheckReplace(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s %s: is a directory", name, path)
	case err == nil && !info.Mode().IsRegular():
		return nil
	}
	return CheckCreate(name, path)
}
