// Files of times: what -hold and -think replay.

package main

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/shape"
)

// times is a distribution as a plan has it: zero for a fixed time, and its mean.
type times struct {
	dist spec.Times
	mean time.Duration
}

// replays are the files of times that were read, each once.
type replays struct {
	read   map[string]shape.Times // by what was written
	loaded map[spec.Times]shape.Times
}

// parse reads a distribution, and the file that it replays. The plan holds the digest of that, so that the cell's
// command line refuses a file that has changed.
func (f *replays) parse(text string) (times, error) {
	if t, ok := f.read[text]; ok {
		return times{t.Times, t.Mean()}, nil
	}
	t, err := spec.ParseTimes(text)
	if err != nil {
		return times{}, err
	}
	if d, fixed := t.Fixed(); fixed {
		return times{mean: d}, nil
	}
	if t.Kind != spec.TimesFile {
		return times{t, t.Mean()}, nil
	}
	loaded, err := f.load(t)
	if err != nil {
		return times{}, err
	}
	f.read[text], f.loaded[loaded.Times] = loaded, loaded
	return times{loaded.Times, loaded.Mean()}, nil
}

func (f *replays) load(t spec.Times) (shape.Times, error) {
	if f.read == nil {
		f.read, f.loaded = map[string]shape.Times{}, map[spec.Times]shape.Times{}
	}
	file, err := os.Open(t.Path)
	var fault *fs.PathError
	if errors.As(err, &fault) {
		return shape.Times{}, fault.Err // the flag has the path
	}
	if err != nil {
		return shape.Times{}, err
	}
	defer file.Close()
	return shape.Load(t, file)
}

// of are those that a plan replays.
func (f *replays) of(p spec.Plan) map[spec.Times]shape.Times {
	used := map[spec.Times]shape.Times{}
	for _, c := range p.Groups() {
		for _, dist := range []spec.Times{c.HoldDist, c.ThinkDist} {
			if t, ok := f.loaded[dist]; ok {
				used[dist] = t
			}
		}
	}
	return used
}
