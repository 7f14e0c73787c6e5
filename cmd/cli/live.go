// Who else watches a trial under way: scrapers of metrics, and readers of the interval log.

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lockbench/lockbench/workloads"
)

// live shows the trials of a run to others. A nil metrics or log is none.
type live struct {
	metrics *metricsServer
	log     *intervalLog
}

// checkLive checks what can be checked before anything is opened. It leaves nothing behind.
func checkLive(o *options) error {
	if text := o.text("metrics-addr"); text != "" {
		if _, err := readMetricsAddr(text); err != nil {
			return err
		}
	}
	log, output := o.text("interval-log"), o.text("output")
	if sameFile(log, output) {
		return usageErrorf("-interval-log %s: the records of -output go into that file", log)
	}
	return checkIntervalLog(log)
}

// sameFile tells whether two paths lead to one regular file, which may have to be made yet.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	if err1 == nil && err2 == nil {
		return os.SameFile(first, second) && first.Mode().IsRegular()
	}
	a, err1 = filepath.Abs(a)
	b, err2 = filepath.Abs(b)
	return err1 == nil && err2 == nil && a == b
}

// openLive listens and opens the log, for trials of p by that version of lockbench.
func openLive(ctx context.Context, o *options, p plan, version string) (*live, error) {
	metrics, err := serveMetrics(ctx, o.text("metrics-addr"), version)
	if err != nil {
		return nil, err
	}
	log, err := openIntervalLog(o.text("interval-log"), len(p.order) > 1, version)
	if err != nil {
		metrics.close()
		return nil, err
	}
	return &live{metrics, log}, nil
}

// announce says where the metrics are.
func (l *live) announce(w io.Writer) {
	if l.metrics != nil {
		fmt.Fprintf(w, "lockbench: metrics at %s\n", l.metrics.url())
	}
}

// follow lets others see a trial that is about to run.
func (l *live) follow(run *workloads.Run, t turn) {
	run.Watch = func(v workloads.View) {
		if l.metrics != nil {
			l.metrics.watch(v, t)
		}
		if l.log != nil {
			l.log.watch(v, t)
		}
	}
	if l.log != nil {
		run.Interval = l.log.write
	}
}

// end tells that the trial is over.
func (l *live) end() { l.metrics.end() }

// close ends it all. A log of which something is missing is the error of a run that had no other.
func (l *live) close(w io.Writer, err error) error {
	l.metrics.close()
	missing := l.log.close()
	if err != nil && missing != nil {
		fmt.Fprintf(w, "lockbench: %s\n", oneLine(missing.Error()))
		return err
	}
	return cmp.Or(err, missing)
}
