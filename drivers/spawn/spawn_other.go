//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package spawn

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

func tie(*syscall.SysProcAttr) {}

func start(cmd *exec.Cmd) error { return cmd.Start() }

func reaped() {}

func isStop(os.Signal) bool { return false }

func threadsStopped(int) bool { return true }

func groupStopped(int) bool { return true }

// Letter returns "": the system does not tell.
func (p *Process) Letter() string { return "" }

// Stopped returns false: likewise.
func (p *Process) Stopped() (stopped, known bool) { return false, false }

const stopSignal, continueSignal = syscall.Signal(-1), syscall.Signal(-2) // there are none

// signalGroup can only kill, and only the process itself.
func signalGroup(pid int, sig os.Signal) error {
	if sig != os.Kill {
		return errors.ErrUnsupported
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return process.Kill()
}

func endGroup(int) {}
