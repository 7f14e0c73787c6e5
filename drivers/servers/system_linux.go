package servers

// What only Linux can do: children that die with their parent, and processes that are told apart for certain.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// childAttr lets the kernel kill the child when its parent dies, and keeps the terminal's signals from it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// nursery starts every child from one OS thread. The kernel sends Pdeathsig when the *thread* that started the
// child ends, not the process (go.dev/issue/27505), and the Go runtime ends threads as it likes. So one goroutine
// keeps a thread to itself for as long as there are children.
var nursery struct {
	sync.Mutex
	children int
	starts   chan func() // nil without children
}

// spawn starts cmd. After it has succeeded, the caller calls despawn when it has reaped the process.
func spawn(cmd *exec.Cmd) error {
	nursery.Lock()
	if nursery.children == 0 {
		nursery.starts = make(chan func())
		go keepThread(nursery.starts)
	}
	nursery.children++
	done := make(chan error)
	nursery.starts <- func() { done <- cmd.Start() }
	err := <-done
	nursery.Unlock()
	if err != nil {
		despawn()
	}
	return err
}

// despawn ends the nursery's thread with the last child.
func despawn() {
	nursery.Lock()
	defer nursery.Unlock()
	if nursery.children--; nursery.children == 0 {
		close(nursery.starts)
	}
}

func keepThread(starts <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := range starts {
		start()
	}
}

// stampOf is a name for a living process that no other one ever bears: its start, in ticks since a boot that has a
// unique id. A process that waits only to be reaped no longer lives.
func stampOf(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	// The second field is the name in brackets, which may itself hold blanks and brackets. After it come the state
	// (the third) and, as the 22nd, the start; see proc_pid_stat(5).
	_, rest, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("process %d: /proc/%d/stat has another form than expected", pid, pid)
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "", fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return string(bytes.TrimSpace(boot)) + ":" + string(fields[19]), nil
}

// ours tells whether the process with that number is the one that bears the stamp, and works in dir.
func ours(pid int, stamp, dir string) bool {
	if now, err := stampOf(pid); err != nil || now != stamp {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator)))
}
