package exec

// The life of a worker's process.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/spawn"
)

const (
	// startTimeout bounds the start of a worker, even if the context has no deadline.
	startTimeout = 2 * time.Minute
	// answerTimeout bounds the answers of an adapter that have no other limit.
	answerTimeout = 9 * time.Second
	// launchTimeout bounds the start of an adapter that is known to start: a JVM takes half a second, and many at once on a busy machine some more.
	launchTimeout = 30 * time.Second
	// silenceTimeout is for how long an adapter may answer nothing, however many ask.
	silenceTimeout = 8 * time.Second
	// closeTimeout bounds the orderly end of a process.
	closeTimeout = 5 * time.Second
	// outputTimeout is the time for the rest of the output of a process that has ended, and for its end once its output
	// has ended.
	outputTimeout = 3 * time.Second
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
	child
	traits  drivers.Traits
	session drivers.Session

	control sync.Mutex
	pause   *Pause // while it is stopped
}

// child is a process that speaks the protocol.
type child struct {
	conn    *conn
	process *spawn.Process
	output  *os.File
	log     *spawn.Tail
	closing sync.Mutex
	closed  bool
}

// Start starts a worker and opens its client. If it fails, no process is left.
func Start(ctx context.Context, o Options) (*Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	argv := o.Argv
	if argv == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv = []string{self, Argument}
	}
	event := o.Event
	if event == nil {
		event = func(Event) {}
	}
	o.Config.Clients = 1
	w := &Worker{}
	if err := w.launch(launching{who: "worker", argv: argv, secrets: secretsOf(o.Driver, o.Config), event: event}); err != nil {
		return nil, fmt.Errorf("worker: start: %w", err)
	}
	_, err := w.hello(ctx)
	var can claims
	if err == nil {
		can, err = w.conn.open(ctx, o.Driver, o.Config)
	}
	if err == nil {
		w.traits, can.Crashes = can.Traits, false // Kill is the crash of all that it has
		w.session, err = w.conn.session(ctx, can)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w%s", err, w.said(err)), w.kill())
	}
	return w, nil
}

// launching is what is started.
type launching struct {
	who     string // begins errors
	argv    []string
	secrets []string
	event   func(Event)   // nil: there are none
	limit   time.Duration // of most answers; 0: none
	tell    bool          // on our standard error what it says on its own
}

func (c *child) launch(l launching) error {
	c.log = &spawn.Tail{Hide: func(text string) string {
		for _, secret := range l.secrets {
			text = strings.ReplaceAll(text, secret, "***")
		}
		return told.Load().hide(text)
	}}
	cmd := exec.Command(l.argv[0], l.argv[1:]...)
	cmd.Env = environ()
	cmd.Stderr = c.log
	if l.tell {
		cmd.Stderr = &teller{Tail: c.log, who: l.who}
	}
	cmd.WaitDelay = outputTimeout // if a process that it has started keeps standard error
	process, in, out, err := spawn.StartPiped(cmd)
	if err != nil {
		return err
	}
	c.process, c.output = process, out
	c.conn = newConn(l.who, l.limit, in, l.event, c.explain)
	go func() {
		c.conn.Read(out)
		out.Close()
	}()
	return nil
}

// TellTo sets where the first lines go that adapters say on their standard error, each in one write, and what hides secrets
// that they were not given by this package. Without it the lines go to this process's standard error.
func TellTo(w io.Writer, hide func(text string) string) { told.Store(&tellTo{w, hide}) }

type tellTo struct {
	io.Writer
	hide func(string) string
}

var told atomic.Pointer[tellTo]

func init() { TellTo(os.Stderr, func(text string) string { return text }) }

// teller passes on the first lines of what a process says on its standard error, with its name.
type teller struct {
	*spawn.Tail
	who  string
	line []byte
	told int
}

// maxTold lines are passed on, and maxToldLine bytes of each. Of maxLine it hides secrets first, since a cut may divide one.
const maxTold, maxToldLine, maxLine = 20, 200, 4 << 10

func (t *teller) Write(p []byte) (int, error) {
	for _, b := range p {
		if b != '\n' && len(t.line) < maxLine {
			t.line = append(t.line, b)
		}
		if b == '\n' && t.told < maxTold {
			t.tell()
		}
	}
	return t.Tail.Write(p)
}

func (t *teller) tell() {
	text := t.Hide(strings.TrimRight(string(t.line), "\r"))
	fmt.Fprintf(told.Load(), "%s says: %s\n", t.who, text[:min(len(text), maxToldLine)])
	t.told, t.line = t.told+1, t.line[:0]
}

