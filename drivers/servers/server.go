package servers

// One server process in one private directory, with the ports that are reserved for it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	// stopTimeout is the time for a server to end its own child processes, and for those to see that it was killed.
	// PostgreSQL needs 10 ms.
	stopTimeout     = 5 * time.Second
	exchangeTimeout = 2 * time.Second
	// The pause between two readiness checks grows from the first to the second of these.
	pollMin, pollMax = time.Millisecond, 20 * time.Millisecond

	logFile      = "server.log"
	logTailLines = 30
)

var errClosed = errors.New("the server has been closed")

// Server is a private server of one process. It can be killed and restarted. Its methods are safe for concurrent use.
type Server struct {
	name        string   // for errors: "redis"
	argv        []string // the program and its arguments
	dir         *tempDir // its working directory, where it logs to logFile
	ports       []*port  // that it has reserved
	url         string
	persistence string // what is on disk when a change is answered; "" if its drivers tell that

	// Most servers need none of these.
	ca      string    // a file; "" without TLS
	env     []string  // further variables of its environment
	account *account  // the user that it runs as; nil: this process's own
	quit    os.Signal // ends the program and its child processes; nil: SIGKILL does
	stale   []string  // files of a killed program, which make the next one take unrelated processes for its

	// ready makes one attempt to talk to the process with that number, and returns nil once it serves.
	ready func(ctx context.Context, pid int) error

	mu    sync.Mutex
	run   *spawn.Process // the latest one; nil before the first
	ended bool
	close func() error
}

var sweepOnce sync.Once

// setUp gives a server its address, its command line and its files.
type setUp func(ctx context.Context, s *Server, o Options) error

// start starts a server that setUp prepares in its private directory. If it fails, nothing is left. The program is
// o.Binary, the directory is below o.root.
func start(ctx context.Context, p *program, o Options, setUp setUp) (*Server, error) {
	sweepOnce.Do(sweep)
	var err error
	if o.Binary, err = p.find(o.Binary); err != nil {
		return nil, err
	}
	s := &Server{name: p.server}
	s.close = sync.OnceValue(s.end)
	if p.unprivileged {
		if s.account, err = unprivileged(); err != nil {
			return nil, s.failed("start", err)
		}
	}
	root, mode := o.root, os.FileMode(0o700)
	if root == "" {
		root = tempRoot()
	}
	if s.account != nil { // which cannot enter a temp dir of root's own, and passes through the private directory
		root, mode = plainRoot(), 0o711
	}
	if s.dir, err = newTempDir(root); err != nil {
		return nil, s.failed("start", err)
	}
	if err = os.Chmod(s.dir.path, mode); err == nil {
		err = setUp(ctx, s, o)
	}
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		return nil, s.failed("start", errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Server) base() *Server { return s }

// reserve reserves a port until the server is closed.
func (s *Server) reserve() (*port, error) {
	port, err := reservePort()
	if err == nil {
		s.ports = append(s.ports, port)
	}
	return port, err
}

// write writes a file into the directory that the server can read, and nobody else.
func (s *Server) write(name, text string) error {
	file := s.dir.file(name)
	return errors.Join(os.WriteFile(file, []byte(text), 0o600), s.account.own(file))
}

// URL returns the server's address as a client gives it, without a password.
func (s *Server) URL() string { return s.url }

// CAFile returns the PEM file that vouches for the server's certificate; "" without TLS.
func (s *Server) CAFile() string { return s.ca }

// PID returns the number of the server's process, or 0 if there is none.
func (s *Server) PID() int {
	if r := s.current(); r != nil {
		return r.PID()
	}
	return 0
}

// PIDs returns the numbers of the server's process and, on Linux, of its living descendants; nothing if there is none.
func (s *Server) PIDs() []int {
	if pid := s.PID(); pid > 0 {
		return family(pid)
	}
	return nil
}

// CPU returns the user and system time that the server's process and its descendants have used. It is negative if there
// is no process, or the system does not tell.
func (s *Server) CPU() time.Duration {
	if r := s.current(); r != nil {
		return spawn.CPU(r.PID())
	}
	return -1
}

// Restart starts the server again at its address after it was killed or has died, with the files that it had written,
// and returns when it answers. An error quotes the end of the server's log; no process is left then.
func (s *Server) Restart(ctx context.Context) error { return s.failed("start", s.start(ctx)) }

// persists says what is on disk when the server answers a change: nothing if its directory is in memory, the change
// itself if it is strict, or else what relaxed says.
func (s *Server) persists(strict bool, relaxed string) string {
	switch {
	case inMemory(s.dir.path):
		return "memory (tmpfs)"
	case strict:
		return "fsync each commit"
	}
	return relaxed
}

// failed says what could not be done with which server; without an error it returns nil.
func (s *Server) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %s: %w", s.name, what, err)
}

