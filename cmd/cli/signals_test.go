package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
)

// signalled runs lockbench, and calls interrupt once the trial is under way, with a function that sends a signal.
func signalled(t *testing.T, args []string, interrupt func(signal func())) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs lockedBuffer // a run that is given up may go on writing
	signals := make(chan os.Signal)
	done := make(chan int, 1)
	go func() {
		done <- run(args, strings.NewReader(""), &out, &errs, environment(), signals)
	}()
	interrupt(func() {
		select {
		case signals <- os.Interrupt:
		case code := <-done:
			t.Errorf("lockbench has ended before the signal, with exit code %d", code)
			done <- code
		}
	})
	code = <-done
	return code, out.String(), errs.String()
}

// TestSecondSignal interrupts a run whose drain never ends: the first signal has to wait for it, the second not.
func TestSecondSignal(t *testing.T) {
	g := newGate()
	code, _, stderr := signalled(t, []string{"-driver", "test-gate", "-clients", "1", "-duration", "1h", "-quiet"}, func(signal func()) {
		<-g.entered
		signal()
		signal()
	})
	close(g.leave) // or the abandoned run outlives the test
	if code != exitInterrupted || !strings.Contains(stderr, "lockbench: interrupt: draining; once more to stop at once\n") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// TestSecondSignalTellsWhatIsLeft stops a run at once whose server no longer answers, so that nothing could be deleted.
func TestSecondSignalTellsWhatIsLeft(t *testing.T) {
	proxy, err := fault.NewProxy(strings.TrimPrefix(servertest.Embedded(t), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	ended := &watcher{text: regexp.MustCompile(`(?s)stopped by.*stopped by`), found: make(chan struct{})} // the run that is given up as well
	stderr := &watcher{text: regexp.MustCompile("measure"), found: make(chan struct{})}
	signals, done := make(chan os.Signal), make(chan int)
	go func() {
		done <- run([]string{"-addr", proxy.Addr(), "-clients", "1", "-hold", "1ms", "-duration", "1h", "-warmup", "0s", "-io-timeout", "1h"},
			strings.NewReader(""), new(lockedBuffer), io.MultiWriter(stderr, ended), environment(), signals)
	}()
	<-stderr.found
	restore := proxy.Mute()
	signals <- os.Interrupt
	signals <- os.Interrupt
	code, text := <-done, stderr.String()
	restore()
	<-ended.found
	want := regexp.MustCompile(`lockbench: names that begin with (lockbench:[A-Z2-7]{16}:) may be left on redis://` + regexp.QuoteMeta(proxy.Addr()) +
		` \(stopped at once\)\n`)
	if code != exitInterrupted || !want.MatchString(text) {
		t.Errorf("exit code %d, stderr %q", code, text)
	}
}

// TestFirstSignal interrupts a run that can drain: it writes and renders what it has.
func TestFirstSignal(t *testing.T) {
	g := newGate()
	file := filepath.Join(t.TempDir(), "runs.jsonl")
	code, stdout, stderr := signalled(t, []string{"-driver", "test-gate", "-clients", "2", "-duration", "1h", "-warmup", "0s",
		"-trials", "3", "-quiet", "-o", file}, func(signal func()) {
		<-g.entered
		signal()
		close(g.leave)
	})
	if _, err := os.Stat(file); err != nil || code != exitInterrupted || !strings.Contains(stderr, "stopped by interrupt") {
		t.Errorf("exit code %d, stderr %q, %v", code, stderr, err)
	}
	if t.Failed() {
		return
	}
	recs := readFile(t, file)
	if len(recs) != 1 || recs[0].Partial == "" || !strings.Contains(stdout, "test-gate · fake") {
		t.Errorf("%d records, table:\n%s", len(recs), stdout)
	}
}

// TestSignalBeforeWork ends a command that has nothing to drain at once.
func TestSignalBeforeWork(t *testing.T) {
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	code := run([]string{"report", "-"}, in, &bytes.Buffer{}, new(lockedBuffer), environment(), signals)
	if code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	w.Close()
	in.Close()
}

func readFile(t *testing.T, path string) (recs []*results.Record) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := results.Read(f, func(r *results.Record) error { recs = append(recs, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return recs
}

// lockedBuffer is a buffer that an abandoned run may still write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
