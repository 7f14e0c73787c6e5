package servers

// What only Linux can do: children that die with their parent, and processes that are told apart for certain.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
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

// cpuOf returns the user and system time of a living process, of the children that it has waited for, and of those that
// live. Its ticks cut off up to 10 ms, for each of hundreds of children. The scheduler's count does not; it is that of
// one thread, which is all of it for most children.
func cpuOf(pid int) time.Duration {
	fields, err := statOf(pid)
	if err != nil {
		return -1
	}
	sum := max(ticks(fields[11:13]), scheduled(pid)) + ticks(fields[13:15]) // utime, stime; cutime, cstime
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, child := range bytes.Fields(children) {
			if n, err := strconv.Atoi(string(child)); err == nil {
				sum += max(0, cpuOf(n)) // one that has just ended is among those waited for, or soon will be
			}
		}
	}
	return sum
}

// ticks sums times up that proc_pid_stat(5) counts in sysconf(_SC_CLK_TCK), which Linux shows as 100.
func ticks(fields [][]byte) time.Duration {
	var sum int64
	for _, f := range fields {
		n, _ := strconv.ParseInt(string(f), 10, 64)
		sum += n
	}
	return time.Duration(sum) * (time.Second / 100)
}

// scheduled returns the time that the main thread of a process has had a CPU, from /proc/PID/schedstat; 0 if the kernel was
// built without.
func scheduled(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	first, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseInt(string(first), 10, 64)
	return time.Duration(n)
}

// isStop reports whether a signal stops a process.
func isStop(sig os.Signal) bool { return sig == syscall.SIGSTOP }

// stopped reports whether all threads of a process have been stopped, or are gone.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		fields, err := readStat(thread)
		if err == nil && !bytes.ContainsAny(fields[0], "TtZX") {
			return false
		}
	}
	return true
}

// statOf reads the fields of /proc/PID/stat from the third on, which is the state; see proc_pid_stat(5). The second is
// the name in brackets, which may itself hold blanks and brackets.
func statOf(pid int) ([][]byte, error) {
	return readStat(fmt.Sprintf("/proc/%d/stat", pid))
}

func readStat(file string) ([][]byte, error) {
	stat, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) < 20 {
		return nil, fmt.Errorf("%s has another form than expected", file)
	}
	return fields, nil
}

// stampOf returns a name for a living process that no other one ever bears: its start, in ticks since a boot that has a
// unique id. A process that waits only to be reaped no longer lives.
func stampOf(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	fields, err := statOf(pid)
	if err != nil {
		return "", err
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return "", fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	return string(bytes.TrimSpace(boot)) + ":" + string(fields[19]), nil
}

// ours reports whether the process with that number is the one that bears the stamp, and works in dir.
func ours(pid int, stamp, dir string) bool {
	if !lives(pid, stamp) {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator)))
}
