// How long threads ran, and how long they were ready to run and waited for a core.

package host

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// Threads has what the main thread of each process has done since it began; nil if the system does not tell.
type Threads map[int]Thread

// Thread is how long a thread ran, and for how long it was ready to run and something else had the core.
type Thread struct{ Ran, Waited time.Duration }

// ReadThreads reads Linux's schedstat of processes, below the root of a file system: it is that of the main thread.
func ReadThreads(root fs.FS, pids []int) (t Threads) {
	for _, pid := range pids {
		text, err := fs.ReadFile(root, fmt.Sprintf("proc/%d/schedstat", pid))
		if err != nil {
			continue // it is gone, or the kernel keeps no such figures
		}
		if ran, waited, ok := parseSchedstat(string(text)); ok {
			if t == nil {
				t = Threads{}
			}
			t[pid] = Thread{ran, waited}
		}
	}
	return t
}

// Busiest returns what the thread did after before that slept least since; nothing of threads that have begun or ended
// meanwhile, and zeros if there is none else.
func (t Threads) Busiest(before Threads) (busiest Thread) {
	for pid, now := range t {
		then, known := before[pid]
		if since := (Thread{now.Ran - then.Ran, now.Waited - then.Waited}); known && since.Ran+since.Waited > busiest.Ran+busiest.Waited {
			busiest = since
		}
	}
	return busiest
}

// RunDelay has the time that each thread has waited for a core while it was ready to run, by the thread's id; nil if the
// system does not say.
type RunDelay map[string]time.Duration

// ReadRunDelay reads Linux's schedstat of each thread, below the root of a file system. That of the process, which has no
// directory "task" in its path, is the main thread's alone.
func ReadRunDelay(root fs.FS) RunDelay {
	const tasks = "proc/self/task"
	dirs, _ := fs.ReadDir(root, tasks)
	var all RunDelay
	for _, thread := range dirs {
		text, err := fs.ReadFile(root, path.Join(tasks, thread.Name(), "schedstat"))
		if err != nil {
			continue // the thread has ended meanwhile, or the kernel keeps no such figures
		}
		if _, waited, ok := parseSchedstat(string(text)); ok {
			if all == nil {
				all = RunDelay{}
			}
			all[thread.Name()] = waited
		}
	}
	return all
}

// parseSchedstat reads "ran waited slices", times in ns (sched-stats.txt of the kernel). A thread that has never run is not
// one that reads its own file: such zeros are those of a kernel that does not count.
func parseSchedstat(text string) (ran, waited time.Duration, ok bool) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return 0, 0, false
	}
	first, err := strconv.ParseInt(fields[0], 10, 64)
	second, err2 := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || err2 != nil || first < 0 || second < 0 || first+second <= 0 {
		return 0, 0, false
	}
	return time.Duration(first), time.Duration(second), true
}

// Longest returns how long the thread waited after before that waited longest.
func (d RunDelay) Longest(before RunDelay) (most time.Duration) {
	for thread, waited := range d {
		most = max(most, waited-before[thread])
	}
	return most
}

// Since returns how long the threads waited after before, summed over all of them; negative if that is not known. What a thread
// waited that has ended meanwhile is lost; Go's threads hardly ever end.
func (d RunDelay) Since(before RunDelay) (sum time.Duration) {
	if d == nil || before == nil {
		return -1
	}
	for thread, waited := range d {
		sum += max(0, waited-before[thread])
	}
	return sum
}
