package main

import (
	"errors"
	"io"
	"os"

	"github.com/lockbench/lockbench/results"
)

// records reads a recorded file, which must not be damaged.
func records(file string) ([]*results.Record, error) {
	return read(file, func(in io.Reader) (recs []*results.Record, err error) {
		report, err := results.Read(in, func(r *results.Record) error { recs = append(recs, r); return nil })
		if err == nil && report.Damaged > 0 {
			err = errors.New(report.Damage[0].String())
		}
		return recs, err
	})
}

// read reads a file of any kind, which may be compressed: front-door.jsonl is kept as front-door.jsonl.gz.
func read[T any](file string, parse func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(file + ".gz")
	}
	if err != nil {
		return v, err
	}
	defer f.Close()
	return parse(results.Inflate(f))
}