// hello asks a process who it is.
func (c *child) hello(ctx context.Context) (*hello, error) {
	answer, err := c.conn.ask(ctx, &helloRequest{lines.RequestHeader{Op: "hello", Slow: true}, []int{Version}})
	switch {
	case err != nil:
		return nil, err
	case answer.Hello == nil:
		return nil, c.conn.missing("hello", "hello")
	case answer.Hello.Version != Version:
		return nil, fmt.Errorf("%s: hello: it speaks version %d of the protocol, and this lockbench %d", c.conn.Who(), answer.Hello.Version, Version)
	}
	return answer.Hello, nil
}

// explain explains the end of the output, whose last line could not be read if there is a reason.
func (w *child) explain(reason error) error {
	failure := &drivers.Error{Class: drivers.ClassProtocol, Op: w.conn.Who(), Err: reason}
	if bad, ok := errors.AsType[*lines.Malformed](reason); ok {
		_ = w.process.KillGroup()       // whose complaints that nobody reads its answers would hide the cause
		bad.Text = w.log.Hide(bad.Text) // before it is cut
		failure.Err = errors.New(w.log.Hide(bad.Error()))
		return failure
	}
	failure.Class = drivers.ClassClosed
	select {
	case <-w.process.Done():
	case <-time.After(outputTimeout):
		failure.Err = errors.New("it has closed its output, and goes on")
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
func (w *Worker) Session() drivers.Session { return killable{layer{w.session}, w} }

type killable struct {
	layer
	w *Worker
}

// Crash implements drivers.Crasher.
func (k killable) Crash() { _, _ = k.w.Kill() } // it may have ended

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
	w.pause = nil
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
func (c *child) kill() error {
	if err := c.process.KillGroup(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: kill: %w", c.conn.Who(), err)
	}
	c.drain()
	return nil
}

// drain reads the rest of the output of a process that is gone.
func (c *child) drain() {
	_ = c.conn.Close()
	_ = c.output.SetReadDeadline(time.Now().Add(outputTimeout)) // if a process that it has started keeps the output
	<-c.conn.Done()
}

// Close ends the worker: in good order if it answers, and otherwise with SIGKILL. It may be called more than once, and
// after Kill.
func (w *Worker) Close() error {
	w.control.Lock()
	defer w.control.Unlock()
	if w.pause != nil {
		w.pause = nil
		return w.kill()
	}
	return w.child.Close()
}

// Close ends the process: in good order if it answers, and otherwise with SIGKILL. It may be called more than once.
func (c *child) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.process.Gone() {
		return c.kill()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if _, err := c.conn.ask(ctx, &request{RequestHeader: lines.RequestHeader{Op: "close", Slow: true}}); err != nil {
		return errors.Join(err, c.kill())
	}
	_ = c.conn.Close() // an adapter may wait for the end of its input
	select {
	case <-c.process.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s: close: it does not end: %w", c.conn.Who(), ctx.Err()), c.kill())
	}
	c.drain()
	if !c.process.State().Success() {
		return fmt.Errorf("%s: close: %v%s", c.conn.Who(), c.process.State(), c.said(nil))
	}
	return nil
}

// said returns what an error ends with, unless it has quoted that already: the last line that names an error, or else the
// last one; nothing if there is none. The traces of Python end with that line, those of Java and Node begin with it.
func (c *child) said(err error) string {
	text := c.log.String()
	if text == "" || errors.Is(err, errEnded) {
		return ""
	}
	list := strings.Split(text, "\n")
	last := list[len(list)-1]
	for _, line := range list {
		if namesError.MatchString(line) {
			last = line
		}
	}
	return "; it says: " + last[:min(len(last), maxToldLine)]
}

var namesError = regexp.MustCompile(`(?i)^\S.*(error|exception|panic:)`)

// errEnded is in the error of every request to a process whose output has ended.
var errEnded = errors.New("it has ended")

// secretsOf returns what the process was given that nobody else may read, the longest first.
func secretsOf(driver string, cfg drivers.Config) (list []string) {
	defer func() { // since one may contain another
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}()
	if cfg.Password != "" {
		list = append(list, string(cfg.Password))
	}
	d, err := drivers.Lookup(driver)
	if err != nil {
		return list
	}
	if addressed, ok := d.(drivers.Addressed); ok {
		for _, addr := range cfg.Addrs {
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
