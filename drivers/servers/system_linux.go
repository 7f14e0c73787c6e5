package servers

// What only Linux can do: children that die with their parent, and processes that can be identified for certain.

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

// childAttr makes the kernel kill the child when its parent dies, and keeps the terminal's signals from it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spawner starts every child from one OS thread. The kernel sends Pdeathsig when the *thread* that started the child
// ends, not the process (go.dev/issue/27505), and the Go runtime ends threads at will. So one goroutine keeps a thread
// to itself as long as there are children.
var spawner struct {
	sync.Mutex
	children int
	starts   chan func() // nil without children
}

// spawn starts cmd. If it succeeds, the caller calls despawn once it has reaped the process.
func spawn(cmd *exec.Cmd) error {
	spawner.Lock()
	if spawner.children == 0 {
		spawner.starts = make(chan func())
		go keepThread(spawner.starts)
	}
	spawner.children++
	done := make(chan error)
	spawner.starts <- func() { done <- cmd.Start() }
	err := <-done
	spawner.Unlock()
	if err != nil {
		despawn()
	}
	return err
}

// despawn ends the spawner's thread with the last child.
func despawn() {
	spawner.Lock()
	defer spawner.Unlock()
	if spawner.children--; spawner.children == 0 {
		close(spawner.starts)
	}
}

func keepThread(starts <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := range starts {
		start()
	}
}

// cpuOf returns the user and system time of a living process, the children that it has waited for, and its living
// children. Its ticks cut off up to 10 ms, for each of hundreds of children. The scheduler's count does not, but it is
// that of one thread, which is all of it for most children.
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
				sum += max(0, cpuOf(n)) // a child that has just ended is, or soon will be, among those waited for
			}
		}
	}
	return sum
}

// ticks adds times that proc_pid_stat(5) counts in sysconf(_SC_CLK_TCK), which Linux shows as 100.
func ticks(fields [][]byte) time.Duration {
	var sum int64
	for _, f := range fields {
		n, _ := strconv.ParseInt(string(f), 10, 64)
		sum += n
	}
	return time.Duration(sum) * (time.Second / 100)
}

// scheduled returns the CPU time of the main thread of a process, from /proc/PID/schedstat; 0 if the kernel was built
// without it.
func scheduled(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	first, _, _ := bytes.Cut(text, []byte(" "))
	n, _ := strconv.ParseInt(string(first), 10, 64)
	return time.Duration(n)
}

// isStop reports whether a signal stops a process.
func isStop(sig os.Signal) bool { return sig == syscall.SIGSTOP }

// stopped reports whether all threads of a process are stopped or gone.
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

// statOf returns the fields of /proc/PID/stat from the third on, which is the state; see proc_pid_stat(5). The second
// is the name in brackets, which may contain blanks and brackets.
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

// stampOf returns a unique name for a living process: its start, in ticks since a boot that has a unique id. A process
// that only waits to be reaped is no longer alive.
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

// ours reports whether the process with that number has the stamp and works in dir.
func ours(pid int, stamp, dir string) bool {
	if !lives(pid, stamp) {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator)))
}