// start launches the program and waits until it answers, exits, or the time is up.
func (s *Server) start(ctx context.Context) error {
	r, err := s.launch()
	if err != nil {
		return err
	}
	living, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // another process that has its address must not answer for it
		select {
		case <-r.Done():
			cancel()
		case <-living.Done():
		}
	}()
	err = poll(living, "it does not answer", func(ctx context.Context) error { return s.ready(ctx, r.PID()) })
	if err == nil {
		return nil
	}
	if r.Gone() {
		err = fmt.Errorf("%s exited: %s", s.argv[0], r.State())
	}
	r.Kill()
	if tail := s.LogTail(); tail != "" {
		return fmt.Errorf("%w; its log ends with\n%s", err, tail)
	}
	return err
}

func (s *Server) launch() (*spawn.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil, errClosed
	case s.run != nil && !s.run.Gone():
		return nil, errors.New("it is running already")
	}
	cmd, log, err := s.command(s.dir.path, s.argv)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	for _, file := range s.stale {
		_ = os.Remove(file)
	}
	r, err := spawn.Start(cmd)
	if err == nil {
		s.run = r
	}
	return r, err
}

// command returns a command of the server's account that logs to the server's log, which is closed after its start.
func (s *Server) command(dir string, argv []string) (*exec.Cmd, *os.File, error) {
	log, err := s.openLog()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, s.account.attr()
	cmd.ExtraFiles = []*os.File{s.dir.lock} // the directory stays as long as the program runs
	cmd.Env = append(spawn.Environ(), s.env...)
	return cmd, log, nil
}

// openLog opens the server's log once all processes have ended that inherited it from the program before.
func (s *Server) openLog() (*os.File, error) {
	log, err := os.OpenFile(s.dir.file(logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err = poll(ctx, "what it has started lives on", func(context.Context) error { return tryLock(log) })
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// prepare runs a program that makes the first files of a server, in a directory, and logs to the server's log. When ctx
// ends, so does all that the program has started.
func (s *Server) prepare(ctx context.Context, dir string, argv ...string) error {
	cmd, log, err := s.command(dir, argv)
	if err != nil {
		return err
	}
	defer log.Close()
	err = run(ctx, startTimeout, cmd)
	if err != nil && context.Cause(ctx) == nil {
		return fmt.Errorf("make the first files with %s: %w; its output ends with\n%s", cmd.Path, err, s.LogTail())
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

// exchange asks a server something on a connection of its own, and returns at most so many bytes of the answer. It does
// not take long: a server that starts may accept a connection and never answer on it.
func exchange(ctx context.Context, network, addr, question string, most int64) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, question); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, most))
	return string(text), err
}

// current returns the present run, or nil if no process is alive.
func (s *Server) current() *spawn.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil || s.run.Gone() {
		return nil
	}
	return s.run
}

// Signal sends a signal to the server's process, e.g. SIGSTOP and SIGCONT to pause it. On Linux the process has stopped
// when SIGSTOP returns; its child processes go on. The error wraps os.ErrProcessDone if there is no process.
func (s *Server) Signal(sig os.Signal) error {
	if r := s.current(); r != nil {
		return s.failed("signal", r.Signal(sig))
	}
	return s.failed("signal", os.ErrProcessDone)
}

// Kill ends the server with SIGKILL and returns when it and what it has started are gone. It keeps its address and its
// files for Restart.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return nil
	}
	err := s.run.Kill()
	if err == nil {
		var log *os.File
		log, err = s.openLog()
		log.Close()
	}
	return s.failed("kill", err)
}

// Close stops the server for good and removes its directory. It may be called more than once.
func (s *Server) Close() error { return s.close() }

func (s *Server) end() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	defer freeAll(s.ports)
	// Nothing that the server has is kept, so it need not end in order, unless it has to end its own children.
	if r := s.current(); r != nil && s.quit != nil && r.Signal(s.quit) == nil {
		select {
		case <-r.Done():
		case <-time.After(stopTimeout):
		}
	}
	if err := s.Kill(); err != nil {
		return err
	}
	return s.failed("close", s.dir.remove())
}

// LogTail returns the last lines of the server's log, indented, or "" if there are none.
func (s *Server) LogTail() string {
	text, _ := os.ReadFile(s.dir.file(logFile))
	tail := strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
	if tail == "" {
		return ""
	}
	lines := strings.Split(tail, "\n")
	return "\t" + strings.Join(lines[max(0, len(lines)-logTailLines):], "\n\t")
}
