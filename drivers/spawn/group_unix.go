//go:build unix

package spawn

import (
	"errors"
	"os"
	"syscall"
)

const stopSignal, continueSignal = syscall.SIGSTOP, syscall.SIGCONT

func signalGroup(leader int, sig os.Signal) error {
	err := syscall.Kill(-leader, sig.(syscall.Signal))
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
