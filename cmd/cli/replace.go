// Files that appear whole or not at all.

package cli

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// replaceFile makes path a file of what write writes. Whoever reads it meanwhile sees the old one or the new one and never
// a half: it is written beside and renamed. An old file keeps its mode, and a link what it points at. What is no regular
// file, such as /dev/stderr or a named pipe, is written to as it is.
func replaceFile(path string, write func(io.Writer) error) (err error) {
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
		return writeAndClose(f, write)
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
	if err := writeAndClose(f, write); err != nil {
		var where *fs.PathError
		if errors.As(err, &where) && where.Path == beside {
			return &fs.PathError{Op: where.Op, Path: path, Err: where.Err} // the name that the user knows
		}
		return err
	}
	return os.Rename(beside, path)
}

// writeAndClose writes and reports what writing, flushing or closing went wrong.
func writeAndClose(f *os.File, write func(io.Writer) error) error {
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
