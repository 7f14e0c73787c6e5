//go:build unix && !aix && !solaris

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/observe"
)

// TestIncompleteLog: a log of which something is missing is the error of a run that had no other, and said in any case.
func TestIncompleteLog(t *testing.T) {
	failed := errors.New("the run's own")
	for _, of := range []error{nil, failed} {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		reader := make(chan *os.File)
		go func() {
			f, _ := os.Open(path) // waits for the writer
			reader <- f
		}()
		if err := checkIntervalLog(path); err != nil {
			t.Fatal(err)
		}
		log, err := observe.CreateLog(path, false, "test")
		if err != nil {
			t.Fatal(err)
		}
		(<-reader).Close()
		log.Write(workloads.Interval{Warmup: true, Values: func(results.MetricIndex) (v results.Values) { return v }})
		var stderr strings.Builder
		err = (&live{log: log}).close(&program{stderr: &progress.Writer{W: &stderr}}, of)
		if of == nil && (!errors.Is(err, syscall.EPIPE) || !strings.HasPrefix(err.Error(), "-interval-log: ")) {
			t.Errorf("%v, want a broken pipe", err)
		}
		if of != nil && (err != failed || !strings.Contains(stderr.String(), "broken pipe")) {
			t.Errorf("%v, and said %q", err, stderr.String())
		}
	}
}
