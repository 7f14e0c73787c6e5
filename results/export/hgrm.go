package export

// Percentile distributions as HdrHistogram prints them (.hgrm), which its plotter draws:
// https://hdrhistogram.github.io/HdrHistogram/plotFiles.html

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
)

// What an .hgrm file is written with: five steps to each halving of what is left of the distribution, which is what
// HdrHistogram's own tools take, and values in milliseconds.
const (
	hgrmTicks = 5
	hgrmUnit  = 1e6 // ns
)

// Hgrm writes a file for every cell and each of its latencies that has any values. The trials of a cell are merged. create
// makes a file of what write writes; its name is unique in the call, says what the cell is, and has no separator in it.
// Labels tell the cells apart, one for each.
func Hgrm(cells []*results.Cell, labels []string, create func(name string, write func(io.Writer) error) error) error {
	names := fileNames(cells, labels)
	for i, c := range cells {
		for _, m := range results.Metrics {
			l := c.Latency[m]
			if l.Count == 0 {
				continue
			}
			if err := create(names[i]+string(m)+".hgrm", func(w io.Writer) error { return WriteHgrm(w, l) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteHgrm writes one distribution. It is what PercentilesPrint of hdrhistogram-go writes, with six digits in place of three
// behind the point: in milliseconds those are whole nanoseconds, and an uncontended lock takes few enough to need them.
// The error is the writer's, or that of a payload that does not decode.
func WriteHgrm(w io.Writer, l results.Latency) error {
	packed, err := l.Histogram()
	if err != nil {
		return err
	}
	h := hdrhistogram.New(packed.LowestTrackableValue(), packed.HighestTrackableValue(), int(packed.SignificantFigures()))
	packed.MergeInto(h)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%14s %14s %10s %16s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	for _, at := range h.CumulativeDistributionWithTicks(hgrmTicks) {
		share := at.Quantile / 100
		inverse := "inf" // as in other languages, where Go writes +Inf
		if share < 1 {
			inverse = fmt.Sprintf("%.2f", 1/(1-share))
		}
		fmt.Fprintf(&b, "%14.6f %14.12f %10d %16s\n", float64(at.ValueAt)/hgrmUnit, share, at.Count, inverse)
	}
	fmt.Fprintf(&b, "#[Mean    = %14.6f, StdDeviation   = %14.6f]\n", h.Mean()/hgrmUnit, h.StdDev()/hgrmUnit)
	fmt.Fprintf(&b, "#[Max     = %14.6f, Total count    = %14d]\n", float64(h.Max())/hgrmUnit, h.TotalCount())
	_, err = w.Write(b.Bytes())
	return err
}

// fileNames returns the beginnings of the cells' files: "driver-rueidis.clients-64." What two cells have in common after
// everything that a file system may object to is gone is told apart by a number.
func fileNames(cells []*results.Cell, labels []string) []string {
	names := make([]string, len(cells))
	for i, c := range cells {
		label := ""
		if i < len(labels) {
			label = labels[i]
		}
		if label == "" {
			label = c.First().Plan.Driver + " " + c.First().Plan.Lock
		}
		if c.Partial() != "" {
			label += " partial"
		}
		name := safeName(label)
		for n := 2; slices.Contains(names[:i], name+"."); n++ {
			name = fmt.Sprintf("%s-%d", safeName(label), n)
		}
		names[i] = name + "."
	}
	return names
}

// nameLength leaves room for the metric and the ending in the 255 bytes that file systems allow.
const nameLength = 120

// safeName makes a file name of text that every system takes: letters, digits, dashes and dots.
func safeName(text string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(text) {
		ok := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if r == '.' && !dash && !strings.HasSuffix(b.String(), ".") { // of a number, and not one that leads to another directory
			ok = b.Len() > 0
		}
		switch {
		case b.Len() >= nameLength:
		case ok && dash && b.Len() > 0:
			b.WriteByte('-')
			fallthrough
		case ok:
			b.WriteRune(r)
			dash = false
		default:
			dash = true
		}
	}
	return cmp.Or(strings.TrimRight(b.String(), "."), "cell")
}
