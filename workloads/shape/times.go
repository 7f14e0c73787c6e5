package shape

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// Times draws from a distribution of times.
type Times struct {
	spec.Times
	measured []time.Duration // of a file
}

// OpenTimes makes a distribution ready to draw from, which reads its file. The errors name lines of it, and not what is there: a
// wrong path may name a file whose content is secret.
func OpenTimes(dist spec.Times) (*Times, error) {
	t := &Times{Times: dist}
	if t.Kind != spec.TimesFile {
		return t, nil
	}
	text, err := os.ReadFile(t.File())
	if err != nil {
		return nil, err
	}
	t.Path = fmt.Sprintf("%s#%.6x", t.File(), sha256.Sum256(text))
	if dist.File() != dist.Path && t.Path != dist.Path {
		return nil, fmt.Errorf("the file has changed: now it is %s", t)
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		ms, err := strconv.ParseFloat(string(line), 64)
		if err != nil || !(0 <= ms && ms <= float64(spec.MaxTime.Milliseconds())) {
			return nil, fmt.Errorf("line %d: must be a number of milliseconds such as 12.5, from 0 to 86400000", n)
		}
		t.measured = append(t.measured, time.Duration(math.Round(ms*1e6)))
	}
	if len(t.measured) == 0 {
		return nil, errors.New("there is no time in it: there must be one number a line, in milliseconds")
	}
	return t, nil
}

// Next draws a time.
func (t *Times) Next(rng *rand.PCG) time.Duration {
	switch t.Kind {
	case "":
		return t.A
	case spec.TimesFile:
		return t.measured[below(rng, uint64(len(t.measured)))]
	}
	return t.At(Unit(rng))
}

// Fill reads the files of times: the load then holds their means, and digests by which it refuses a file that has changed.
func Fill(l *spec.Load) error {
	return errors.Join(fill(&l.Hold, &l.HoldDist), fill(&l.Think, &l.ThinkDist))
}

func fill(mean *time.Duration, dist *spec.Times) error {
	t, err := OpenTimes(*dist)
	if err != nil || dist.Kind != spec.TimesFile {
		return err
	}
	sum := 0.0
	for _, d := range t.measured {
		sum += float64(d)
	}
	*mean, *dist = time.Duration(sum/float64(len(t.measured))), t.Times
	return nil
}
