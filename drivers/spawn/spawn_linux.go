package spawn

// What only Linux can do: children that die with their parent, and processes that are known to have stopped.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// tie makes the kernel kill the child when its parent dies.
func tie(attr *syscall.SysProcAttr, leads bool) {
	attr.Setpgid, attr.Pdeathsig = leads, syscall.SIGKILL
}

// starter starts every child from one OS thread. The kernel sends Pdeathsig when the *thread* that started the child
// ends, not the process (go.dev/issue/27505), and the Go runtime ends threads at will. So one goroutine keeps a thread
// to itself as long as there are children.
var starter struct {
	sync.Mutex
	children int
	starts   chan func() // nil without children
}

// start starts cmd. If it succeeds, reaped is called once the process has been waited for.
func start(cmd *exec.Cmd) error {
	starter.Lock()
	if starter.children == 0 {
		starter.starts = make(chan func())
		go keepThread(starter.starts)
	}
	starter.children++
	done := make(chan error)
	starter.starts <- func() { done <- cmd.Start() }
	err := <-done
	starter.Unlock()
	if err != nil {
		reaped()
	}
	return err
}

// reaped ends the starter's thread with the last child.
func reaped() {
	starter.Lock()
	defer starter.Unlock()
	if starter.children--; starter.children == 0 {
		close(starter.starts)
	}
}

func keepThread(starts <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := range starts {
		start()
	}
}

// endGroup waits for the end of a process, and kills the rest of its group before the process is waited for: until then no
// other process or group can have its number.
func endGroup(pid int) {
	const byPID, exited, keep = 1, 0x4, 0x1000000 // P_PID, WEXITED and WNOWAIT of waitid(2)
	var info [128]byte
	errno := syscall.EINTR
	for errno == syscall.EINTR {
		_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), exited|keep, 0, 0)
	}
	if errno == 0 {
		_ = signalGroup(pid, os.Kill)
	}
}

// isStop reports whether a signal stops a process.
func isStop(sig os.Signal) bool { return sig == syscall.SIGSTOP }

// Letter returns the state of the process as /proc/PID/stat has it, such as T if it is stopped; "" if the system does
// not tell, or if it is gone.
func (p *Process) Letter() string {
	fields, err := Stat(p.PID())
	if err != nil {
		return ""
	}
	return string(fields[0])
}

// Stopped reports whether no thread of the process and of its descendants in its group runs. known is false if the
// system does not tell.
func (p *Process) Stopped() (stopped, known bool) { return groupStopped(p.PID()), true }

// threadsStopped reports whether all threads of a process are stopped or gone.
func threadsStopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		if fields, err := readStat(thread); err == nil && !bytes.ContainsAny(fields[0], "TtZX") {
			return false
		}
	}
	return true
}

// groupStopped is threadsStopped for the leader of a process group and its descendants in the group.
func groupStopped(leader int) bool { return descendantsStopped(leader, leader) }

func descendantsStopped(pid, group int) bool {
	if fields, err := Stat(pid); err != nil || string(fields[2]) != strconv.Itoa(group) {
		return true
	}
	if !threadsStopped(pid) {
		return false
	}
	for _, child := range Children(pid) {
		if !descendantsStopped(child, group) {
			return false
		}
	}
	return true
}

// Children returns the children of a process, if the kernel was built to tell them.
func Children(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, child := range bytes.Fields(text) {
			if n, err := strconv.Atoi(string(child)); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// Stat returns the fields of /proc/PID/stat from the third on, which is the state; see proc_pid_stat(5). The second is
// the name in brackets, which may contain blanks and brackets.
func Stat(pid int) ([][]byte, error) { return readStat(fmt.Sprintf("/proc/%d/stat", pid)) }

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

// CPU returns the user and system time of a living process, the children that it has waited for, and its living
// children. Its ticks cut off up to 10 ms, for each of hundreds of children. The scheduler's count does not, but it is
// that of one thread, which is all of it for most children.
func CPU(pid int) time.Duration {
	fields, err := Stat(pid)
	if err != nil {
		return -1
	}
	sum := max(ticks(fields[11:13]), scheduled(pid)) + ticks(fields[13:15]) // utime, stime; cutime, cstime
	for _, child := range Children(pid) {
		sum += max(0, CPU(child)) // a child that has just ended is, or soon will be, among those waited for
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
