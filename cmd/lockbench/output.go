// The file that -output names, looked at before the load is made.

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lockbench/lockbench/results"
)

// checkOutput makes sure, before the load, that records can be appended to the file that -output names and that it is one
// of records. It leaves nothing behind.
func checkOutput(opt *option) error {
	path, name := opt.text, opt.flagOrVariable()
	if path == "" {
		return nil
	}
	if path == "-" {
		return usageErrorf("%s: records go into a file, and the table to standard output", opt.written())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) {
		return checkCreate(name, path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	found := errors.New("found")
	_, err = results.Read(f, func(*results.Record) error { return found })
	if err != nil && err != found {
		return fmt.Errorf("%s: appending would spoil it: %w", opt.written(), err)
	}
	return nil
}

// checkCreate tries whether a file can be made at path, which that flag or variable names.
func checkCreate(name, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".lockbench-*")
	if err != nil {
		return fmt.Errorf("%s %s: no file can be made there: %w", name, path, errors.Unwrap(err))
	}
	f.Close()
	return os.Remove(f.Name())
}
