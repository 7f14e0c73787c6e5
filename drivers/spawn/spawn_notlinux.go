//go:build !linux

package spawn

// Other systems than Linux send no signal when a parent dies, and do not tell when a process has stopped.

import (
	"os"
	"os/exec"
	"time"
)

func start(cmd *exec.Cmd) error { return cmd.Start() }

func reaped() {}

func isStop(os.Signal) bool { return false }

func threadsStopped(int) bool { return true }

func groupStopped(int) bool { return true }

// Letter returns "": the system does not tell.
func (p *Process) Letter() string { return "" }

// Stopped returns false: likewise.
func (p *Process) Stopped() (stopped, known bool) { return false, false }

func endGroup(int) {}

// CPU returns a negative time: likewise.
func CPU(int) time.Duration { return -1 }
