package export

// Percentile distributions as HdrHistogram prints them (.hgrm), which its plotter draws:
// https://hdrhistogram.github.io/HdrHistogram/plotFiles.html

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/lockbench/lockbench/results"
)

// What an .hgrm file is written with: five steps to each halving of what is left of the distribution, which is what
// HdrHistogram's own tools take, and values in milliseconds.
const (
	hgrmTicks = 5
	hgrmUnit  = 1e6 // ns
)

// Hgrm writes a file for every cell and each of its latencies that has any values. The trials of a cell are merged. create
// opens the file of that name, which is unique in the call, says what the cell is, and has no separator in it; labels tell
// the cells apart, one for each.
func Hgrm(create func(name string) (io.WriteCloser, error), cells []*results.Cell, labels []string) error {
	names := fileNames(cells, labels)
	for i, c := range cells {
		for _, m := range results.Metrics {
			l := c.Latency[m]
			if l.Count == 0 {
				continue
			}
			name := names[i] + string(m) + ".hgrm"
			f, err := create(name)
			if err != nil {
				return err
			}
			err = WriteHgrm(f, l)
			if closed := f.Close(); err == nil {
				err = closed
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// WriteHgrm writes one distribution. Its error is the writer's, or that of a payload that does not decode.
func WriteHgrm(w io.Writer, l results.Latency) error {
	h, err := l.Histogram()
	if err != nil {
		return err
	}
	_, err = h.PercentilesPrint(w, hgrmTicks, hgrmUnit)
	return err
}

// fileNames are the beginnings of the cells' files: "driver-rueidis.clients-64." What two cells have in common after
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
		if c.Partial() != "" && !strings.Contains(label, "partial") {
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
		ok := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' && b.Len() > 0)
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
	if b.Len() == 0 {
		return "cell"
	}
	return path.Clean(b.String())
}
