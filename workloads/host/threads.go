// What the main threads of other processes did: they ran, or waited for a core.

package host

import (
	"fmt"
	"io/fs"
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
