// Files of times: what -hold and -think replay.

package main

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/lockbench/lockbench/workloads/shape"

	"github.com/lockbench/lockbench/results/spec"
)

// times is a distribution as a plan has it: its canonical spelling, empty for a fixed time, and its mean.
type times struct {
	dist string
	mean time.Duration
}

func (t times) String() string {
	if t.dist != "" {
		return t.dist
	}
	return t.mean.String()
}

// replays are the files of times that were read, each once.
type replays struct {
	read   map[string]shape.Times // by what was written
	loaded map[string]shape.Times // by their canonical spelling
}

// parse reads a distribution, and the file that it replays. The plan holds the digest of that, so that the cell's
// command line refuses a file that has changed.
func (f *replays) parse(text string) (times, error) {
	if t, ok := f.read[text]; ok {
		return times{t.String(), t.Mean()}, nil
	}
	t, err := shape.ParseTimes(text)
	if err != nil {
		return times{}, err
	}
	if d, fixed := t.Fixed(); fixed {
		return times{mean: d}, nil
	}
	if path, _ := t.File(); path != "" {
		if t, err = f.load(t, path); err != nil {
			return times{}, err
		}
		f.read[text], f.loaded[t.String()] = t, t
	}
	return times{t.String(), t.Mean()}, nil
}

func (f *replays) load(t shape.Times, path string) (shape.Times, error) {
	if f.read == nil {
		f.read, f.loaded = map[string]shape.Times{}, map[string]shape.Times{}
	}
	file, err := os.Open(path)
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return t, fault.Err // the flag has the path
	}
	if err != nil {
		return t, err
	}
	defer file.Close()
	return t.Load(file)
}

// of are those that a plan replays.
func (f *replays) of(p spec.Plan) map[string]shape.Times {
	used := map[string]shape.Times{}
	for _, c := range p.Groups() {
		for _, dist := range []string{c.HoldDist, c.ThinkDist} {
			if t, ok := f.loaded[dist]; ok {
				used[dist] = t
			}
		}
	}
	return used
}
