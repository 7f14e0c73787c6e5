package export

// Percentile distributions as HdrHistogram prints them (.hgrm), which its plotter draws:
// https://hdrhistogram.github.io/HdrHistogram/plotFiles.html

import (
	"bytes"
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

// WriteHgrm writes one distribution, in milliseconds with six digits behind the point, which are whole nanoseconds.
// The error is the writer's, or that of a payload that does not decode.
func WriteHgrm(w io.Writer, l results.Latency) error {
	packed, err := l.Histogram()
	if err != nil {
		return err
	}
	h := hdrhistogram.New(packed.LowestTrackableValue(), packed.HighestTrackableValue(), int(packed.SignificantFigures()))
	packed.MergeInto(h)
	b := bytes.NewBufferString("         Value     Percentile TotalCount 1/(1-Percentile)\n\n")
	for _, at := range h.CumulativeDistributionWithTicks(5) { // 5 for each half distance to 100 %
		share, inverse := at.Quantile/100, "inf"
		if share < 1 {
			inverse = fmt.Sprintf("%.2f", 1/(1-share))
		}
		fmt.Fprintf(b, "%14.6f %14.12f %10d %16s\n", float64(at.ValueAt)/1e6, share, at.Count, inverse)
	}
	fmt.Fprintf(b, "#[Mean    = %14.6f, StdDeviation   = %14.6f]\n", h.Mean()/1e6, h.StdDev()/1e6)
	fmt.Fprintf(b, "#[Max     = %14.6f, Total count    = %14d]\n", float64(h.Max())/1e6, h.TotalCount())
	_, err = w.Write(b.Bytes())
	return err
}
