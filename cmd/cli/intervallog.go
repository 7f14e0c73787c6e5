// -interval-log: what each second has brought, as the HdrHistogram tools of every language read it.

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// logHead is how an interval log begins.
const logHead = "#[Histogram log format version "

// warmupTag is the tag of what was granted in the warm-up.
const warmupTag = "warmup"

// intervalLog is an HdrHistogram interval log of format 1.3 with histograms in the V2 encoding: a line for each second and
// metric. Values are in nanoseconds; the column Interval_Max is in milliseconds, as the tools have it by default. Tags are
// the record's metrics, and if the run has several trials they begin with those: "cell0/trial1/acquire". What was granted
// in the warm-up has the tag "warmup". The lines of a trial and a metric add up to the distribution in its record.
//
// A nil *intervalLog writes nothing.
type intervalLog struct {
	file    io.WriteCloser
	w       *bufio.Writer
	lines   *hdrhistogram.HistogramLogWriter
	base    time.Time // times in the log are since then
	several bool      // the run has several trials
	began   time.Time // when the load of the present trial began
	prefix  string    // of its tags
	err     error     // the first that a write has met
}

// checkIntervalLog makes sure, before the load, that a log can be written to path, and that what is there already is an
// older log if anything: that one will be replaced. It leaves nothing behind.
func checkIntervalLog(path string) error {
	if path == "" {
		return nil
	}
	if path == "-" {
		return usageErrorf("-interval-log -: the log goes into a file")
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0 {
		return nil // to open it and close it again would end it for its reader
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return checkCreate("-interval-log", path)
	}
	if err != nil {
		return fmt.Errorf("-interval-log: %w", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return fmt.Errorf("-interval-log: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	head := make([]byte, len(logHead))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte(logHead)) {
		return usageErrorf("-interval-log %s: is there already and no interval log, so it is not overwritten", path)
	}
	return nil
}

// openIntervalLog begins a log, in place of an older one.
func openIntervalLog(path string, several bool, version string) (*intervalLog, error) {
	if path == "" {
		return nil, nil
	}
	// Not os.Create, which opens for reading too: whoever holds both ends of a pipe waits for ever when its reader is gone.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, fmt.Errorf("-interval-log: %w", err)
	}
	l := newIntervalLog(f, several, version, time.Now())
	if l.err != nil {
		return nil, l.close()
	}
	return l, nil
}

// newIntervalLog writes the head of a log. The library writes times in whole seconds, so these lines are our own.
func newIntervalLog(f io.WriteCloser, several bool, version string, now time.Time) *intervalLog {
	l := &intervalLog{file: f, w: bufio.NewWriter(f), base: now.Truncate(time.Millisecond), several: several}
	l.lines = hdrhistogram.NewHistogramLogWriter(l.w)
	l.lines.SetBaseTime(l.base.UnixMilli())
	seconds := fmt.Sprintf("%.3f (seconds since epoch)", float64(l.base.UnixMilli())/1e3)
	l.keep(l.lines.OutputLogFormatVersion())
	l.comment("[lockbench %s: values in ns, Interval_Max in ms]", version)
	l.comment("[StartTime: %s, %s]", seconds, l.base.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	l.comment("[BaseTime: %s]", seconds)
	l.keep(l.lines.OutputLegend())
	l.keep(l.w.Flush())
	return l
}

func (l *intervalLog) comment(format string, args ...any) {
	l.keep(l.lines.OutputComment(fmt.Sprintf(format, args...)))
}

func (l *intervalLog) keep(err error) {
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("-interval-log: %w", err)
	}
}

// watch announces a trial, whose intervals follow.
func (l *intervalLog) watch(v workloads.View, t turn) {
	l.comment("[cell %d trial %d: %s]", t.cell, t.trial+1, oneLine(v.Plan().Command))
	l.began, l.prefix = v.Began(), ""
	if l.several {
		l.prefix = fmt.Sprintf("cell%d/trial%d/", t.cell, t.trial+1)
	}
}

// write writes the lines of an interval. In the measured window there is one of the acquisitions in any case, so that a
// second without any is there to be seen.
func (l *intervalLog) write(i workloads.Interval) {
	line := func(m results.MetricIndex, tag string, always bool) {
		v := i.Values(m)
		if v.Count() == 0 && !always {
			return
		}
		h := v.Histogram()
		h.SetTag(l.prefix + tag)
		h.SetStartTimeMs(l.began.Add(i.From).UnixMilli())
		h.SetEndTimeMs(l.began.Add(i.To).UnixMilli())
		l.keep(l.lines.OutputIntervalHistogram(h))
	}
	line(results.WarmupIndex, warmupTag, i.Warmup)
	for m, name := range results.Metrics {
		line(results.MetricIndex(m), string(name), name == results.Acquire && !i.Warmup)
	}
	l.keep(l.w.Flush())
}

// close ends the log. The error is the first that a write has met.
func (l *intervalLog) close() error {
	if l == nil {
		return nil
	}
	l.keep(l.w.Flush())
	l.keep(l.file.Close())
	return l.err
}
