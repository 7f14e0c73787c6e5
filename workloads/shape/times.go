// Drawing times, from distributions or from a file of what was measured in production.

package shape

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	mu, sigma float64         // log-normal
	measured  []time.Duration // file
}

// OpenTimes makes a distribution ready to draw from, which reads its file. The caller puts the path before the error.
func OpenTimes(t spec.Times) (*Times, error) {
	source := &Times{Times: t}
	switch t.Kind {
	case spec.TimesLognormal:
		source.mu, source.sigma = t.Normal()
	case spec.TimesFile:
		if err := source.read(); err != nil {
			return nil, err
		}
	}
	return source, nil
}

// Next draws a time. Random ones are made by inverting the distribution function.
func (t *Times) Next(rng *rand.PCG) time.Duration {
	switch t.Kind {
	case spec.TimesUniform:
		return t.A + time.Duration(below(rng, uint64(t.B-t.A)+1))
	case spec.TimesExp:
		return cut(-float64(t.A) * math.Log(unit(rng)))
	case spec.TimesLognormal:
		return cut(math.Exp(t.mu + t.sigma*math.Sqrt2*math.Erfinv(2*unit(rng)-1)))
	case spec.TimesFile:
		return t.measured[below(rng, uint64(len(t.measured)))]
	}
	return t.A
}

// cut rounds nanoseconds to whole ones, spec.MaxTime at the most.
func cut(ns float64) time.Duration { return time.Duration(min(ns, float64(spec.MaxTime)) + 0.5) }

// Fill reads the files that a load draws from: it then holds their means, and their digests, so that a plan refuses a file that
// has changed. The caller puts the path before the error.
func Fill(l *spec.Load) error {
	if err := fill(&l.Hold, &l.HoldDist); err != nil {
		return err
	}
	return fill(&l.Think, &l.ThinkDist)
}

func fill(mean *time.Duration, dist *spec.Times) error {
	if dist.Kind != spec.TimesFile {
		return nil
	}
	t, err := OpenTimes(*dist)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, d := range t.measured {
		sum += float64(d)
	}
	*mean, *dist = time.Duration(sum/float64(len(t.measured))), t.Times
	return nil
}

func (t *Times) read() error {
	file, err := os.Open(t.Path)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return fault.Err
	}
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	if t.measured, err = ReadTimes(io.TeeReader(file, hash)); err != nil {
		return err
	}
	digest := hex.EncodeToString(hash.Sum(nil))[:12]
	if t.Digest != "" && t.Digest != digest {
		return fmt.Errorf("its SHA-256 begins with %s, and #%s is wanted: this is not the content that was meant", digest, t.Digest)
	}
	t.Digest = digest
	return nil
}

// maxMeasured is how many times a file may have.
const maxMeasured = 10_000_000

// ReadTimes reads milliseconds, one number a line; empty lines and lines that begin with # are left out. The error names the line,
// and not what is there: a wrong path may name a file whose content is secret.
func ReadTimes(r io.Reader) (times []time.Duration, err error) {
	n, lines := 0, bufio.NewScanner(r)
	for lines.Scan() {
		n++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		ms, err := strconv.ParseFloat(string(text), 64)
		if err != nil || !(0 <= ms && ms <= float64(spec.MaxTime.Milliseconds())) || len(times) == maxMeasured {
			return nil, fmt.Errorf("line %d: must be a number of milliseconds such as 12.5, from 0 to 86400000, and one of 10 million at most", n)
		}
		times = append(times, time.Duration(math.Round(ms*1e6)))
	}
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("line %d: %w", n+1, lines.Err())
	case len(times) == 0:
		return nil, errors.New("there is no time in it: there must be one number a line, in milliseconds")
	}
	return times, nil
}
