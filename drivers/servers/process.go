package servers

// One server process in one private directory, with the ports that are reserved for it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	logTailLines = 30
)

var errClosed = errors.New("the server has been closed")

// process is a server process that can be restarted after it has died. Its exported methods are safe for concurrent use; every
// server embeds it.
type process struct {
	name        string   // for errors: "redis"
	argv        []string // the program and its arguments
	dir         *tempDir // its working directory, where it logs to logFile
	ports       []*port  // that it has reserved
	url         string
	persistence string

	// Most servers need none of these.
	ca      string       // a file; "" without TLS
	env     []string     // further variables of its environment
	account *account     // the user that it runs as; nil: this process's own
	quit    os.Signal    // ends the program and its child processes; nil: SIGKILL does
	tidy    func() error // waits for the child processes of a killed program and removes what would prevent a restart

	// ready makes one attempt to talk to the process with that number, and returns nil once it serves.
	ready func(ctx context.Context, pid int) error

	mu    sync.Mutex
	run   *spawn.Process // the latest one; nil before the first
	ended bool
	spent time.Duration // CPU time of the runs before it

	closing sync.Once
	closed  error
}

// place says where a server runs, and as which user.
type place struct {
	name    string   // of the server
	account *account // nil: that of this process
	root    string   // of its directory; "": the temp dir, or one that the account can enter
}

// Server is a private server of one process: each has what process exports.
type Server interface {
	io.Closer
	base() *process
}

func (p *process) base() *process { return p }

var sweepOnce sync.Once

// startServer starts a server in a process that setUp completes. If it fails, none is left. Errors begin with the
// server's name.
func startServer[S any](ctx context.Context, at place, setUp func(p *process) (S, error)) (server S, err error) {
	sweepOnce.Do(sweep)
	p, err := newProcess(at)
	if err != nil {
		return server, fmt.Errorf("%s: start: %w", at.name, err)
	}
	s, err := setUp(p)
	if err == nil {
		err = p.start(ctx)
	}
	if err != nil {
		return server, fmt.Errorf("%s: start: %w", at.name, errors.Join(err, p.Close()))
	}
	return s, nil
}

// newProcess returns a process in a private directory, through which its account passes, and does nothing else there.
func newProcess(at place) (*process, error) {
	if at.root == "" {
		at.root = tempRoot()
		if at.account != nil {
			at.root = plainRoot() // which the account can enter, unlike a temp dir of root's own
		}
	}
	dir, err := newTempDir(at.root)
	if err != nil {
		return nil, err
	}
	p := &process{name: at.name, account: at.account, dir: dir}
	if at.account != nil {
		if err := os.Chmod(dir.path, 0o711); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// reserve reserves a port until the process is closed.
func (p *process) reserve() (*port, error) {
	port, err := reservePort()
	if err == nil {
		p.ports = append(p.ports, port)
	}
	return port, err
}

// write writes a file into the directory that the server can read, and nobody else.
func (p *process) write(name, text string) error {
	file := p.dir.file(name)
	return errors.Join(os.WriteFile(file, []byte(text), 0o600), p.account.own(file))
}

// URL returns the server's address as a client gives it, without a password.
func (p *process) URL() string { return p.url }

// URLs returns the same as a list.
func (p *process) URLs() []string { return []string{p.url} }

// Network returns "tcp" or "unix".
func (p *process) Network() string {
	if len(p.ports) > 0 {
		return "tcp"
	}
	return "unix"
}

// CAFile returns the PEM file of the private CA that signed the server's certificate; "" without TLS.
func (p *process) CAFile() string { return p.ca }

// Persistence returns what is on disk when a change is answered; "" of a server that tells it itself.
func (p *process) Persistence() string { return p.persistence }

// PID returns the number of the server's process, or 0 if there is none.
func (p *process) PID() int {
	if r := p.current(); r != nil {
		return r.PID()
	}
	return 0
}

// PIDs returns the numbers of the server's process and of its living descendants, and nothing if there is none. Other systems
// than Linux tell only that of the process itself.
func (p *process) PIDs() []int {
	pid := p.PID()
	if pid == 0 {
		return nil
	}
	return family(pid)
}

// Restart starts the server again at its address after it was killed or has died, with the files that it had written,
// and returns when it answers. An error quotes the end of the server's log; no process is left then.
func (p *process) Restart(ctx context.Context) error { return p.failed("start", p.start(ctx)) }

func (p *process) start(ctx context.Context) error {
	r, err := p.launch()
	if err != nil {
		return err
	}
	if err = p.awaitReady(ctx, r); err == nil {
		return nil
	}
	r.Kill()
	if tail := p.LogTail(); tail != "" {
		return fmt.Errorf("%w; its log ends with\n%s", err, tail)
	}
	return err
}

// failed says what could not be done with which server; without an error it returns nil.
func (p *process) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", p.name, what, err)
}

func (p *process) launch() (*spawn.Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errClosed
	}
	if p.run != nil && !p.run.Gone() {
		return nil, errors.New("it is running already")
	}
	if p.tidy != nil {
		if err := p.tidy(); err != nil {
			return nil, err
		}
	}
	cmd, log, err := p.command(p.dir.path, p.argv)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r, err := spawn.Start(cmd)
	if err != nil {
		return nil, err
	}
	if p.run != nil {
		p.spent += used(p.run)
	}
	p.run = r
	return r, nil
}

