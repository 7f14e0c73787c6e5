package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/results"
)

// signalled runs lockbench, and calls interrupt once the trial is under way, with a function that sends a signal.
func signalled(t *testing.T, args []string, interrupt func(signal func())) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	signals := make(chan os.Signal)
	done := make(chan int)
	go func() {
		done <- run(args, strings.NewReader(""), &out, &lockedBuffer{b: &errs}, environment(), signals)
	}()
	interrupt(func() { signals <- os.Interrupt })
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
	if len(recs) != 1 || recs[0].Partial == "" || !strings.Contains(stdout, "test-gate fake") {
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
	code := run([]string{"report", "-"}, in, &bytes.Buffer{}, &lockedBuffer{b: new(bytes.Buffer)}, environment(), signals)
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
	b  *bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
