package servers

// What only Linux can do: CPU times of living processes, and processes that can be identified for certain.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers/spawn"
)

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
