package exec

// The life of a worker's process.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/spawn"
)

const (
	// startTimeout bounds a start, even if the context has no deadline.
	startTimeout = 2 * time.Minute
	// closeTimeout bounds the orderly end of a worker.
	closeTimeout = 10 * time.Second
	// outputTimeout is the time for the rest of the output of a worker that has ended, and for its end once its output
	// has ended.
	outputTimeout = 5 * time.Second
)

// Options are how to start a worker, and what for.
type Options struct {
	// Argv is the program and its arguments; nil is this program, as a worker. Arguments are visible to all users of the
	// machine: they must not have addresses.
	Argv []string

	Driver string
	Config drivers.Config // with neither TLS nor several Clients

	// Event, if set, is called for each event, in order, by one goroutine. It must not block.
	Event func(Event)
}

// Worker is a lock client in another process. Its process is controlled from any goroutine; its Session and its leases
// are used by one at a time.
type Worker struct {
	conn    *conn
	process *spawn.Process
	output  *os.File
	log     *spawn.Tail
	traits  drivers.Traits

	control sync.Mutex
	pause   *Pause // while it is stopped
	closed  bool
}

// Start starts a worker and opens its client. If it fails, no process is left.
func Start(ctx context.Context, o Options) (*Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	w, err := launch(o)
	if err != nil {
		return nil, fmt.Errorf("worker: start: %w", err)
	}
	if w.traits, err = w.conn.open(ctx, o.Driver, o.Config); err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, w.said(err)), w.kill())
	}
	return w, nil
}

func launch(o Options) (w *Worker, err error) {
	argv := o.Argv
	if argv == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv = []string{self, Argument}
	}
	secrets := secretsOf(o)
	w = &Worker{log: &spawn.Tail{Hide: func(text string) string { return hide(text, secrets) }}}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = w.log
	cmd.WaitDelay = outputTimeout // if a process that it has started keeps standard error
	process, in, out, err := spawn.StartPiped(cmd)
	if err != nil {
		return nil, err
	}
	w.process, w.output = process, out
	w.conn = newConn(in, o.Event, w.explain)
	w.conn.crash = func() { _, _ = w.Kill() } // it may have ended
	go func() {
		w.conn.Read(out)
		out.Close()
	}()
	return w, nil
}

// explain explains the end of the output, whose last line could not be read if there is a reason.
func (w *Worker) explain(reason error) error {
	failure := &drivers.Error{Class: drivers.ClassProtocol, Op: "worker", Err: reason}
	if bad, ok := errors.AsType[*lines.Malformed](reason); ok {
		bad.Text = w.log.Hide(bad.Text) // before it is cut
		failure.Err = errors.New(w.log.Hide(bad.Error()))
		return failure
	}
	failure.Class = drivers.ClassClosed
	select {
	case <-w.process.Done():
	case <-time.After(outputTimeout):
		failure.Err = fmt.Errorf("%w: it has closed its output, and goes on", errEnded)
		return failure
	}
	failure.Err = fmt.Errorf("%w: %v", errEnded, w.process.State())
	if errors.Is(reason, lines.ErrHalfLine) {
		failure.Err = fmt.Errorf("%w, in the middle of a line", failure.Err)
	}
	failure.Err = fmt.Errorf("%w%s", failure.Err, w.said(nil))
	return failure
}

// Traits returns what the lock claims.
func (w *Worker) Traits() drivers.Traits { return w.traits }

// Session returns the worker as a lock client: a drivers.Renewer if its lock renews, and a drivers.Crasher, whose
// Crash is Kill.
func (w *Worker) Session() drivers.Session { return w.conn.client(w.traits) }

// PID returns the number of the process.
func (w *Worker) PID() int { return w.process.PID() }

// Death is the evidence of a kill.
type Death struct {
	Sent  time.Time // when the signal was sent
	Gone  time.Time // when the process was gone, and its last line was read
	State string    // "signal: killed"
}

// Kill ends the worker with SIGKILL, stopped or not, and with it what it has started. It returns when the process is
// gone. If the process has ended by itself, that is an error.
func (w *Worker) Kill() (Death, error) {
	w.control.Lock()
	defer w.control.Unlock()
	if w.process.Gone() {
		return Death{}, fmt.Errorf("worker: kill: it has ended before: %v", w.process.State())
	}
	d := Death{Sent: time.Now()}
	if err := w.kill(); err != nil {
		return Death{}, err
	}
	d.Gone, d.State = time.Now(), w.process.State().String()
	if status, ok := w.process.State().Sys().(syscall.WaitStatus); ok && status.Signal() != syscall.SIGKILL {
		return d, fmt.Errorf("worker: kill: it has ended otherwise: %s", d.State)
	}
	return d, nil
}

// kill ends the process, and waits for the end of its output.
func (w *Worker) kill() error {
	if err := w.process.KillGroup(); err != nil {
		return fmt.Errorf("worker: kill: %w", err)
	}
	w.drain()
	return nil
}

// drain reads the rest of the output of a process that is gone.
func (w *Worker) drain() {
	_ = w.conn.Close()
	_ = w.output.SetReadDeadline(time.Now().Add(outputTimeout)) // if a process that it has started keeps the output
	<-w.conn.Done()
	w.pause = nil
}

// Close ends the worker: in good order if it answers, and otherwise with SIGKILL. It may be called more than once, and
// after Kill.
func (w *Worker) Close() error {
	w.control.Lock()
	defer w.control.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.process.Gone() || w.pause != nil {
		return w.kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if _, err := w.conn.ask(ctx, &closeRequest{lines.RequestHeader{Op: "close"}}); err != nil {
		return errors.Join(err, w.kill())
	}
	select {
	case <-w.process.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("worker: close: it does not end: %w", ctx.Err()), w.kill())
	}
	w.drain()
	if !w.process.State().Success() {
		return fmt.Errorf("worker: close: %v%s", w.process.State(), w.said(nil))
	}
	return nil
}

// said returns what an error ends with, unless it has quoted that already: nothing if there is nothing.
func (w *Worker) said(err error) string {
	text := w.log.String()
	if text == "" || errors.Is(err, errEnded) {
		return ""
	}
	return "; it says\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}

// hide hides the passwords that the worker was given.
func hide(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

func secretsOf(o Options) (list []string) {
	defer func() { // one may contain another
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}()
	if o.Config.Password != "" {
		list = append(list, string(o.Config.Password))
	}
	d, err := drivers.Lookup(o.Driver)
	if err != nil {
		return list
	}
	if addressed, ok := d.(drivers.Addressed); ok {
		for _, addr := range o.Config.Addrs {
			if strings.Contains(addr, "@") {
				list = append(list, addr) // which may write its password in another way
			}
			if read, err := addressed.ReadAddr(addr); err == nil && read.Password != "" {
				list = append(list, string(read.Password))
			}
		}
	}
	return list
}