// command returns a command of the server's account that logs to the server's log, which is closed after its start.
func (p *process) command(dir string, argv []string) (*exec.Cmd, *os.File, error) {
	log, err := os.OpenFile(p.dir.file(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, p.account.attr()
	cmd.ExtraFiles = []*os.File{p.dir.lock} // the directory stays as long as the program runs
	cmd.Env = append(spawn.Environ(), p.env...)
	return cmd, log, nil
}

// prepare runs a program that makes the first files of a server, in a directory, and logs to the server's log. When ctx
// ends, so does all that the program has started.
func (p *process) prepare(ctx context.Context, dir string, argv ...string) error {
	cmd, log, err := p.command(dir, argv)
	if err != nil {
		return err
	}
	defer log.Close()
	err = run(ctx, startTimeout, cmd)
	if err != nil && context.Cause(ctx) == nil {
		return fmt.Errorf("make the first files with %s: %w; its output ends with\n%s", cmd.Path, err, p.LogTail())
	}
	return err
}

// used returns the CPU time of a process that is gone.
func used(p *spawn.Process) time.Duration { return p.State().UserTime() + p.State().SystemTime() }

// awaitReady polls until the server answers, exits, or the time is up.
func (p *process) awaitReady(ctx context.Context, r *spawn.Process) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // another process that has its address must not answer for it
		select {
		case <-r.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	err := poll(ctx, "it does not answer", func(ctx context.Context) error { return p.ready(ctx, r.PID()) })
	if err != nil && r.Gone() {
		return fmt.Errorf("%s exited: %s", p.argv[0], r.State())
	}
	return err
}

// poll calls ready until it returns nil, for as long as a start may take. what begins the error.
func poll(ctx context.Context, what string, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// current returns the present run, or nil if no process is alive.
func (p *process) current() *spawn.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil || p.run.Gone() {
		return nil
	}
	return p.run
}

// CPU returns the user and system time that the server and its child processes have used since its first start. It is
// negative if the system does not tell.
func (p *process) CPU() time.Duration {
	p.mu.Lock()
	spent, r := p.spent, p.run
	p.mu.Unlock()
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

// Signal sends a signal to the server's process, e.g. SIGSTOP and SIGCONT to pause it. On Linux the process has stopped
// when SIGSTOP returns; its child processes go on. The error wraps os.ErrProcessDone if there is no process.
func (p *process) Signal(sig os.Signal) error {
	if r := p.current(); r != nil {
		return p.failed("signal", r.Signal(sig))
	}
	return p.failed("signal", os.ErrProcessDone)
}

// Kill ends the server with SIGKILL and returns when it is gone. It keeps its address and its files for Restart.
func (p *process) Kill() (err error) {
	if r := p.current(); r != nil {
		err = r.Kill()
	}
	if err == nil && p.tidy != nil {
		err = p.tidy()
	}
	return p.failed("kill", err)
}

// stop asks the process to end, and waits for up to stopTimeout.
func (p *process) stop() {
	r := p.current()
	if r == nil || r.Signal(p.quit) != nil {
		return
	}
	select {
	case <-r.Done():
	case <-time.After(stopTimeout):
	}
}

// Close stops the server for good and removes its directory. It may be called more than once.
func (p *process) Close() error {
	p.closing.Do(func() { p.closed = p.end() })
	return p.closed
}

func (p *process) end() error {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	defer freeAll(p.ports)
	// Nothing that the server has is kept, so it need not end in order, unless it has to end its own children.
	if p.quit != nil {
		p.stop()
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return p.failed("close", p.dir.remove())
}

// LogTail returns the last lines of the server's log, indented, or "" if there are none.
func (p *process) LogTail() string {
	text, _ := os.ReadFile(p.dir.file(logFile))
	tail := strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
	if tail == "" {
		return ""
	}
	lines := strings.Split(tail, "\n")
	return "\t" + strings.Join(lines[max(0, len(lines)-logTailLines):], "\n\t")
}
