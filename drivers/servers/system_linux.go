package servers

// What only Linux can do: CPU times of living processes, and processes that can be identified for certain.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/spawn"
)

// cpuOf returns the user and system time of a living process, the children that it has waited for, and its living
// children. Its ticks cut off up to 10 ms, for each of hundreds of children. The scheduler's count does not, but it is
// that of one thread, which is all of it for most children.
func cpuOf(pid int) time.Duration {
	fields, err := spawn.Stat(pid)
	if err != nil {
		return -1
	}
	sum := max(ticks(fields[11:13]), scheduled(pid)) + ticks(fields[13:15]) // utime, stime; cutime, cstime
	for _, child := range spawn.Children(pid) {
		sum += max(0, cpuOf(child)) // a child that has just ended is, or soon will be, among those waited for
	}
	return sum
}

// family returns a process and its living descendants.
func family(pid int) []int {
	list := []int{pid}
	for _, child := range spawn.Children(pid) {
		list = append(list, family(child)...)
	}
	return list
}

// members returns the living processes of a group.
func members(group int) (list []int) {
	files, _ := filepath.Glob("/proc/[0-9]*")
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(file))
		if err != nil {
			continue
		}
		if fields, err := spawn.Stat(pid); err == nil && string(fields[2]) == strconv.Itoa(group) {
			list = append(list, pid)
		}
	}
	return list
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

// stampOf returns a unique name for a living process: its start, in ticks since a boot that has a unique id. A process
// that only waits to be reaped is no longer alive.
func stampOf(pid int) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	fields, err := spawn.Stat(pid)
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
