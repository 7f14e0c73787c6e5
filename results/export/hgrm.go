package export

// Percentile distributions as HdrHistogram prints them (.hgrm), which its plotter draws:
// https://hdrhistogram.github.io/HdrHistogram/plotFiles.html

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
)

var unnamable = regexp.MustCompile(`[^a-z0-9]+`)

// Hgrm writes a file for every cell and each of its latencies that has any values. create makes a file of what write
// writes; its name has the cell's number and its label, in letters that every file system takes.
func Hgrm(cells []*results.Cell, labels []string, create func(name string, write func(io.Writer) error) error) error {
	for i, c := range cells {
		name := strings.ToLower(cmp.Or(labels[i], c.First().Plan.Driver))
		name = strings.Trim(fmt.Sprintf("%d-%.100s", i+1, unnamable.ReplaceAllString(name, "-")), "-")
		for _, m := range results.Metrics {
			if l := c.Latency[m]; l.Count > 0 {
				if err := create(name+"."+string(m)+".hgrm", func(w io.Writer) error { return WriteHgrm(w, l) }); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// WriteHgrm writes one distribution in microseconds, as the library prints it: with three digits behind the point,
// which are whole nanoseconds. The error is the writer's, or that of a payload that does not decode.
func WriteHgrm(w io.Writer, l results.Latency) error {
	packed, err := l.Histogram()
	if err != nil {
		return err
	}
	h := hdrhistogram.New(packed.LowestTrackableValue(), packed.HighestTrackableValue(), int(packed.SignificantFigures()))
	packed.MergeInto(h)
	_, err = h.PercentilesPrint(w, 5, 1e3) // 5 for each half distance to 100 %
	return err
}
