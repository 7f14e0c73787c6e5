// Package bench is what the scripts beside it have in common: they run lockbench, read its record, and say a line. A script is
// lockbench itself, with the locks that the script has linked in, in the processes that Command starts.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli"
	"github.com/lockbench/lockbench/results"
)

// itself is the variable that makes a script lockbench.
const itself = "SCRIPT_IS_LOCKBENCH"

// stopTime is how long lockbench may take to stop its servers once it is interrupted.
const stopTime = 30 * time.Second

// Main runs a script until it ends or is interrupted, and prints its error. In a process of Command it is lockbench, and does not
// return. It is the whole main function of a script.
func Main(name string, script func(context.Context) error) {
	Itself()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := script(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Itself is lockbench, and does not return, in a process of Command. The TestMain of a script calls it.
func Itself() {
	if os.Getenv(itself) != "" {
		cli.Main()
	}
}

// Command returns a process of lockbench with these arguments and -quiet. It is interrupted when ctx ends, so that it stops its
// servers.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	c := exec.CommandContext(ctx, program, append(args, "-quiet")...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = stopTime
	c.Env = append(os.Environ(), itself+"=1")
	return c
}

// run runs a process of Command and returns what it has printed. A verdict is an answer, and the error of a run that failed has
// what it complained of.
func run(c *exec.Cmd) ([]byte, error) {
	out, err := c.Output()
	if err = failure(err); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("lockbench %s: %w", strings.Join(c.Args[1:], " "), err)
	}
	return out, nil
}

// failure returns the error of a process of Command, but nil if it is the exit code of a verdict.
func failure(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 3 && exit.ExitCode() <= 5 {
		return nil
	}
	return err
}

// Measure runs a process of Command that measures, and returns its records.
func Measure(c *exec.Cmd) ([]*results.Record, error) {
	dir, err := os.MkdirTemp("", "script-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "run.jsonl")
	c.Args = append(c.Args, "-o", file)
	if _, err := run(c); err != nil {
		return nil, err
	}
	return Records(file)
}

// Records reads a recorded file, which must not be damaged.
func Records(file string) ([]*results.Record, error) {
	return Read(file, func(in io.Reader) (recs []*results.Record, err error) {
		report, err := results.Read(in, func(r *results.Record) error { recs = append(recs, r); return nil })
		if err == nil && report.Damaged > 0 {
			err = errors.New(report.Damage[0].String())
		}
		return recs, err
	})
}

// Read reads a file of any kind, which may be compressed: front-door.jsonl is kept as front-door.jsonl.gz.
func Read[T any](file string, read func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		f, err = os.Open(file + ".gz")
	}
	if err != nil {
		return v, err
	}
	defer f.Close()
	return read(results.Inflate(f))
}
