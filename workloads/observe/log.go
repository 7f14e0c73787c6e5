// The interval log: the latencies of each second, in the format of the HdrHistogram tools.

package observe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// logHead is the beginning of every interval log.
const logHead = "#[Histogram log format version "

// warmupTag is the tag of what was granted in the warm-up.
const warmupTag = "warmup"

// Log is an HdrHistogram interval log of format 1.3 with histograms in the V2 encoding: a line for each second and
// metric. Values are in nanoseconds; the column Interval_Max is in milliseconds, as the tools have it by default. Tags are
// the record's metrics, and if the run has several trials they begin with those: "cell0/trial1/acquire". What was granted
// in the warm-up has the tag "warmup". The lines of a trial and a metric add up to the distribution in its record.
//
// A nil *Log writes nothing.
type Log struct {
	Hide func(text string) string // takes secrets out of commands; may be nil

	file    io.WriteCloser
	w       *bufio.Writer
	lines   *hdrhistogram.HistogramLogWriter
	base    time.Time // times in the log are since then
	several bool      // the run has several trials
	began   time.Time // when the load of the present trial began
	prefix  string    // of its tags
	err     error     // the first of any write
}

// ErrNoLog is what CheckLog returns of other files.
var ErrNoLog = errors.New("is there already and no interval log, so it is not overwritten")

// CheckLog makes sure that what is at path already, if anything, is an older log or not a regular file. It changes nothing.
func CheckLog(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) != 0 {
		return nil // to open it and close it again would end it for its reader
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	head := make([]byte, len(logHead))
	if _, err := io.ReadFull(f, head); err != nil || string(head) != logHead {
		return ErrNoLog
	}
	return nil
}

// CreateLog creates the log of a run, of several trials or of one, by that version of lockbench. It replaces an older log.
func CreateLog(path string, several bool, version string) (*Log, error) {
	// Not os.Create, which opens for reading too: a program with both ends of a pipe waits for ever when the reader is gone.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	l := newLog(f, several, version, time.Now())
	if l.err != nil {
		return nil, l.Close()
	}
	return l, nil
}

// newLog writes the head of a log. The library writes times in whole seconds, so these lines are our own.
func newLog(f io.WriteCloser, several bool, version string, now time.Time) *Log {
	l := &Log{file: f, w: bufio.NewWriter(f), base: now.Truncate(time.Millisecond), several: several}
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

func (l *Log) comment(format string, args ...any) {
	l.keep(l.lines.OutputComment(fmt.Sprintf(format, args...)))
}

func (l *Log) keep(err error) {
	if l.err == nil && err != nil {
		l.err = err
	}
}

// Begin announces a trial, whose intervals follow.
func (l *Log) Begin(v workloads.View, t Trial) {
	if l == nil {
		return
	}
	command := strings.Join(strings.Fields(v.Plan().Command), " ")
	if l.Hide != nil {
		command = l.Hide(command)
	}
	l.comment("[cell %d trial %d: %s]", t.Cell, t.Trial+1, command)
	l.began, l.prefix = v.Began(), ""
	if l.several {
		l.prefix = fmt.Sprintf("cell%d/trial%d/", t.Cell, t.Trial+1)
	}
}

// Write writes the lines of an interval. In the measured window it writes one of the acquisitions even if there were none, so
// that such a second can be seen.
func (l *Log) Write(i workloads.Interval) {
	line := func(m results.MetricIndex, tag string, always bool) {
		v := i.Values(m)
		if v.Count() == 0 && !always {
			return
		}
		h := v.Histogram().Clone()
		h.SetTag(l.prefix + tag)
		h.SetStartTimeMs(l.began.Add(i.From).UnixMilli())
		h.SetEndTimeMs(l.began.Add(i.To).UnixMilli())
		l.keep(l.lines.OutputIntervalPackedHistogram(h))
	}
	line(results.WarmupIndex, warmupTag, i.Warmup)
	for m, name := range results.Metrics {
		line(results.MetricIndex(m), string(name), name == results.Acquire && !i.Warmup)
	}
	l.keep(l.w.Flush())
}

// Close ends the log, and returns the first error of any write.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.keep(l.w.Flush())
	l.keep(l.file.Close())
	return l.err
}
