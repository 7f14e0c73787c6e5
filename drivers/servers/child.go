package servers

// One server process in one private directory.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers/spawn"
)

const (
	// startTimeout bounds a start, even if the context has no deadline. Redis is ready in about 10 ms; with twenty busy
	// processes on two processors, PostgreSQL may take over a minute. If the program exits, the start fails at once.
	startTimeout = 2 * time.Minute
	// versionTimeout bounds "program --version", which takes etcd over 2 s on such a machine.
	versionTimeout = 20 * time.Second
	// stopTimeout is the time for a server to end its own child processes. PostgreSQL needs 10 ms.
	stopTimeout = 5 * time.Second
	// The pause between two readiness checks grows from the first to the second of these.
	pollMin, pollMax = time.Millisecond, 20 * time.Millisecond

	logFile      = "server.log"
	logTailLines = 12
	logTailReach = 100
)

var errClosed = errors.New("the server has been closed")

// child is a server process that can be restarted after it has died.
type child struct {
	name    string   // for errors: "redis"
	argv    []string // the program and its arguments
	dir     *tempDir // its working directory, where it logs to logFile
	secrets []string // never shown in quotations of the log

	// Most servers need none of these.
	env     []string     // further variables of its environment
	account *account     // the user that it runs as; nil: this process's own
	quit    os.Signal    // ends the program and its child processes; nil: SIGKILL does
	tidy    func() error // waits for the child processes of a killed program and removes what would prevent a restart

	// ready makes one attempt to talk to the process with that number, and returns nil once it serves.
	ready func(ctx context.Context, pid int) error

	mu     sync.Mutex
	run    *spawn.Process // the latest one; nil before the first
	closed bool
	spent  time.Duration // CPU time of the runs before it
}

// start runs the program and returns when it answers. An error quotes the end of the server's log; no process is left
// then.
func (c *child) start(ctx context.Context) error {
	r, err := c.launch()
	if err != nil {
		return fmt.Errorf("%s: start: %w", c.name, err)
	}
	if err := c.awaitReady(ctx, r); err != nil {
		r.Kill()
		if tail := c.logTail(); tail != "" {
			return fmt.Errorf("%s: start: %w; its log ends with\n%s", c.name, err, tail)
		}
		return fmt.Errorf("%s: start: %w", c.name, err)
	}
	return nil
}

