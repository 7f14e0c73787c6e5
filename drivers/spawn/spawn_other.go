//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package spawn

import (
	"errors"
	"os"
	"syscall"
)

func tie(*syscall.SysProcAttr, bool) {}

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
