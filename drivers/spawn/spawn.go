// Package spawn starts child processes that end with this process, and kills, stops and continues them. On Linux the
// kernel kills a child, even a stopped one, when this process dies; elsewhere a child has to notice that, as from the
// end of its standard input, and a stopped one is hung up and continued, as POSIX has it for groups that are orphaned.
//
// Each child leads a process group of its own, so that the terminal's signals do not reach it. On Linux, what is left of
// the group when it ends is killed.
package spawn

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// stopTimeout bounds the wait for a stop, because another process may continue the child.
	stopTimeout = 5 * time.Second

	pollInterval = time.Millisecond
)

// joins is whether children stay in the group of this process.
var joins bool

// Join keeps children that are started from now on in the process group of this one, so that who stops or kills that
// group stops or kills them too.
func Join() { joins = true }

// Process is a child process. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process is gone
	err  error         // of cmd.Wait; set before done is closed
}

// Start starts cmd, and waits for it in the background. So the caller does not call cmd.Wait, and uses os.Pipe instead
// of cmd.StdoutPipe and its like, which Wait closes. Start adds to cmd.SysProcAttr what it needs. If cmd.Env is nil, the
// child gets Environ(), and not all that this process has.
func Start(cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if cmd.Env == nil {
		cmd.Env = Environ()
	}
	tie(cmd.SysProcAttr, !joins)
	if err := start(cmd); err != nil {
		return nil, err
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		endGroup(p.PID())
		p.err = cmd.Wait()
		reaped()
		close(p.done)
	}()
	return p, nil
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Gone reports whether the process has ended.
func (p *Process) Gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait returns when the process is gone; the error is that of exec.Cmd.Wait.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// State returns how the process has ended and what it has used. It must be gone.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Signal sends the process a signal. If the signal stops it, Signal returns when it has stopped, where the system tells
// that. The error wraps os.ErrProcessDone if the process is gone.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return err
	}
	if isStop(sig) {
		p.awaitStop(threadsStopped)
	}
	return nil
}

// awaitStop waits until no thread runs. Each thread runs until the kernel delivers the signal, which on a busy machine
// is late enough for one more answer.
func (p *Process) awaitStop(stopped func(pid int) bool) {
	limit := time.After(stopTimeout)
	for !stopped(p.PID()) {
		select {
		case <-p.done:
			return
		case <-limit:
			return
		case <-time.After(pollInterval):
		}
	}
}

// Kill ends the process with SIGKILL, also if it is stopped, and returns when it is gone. A process that is gone already
// is no error.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// KillGroup is Kill for the process and those of its descendants that are still in its group, such as what a shell
// script has started.
func (p *Process) KillGroup() error {
	if err := p.signalGroup(os.Kill); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// StopGroup stops the processes that KillGroup kills, and returns when they have stopped, where the system tells that.
func (p *Process) StopGroup() error {
	if err := p.signalGroup(stopSignal); err != nil {
		return err
	}
	p.awaitStop(groupStopped)
	return nil
}

// ContinueGroup lets the processes that StopGroup has stopped go on.
func (p *Process) ContinueGroup() error { return p.signalGroup(continueSignal) }

func (p *Process) signalGroup(sig os.Signal) error {
	if p.Gone() { // its number may be another's by now
		return os.ErrProcessDone
	}
	if joins {
		return p.cmd.Process.Signal(sig)
	}
	return signalGroup(p.PID(), sig)
}