func (c *child) launch() (*spawn.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.run != nil && !c.run.Gone() {
		return nil, errors.New("it is running already")
	}
	if c.tidy != nil {
		if err := c.tidy(); err != nil {
			return nil, err
		}
	}
	log, err := os.OpenFile(c.dir.file(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir.path, append(environ(), c.env...), log, log
	cmd.SysProcAttr = c.account.attr()
	r, err := spawn.Start(cmd)
	if err != nil {
		return nil, err
	}
	if c.run != nil {
		c.spent += used(c.run)
	}
	c.run = r
	if err := c.dir.record(r.PID()); err != nil {
		r.Kill()
		return nil, err
	}
	return r, nil
}

// prepare runs a program that makes the first files of a server in dir, and logs to the server's log. When ctx or this process ends,
// so does all that the program has started, at the latest with a sweep.
func prepare(ctx context.Context, dir *tempDir, cmd *exec.Cmd) error {
	log, err := os.OpenFile(dir.file(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Env, cmd.Stdout, cmd.Stderr = environ(), log, log
	err = run(ctx, startTimeout, cmd, dir.record)
	if err != nil && context.Cause(ctx) == nil {
		return fmt.Errorf("make the first files with %s: %w; its output ends with\n%s", cmd.Path, err, (&child{dir: dir}).logTail())
	}
	return err
}

// output runs a program that is asked for its version, and returns what it says. The error has what it says of its failure.
func output(ctx context.Context, path string, args ...string) (string, error) {
	var out, problem strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := run(ctx, versionTimeout, cmd, nil); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", path, strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// run runs a program to its end, or until the time is up or ctx is done: then it ends with all that it has started. began, if not nil,
// is told its number.
func run(ctx context.Context, limit time.Duration, cmd *exec.Cmd, began func(pid int) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended after %v", limit))
	defer cancel()
	p, err := spawn.Start(cmd)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.KillGroup() })
	if began != nil {
		err = began(p.PID())
	}
	err = errors.Join(err, p.Wait())
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// used returns the CPU time of a process that is gone.
func used(p *spawn.Process) time.Duration { return p.State().UserTime() + p.State().SystemTime() }

// awaitReady polls until the server answers, exits, or the time is up.
func (c *child) awaitReady(ctx context.Context, r *spawn.Process) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	go func() { // another process that has its address must not answer for it
		select {
		case <-r.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		err := c.ready(ctx, r.PID())
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		switch {
		case r.Gone():
			return fmt.Errorf("%s exited: %s", c.argv[0], r.State())
		case ctx.Err() != nil:
			return fmt.Errorf("it does not answer: %w (last: %w)", ctx.Err(), err)
		}
	}
}

// current returns the present run, or nil if no process is alive.
func (c *child) current() *spawn.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run == nil || c.run.Gone() {
		return nil
	}
	return c.run
}

// pid returns the number of the living process, or 0.
func (c *child) pid() int {
	if r := c.current(); r != nil {
		return r.PID()
	}
	return 0
}

// cpu returns what all runs together have used; it is negative if the system does not tell.
func (c *child) cpu() time.Duration {
	c.mu.Lock()
	spent, r := c.spent, c.run
	c.mu.Unlock()
	switch {
	case r == nil:
		return spent
	case r.Gone():
		return spent + used(r)
	}
	now := spawn.CPU(r.PID())
	if now < 0 {
		return now
	}
	return spent + now
}

// signal sends a signal to the living process; see spawn.Process.Signal.
func (c *child) signal(sig os.Signal) error {
	r := c.current()
	if r == nil {
		return fmt.Errorf("%s: signal: %w", c.name, os.ErrProcessDone)
	}
	if err := r.Signal(sig); err != nil {
		return fmt.Errorf("%s: signal: %w", c.name, err)
	}
	return nil
}

// kill ends the process with SIGKILL and returns when it is gone; without a process it does nothing.
func (c *child) kill() error {
	if r := c.current(); r != nil {
		if err := r.Kill(); err != nil {
			return fmt.Errorf("%s: kill: %w", c.name, err)
		}
	}
	if c.tidy != nil {
		if err := c.tidy(); err != nil {
			return fmt.Errorf("%s: kill: %w", c.name, err)
		}
	}
	return nil
}

// stop asks the process to end, and waits for up to stopTimeout.
func (c *child) stop() {
	r := c.current()
	if r == nil || r.Signal(c.quit) != nil {
		return
	}
	select {
	case <-r.Done():
	case <-time.After(stopTimeout):
	}
}

// close ends the process and removes the directory, once.
func (c *child) close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	// Nothing that the server has is kept, so it need not end in order, unless it has to end its own children.
	if c.quit != nil {
		c.stop()
	}
	if err := c.kill(); err != nil {
		return err
	}
	if err := c.dir.remove(); err != nil {
		return fmt.Errorf("%s: close: %w", c.name, err)
	}
	return nil
}

// complaint is a line of a log that is likely to have the reason why a program has ended.
var complaint = regexp.MustCompile(`\b(error|Error|ERROR|fatal|FATAL|panic)\b`)

// logTail returns the indented end of the server's log, or "" if there is none. If that has no complaint, the first of those that are
// not far above it comes before: a Go program ends with its stack, and mariadb-install-db with advice.
func (c *child) logTail() string {
	text, err := os.ReadFile(c.dir.file(logFile))
	if err != nil {
		return ""
	}
	tail := strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
	for _, secret := range c.secrets {
		tail = strings.ReplaceAll(tail, secret, "***")
	}
	if tail == "" {
		return ""
	}
	all := strings.Split(tail, "\n")
	lines := all[max(0, len(all)-logTailLines):]
	near := all[max(0, len(all)-logTailReach):]
	if first := slices.IndexFunc(near, complaint.MatchString); first >= 0 && first < len(near)-len(lines) && !slices.ContainsFunc(lines, complaint.MatchString) {
		lines = append([]string{near[first], "…"}, lines...)
	}
	return "\t" + strings.Join(lines, "\n\t")
}
