// Files of times: what -hold and -think replay.

package cli

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/shape"
)

// replays are the files of times that were read, each once.
type replays struct {
	written map[spec.Times]shape.Times // by what was written
	loaded  map[spec.Times]shape.Times // by what plans hold
}

// fill reads the files that a load replays. The load then holds their digests, so that the cell's command line refuses a file
// that has changed.
func (f *replays) fill(l *spec.Load) error {
	if err := f.fillTimes(&l.Hold, &l.HoldDist); err != nil {
		return err
	}
	return f.fillTimes(&l.Think, &l.ThinkDist)
}

func (f *replays) fillTimes(mean *time.Duration, dist *spec.Times) error {
	if dist.Kind != spec.TimesFile {
		return nil
	}
	t, known := f.loaded[*dist]
	if !known {
		t, known = f.written[*dist]
	}
	if !known {
		var err error
		if t, err = f.load(*dist); err != nil {
			return err
		}
		f.written[*dist], f.loaded[t.Times] = t, t
	}
	*mean, *dist = t.Mean(), t.Times
	return nil
}

func (f *replays) load(t spec.Times) (shape.Times, error) {
	if f.written == nil {
		f.written, f.loaded = map[spec.Times]shape.Times{}, map[spec.Times]shape.Times{}
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
