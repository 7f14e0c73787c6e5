// The cores that threads may run on, which Linux keeps for each thread (sched_setaffinity(2)).

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// moveAttempts is how often the threads of a process are gone through. Each new thread has the cores of the one that started
// it, so that few attempts find any that was started meanwhile.
const moveAttempts = 100

// maxCores is how many a CPUSet has room for.
const maxCores = int(unsafe.Sizeof(unix.CPUSet{})) * 8

// Cores returns the numbers of the logical processors that the calling thread may run on, in ascending order. That is what
// taskset and the cpuset of a cgroup have left.
func Cores() (list []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	for i := range maxCores {
		if set.IsSet(i) {
			list = append(list, i)
		}
	}
	return list, nil
}

// Move lets all threads of a process run on those cores only, and the threads that they will start. A process or a thread
// that is gone is no error.
func Move(pid int, cores []int) error {
	var want unix.CPUSet
	for _, c := range cores {
		want.Set(c)
	}
	for range moveAttempts {
		if moved, err := moveThreads(pid, &want); err != nil || !moved {
			return err
		}
	}
	return fmt.Errorf("process %d starts threads faster than they can be moved", pid)
}

// moveThreads reports whether a thread had to be moved.
func moveThreads(pid int, want *unix.CPUSet) (moved bool, err error) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	for _, thread := range threads {
		id, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			return false, err
		}
		var has unix.CPUSet
		err = unix.SchedGetaffinity(id, &has)
		if err == nil && has != *want {
			moved = true
			err = unix.SchedSetaffinity(id, want)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return false, fmt.Errorf("moving thread %d of process %d to other cores: %w", id, pid, err)
		}
	}
	return moved, nil
}

// siblings returns the numbers of the logical processors that share a physical core with one, as the kernel lists them; "" if
// it does not.
func siblings(core int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", core))
	return string(text)
}
