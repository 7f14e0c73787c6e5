// Package files writes files that appear whole or not at all, and tells beforehand whether they can be written.
package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes path a file with that text. Whoever reads it meanwhile sees the old file or the new one and never a half:
// it is written beside and renamed. An old file keeps its mode, and a link its target. A device or a named pipe is
// written to as it is. Directories that are missing are made.
func Write(path string, text []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o666) // less the umask
	old, err := os.Stat(path)
	exists := err == nil
	if exists && !old.Mode().IsRegular() {
		return os.WriteFile(path, text, mode)
	}
	if exists {
		mode = old.Mode().Perm()
	}
	dir := filepath.Dir(path)
	beside := filepath.Join(dir, ".lockbench-"+rand.Text())
	if err = os.MkdirAll(dir, 0o777); err == nil {
		err = os.WriteFile(beside, text, mode)
	}
	if err == nil && exists {
		err = os.Chmod(beside, mode)
	}
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		os.Remove(beside)
		return &fs.PathError{Op: "write", Path: path, Err: errors.Unwrap(err)} // the name that the user knows
	}
	return nil
}

// Same reports whether two paths lead to one regular file, which may have to be made yet.
func Same(a, b string) bool {
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(first, second) && first.Mode().IsRegular()
	}
	absA, err1 := filepath.Abs(a)
	absB, err2 := filepath.Abs(b)
	return a != "" && b != "" && err1 == nil && err2 == nil && absA == absB
}

// Check returns, before the work begins, why path cannot become a file. Name is the flag or the variable that has it.
func Check(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s %s: is a directory", name, path)
	case err == nil && !info.Mode().IsRegular():
		return nil
	}
	return try(filepath.Dir(path), name, path)
}

// CheckDir returns, before the work begins, why no files can be put into a directory, which may have to be made yet.
func CheckDir(name, path string) error {
	dir := path
	for _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	return try(dir, name, path)
}

// try makes a file in a directory and removes it.
func try(dir, name, path string) error {
	f, err := os.CreateTemp(dir, ".lockbench-*")
	if err != nil {
		return fmt.Errorf("%s %s: no file can be made there: %w", name, path, errors.Unwrap(err))
	}
	f.Close()
	return os.Remove(f.Name())
}
