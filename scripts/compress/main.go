// Command compress makes recorded files small enough to keep: FILE.jsonl becomes FILE.jsonl.gz, which lockbench report reads as
// it is.
//
// Most of a record is histograms, which are deflated already: gzip alone takes 15 MB to 9. So a histogram keeps its three
// significant digits only where a figure is read from it, and two elsewhere. Its quantiles that a record states (the least,
// p50, p90, p99, p99.9 and the most), of each trial and of the trials of a cell together, are what they were; any other is off by
// 0.8 % at most. All else in a record stays as it is, to the byte.
//
//	go run ./scripts/compress services.jsonl waits.jsonl
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := compress(file); err != nil {
			fmt.Fprintf(os.Stderr, "compress: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// compress puts a compressed file in the place of a file of records.
func compress(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if text, err = thinned(text); err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(file+".gz", b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Remove(file)
}

// thinned returns the records of a file with thin histograms.
func thinned(text []byte) ([]byte, error) {
	var recs []*results.Record
	lines := bytes.SplitAfter(text, []byte("\n"))
	for _, line := range lines {
		if len(line) == 0 {
			break
		}
		var r results.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		recs = append(recs, &r)
	}
	cells, err := results.Group(recs)
	if err != nil {
		return nil, err
	}
	cellOf := map[string]*results.Cell{}
	for _, c := range cells {
		for _, r := range c.Trials {
			cellOf[r.ID] = c
		}
	}
	for i, r := range recs {
		c := cellOf[r.ID]
		if err := thinAll(&lines[i], r.Latency, c.Latency); err != nil {
			return nil, err
		}
		for j := range r.Classes {
			if err := thinAll(&lines[i], r.Classes[j].Latency, c.Classes[j].Latency); err != nil {
				return nil, err
			}
		}
	}
	return bytes.Join(lines, nil), nil
}

// thinAll puts thin histograms of a trial into the line of its record. In cell are the distributions of all its trials.
func thinAll(line *[]byte, trial, cell map[results.Metric]results.Latency) error {
	for m, l := range trial {
		thin, err := thin(l, cell[m])
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if len(thin) < len(l.HDR) {
			*line = bytes.Replace(*line, []byte(l.HDR), thin, 1)
		}
	}
	return nil
}

// thin returns the histogram of l with two digits, but for those values that l or cell states: all that is counted within a step
// of two digits becomes the slot nearest to its mean.
func thin(l, cell results.Latency) ([]byte, error) {
	h, err := l.Histogram()
	if err != nil {
		return nil, err
	}
	stated := map[int64]bool{}
	for _, of := range []results.Latency{l, cell} {
		for _, v := range []time.Duration{of.Min, of.P50, of.P90, of.P99, of.P999, of.Max} {
			stated[step(int64(v))] = true
		}
	}
	out := hdrhistogram.NewPacked(h.LowestTrackableValue(), h.HighestTrackableValue(), int(h.SignificantFigures()))
	var begin, count, sum int64 // of the current step, and of what its values have beyond its begin
	flush := func() {
		if count > 0 && err == nil {
			err = out.RecordValues(begin+sum/count+slot(begin)/2, count)
		}
		count, sum = 0, 0
	}
	h.ForEachBucket(func(value, n int64) bool { // the least value of a slot
		if at := step(value); at != begin || stated[at] {
			flush()
			begin = at
		}
		count, sum = count+n, sum+n*(value-begin)
		return err == nil
	})
	if flush(); err != nil {
		return nil, err
	}
	return out.Encode()
}

// step returns the least value that a histogram of two digits counts together with v: it has unit resolution up to 2 × 10²
// values, or the power of two above.
func step(v int64) int64 {
	width := max(0, bits.Len64(uint64(v))-8)
	return v >> width << width
}

// slot returns how many values a slot of three digits has from v on.
func slot(v int64) int64 { return 1 << max(0, bits.Len64(uint64(v))-11) }
