package shape

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// Files are the files of times that loads replay, each read once. The zero value has read none. It is for one goroutine.
type Files struct {
	written map[spec.Times]Times // by what was written
	loaded  map[spec.Times]Times // by what plans hold
}

// Fill reads the files that a load replays. The load then holds their digests, so that a plan refuses a file that has changed.
// The caller puts the path before the error.
func (f *Files) Fill(l *spec.Load) error {
	if err := f.fill(&l.Hold, &l.HoldDist); err != nil {
		return err
	}
	return f.fill(&l.Think, &l.ThinkDist)
}

func (f *Files) fill(mean *time.Duration, dist *spec.Times) error {
	if dist.Kind != spec.TimesFile {
		return nil
	}
	t, known := f.loaded[*dist]
	if !known {
		t, known = f.written[*dist]
	}
	if !known {
		var err error
		if t, err = open(*dist); err != nil {
			return err
		}
		if f.loaded == nil {
			f.written, f.loaded = map[spec.Times]Times{}, map[spec.Times]Times{}
		}
		f.written[*dist], f.loaded[t.Times] = t, t
	}
	*mean, *dist = t.Mean(), t.Times
	return nil
}

func open(t spec.Times) (Times, error) {
	file, err := os.Open(t.Path)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return Times{}, fault.Err
	}
	if err != nil {
		return Times{}, err
	}
	defer file.Close()
	return Load(t, file)
}

// Of returns the files that a plan replays.
func (f *Files) Of(p *spec.Plan) map[spec.Times]Times {
	used := map[spec.Times]Times{}
	for _, c := range p.Groups() {
		for _, dist := range []spec.Times{c.HoldDist, c.ThinkDist} {
			if t, ok := f.loaded[dist]; ok {
				used[dist] = t
			}
		}
	}
	return used
}
