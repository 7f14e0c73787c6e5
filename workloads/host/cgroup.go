// The CPU quota of the cgroup that lockbench runs in (docker --cpus, a limit in Kubernetes), and for how long it kept the
// process from running.

package host

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Throttling is what the cgroups of this process say of its CPU time.
type Throttling struct {
	// stopped has, for each cgroup from the process's own to the uppermost that can be seen, for how long its quota has kept
	// threads from running, summed over the cores. It is nil if no cgroup can be read.
	stopped map[string]time.Duration
	Quota   float64 // the smallest of their quotas, in cores; 0 if there is none
}

// Since is for how long the process was stopped after before: at least the longest of its cgroups' times, which may
// overlap. It is negative if that is not known.
func (t Throttling) Since(before Throttling) time.Duration {
	if t.stopped == nil || before.stopped == nil {
		return -1
	}
	longest := time.Duration(0)
	for dir, now := range t.stopped {
		longest = max(longest, now-before.stopped[dir])
	}
	return longest
}

// ReadThrottling reads cgroups of version 1 or 2 (cgroups(7)), below the root of a file system.
func ReadThrottling(root fs.FS) (t Throttling) {
	mount, dir := cpuCgroup(root)
	if mount == "" {
		return t
	}
	for ; ; dir = path.Dir(dir) {
		if stopped, ok := readStopped(root, dir); ok {
			if t.stopped == nil {
				t.stopped = map[string]time.Duration{}
			}
			t.stopped[dir] = stopped
		}
		if quota := readQuota(root, dir); quota > 0 && (t.Quota == 0 || quota < t.Quota) {
			t.Quota = quota
		}
		if len(dir) <= len(mount) {
			return t
		}
	}
}

// cpuCgroup returns where the hierarchy with the CPU controller is mounted, and the directory of this process in it. Both are
// empty if there is none.
func cpuCgroup(root fs.FS) (mount, dir string) {
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	mounts, _ := fs.ReadFile(root, "proc/self/mountinfo")
	one, two, hasOne, hasTwo := "", "", false, false
	for line := range strings.Lines(string(groups)) { // "4:cpu,cpuacct:/path" (version 1), "0::/path" (version 2)
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(fields) < 3:
		case hasController(fields[1]):
			one, hasOne = fields[2], true
		case fields[0] == "0" && fields[1] == "":
			two, hasTwo = fields[2], true
		}
	}
	for line := range strings.Lines(string(mounts)) { // "33 31 0:30 /root /mount/point rw … - type source options"
		before, after, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		switch {
		case hasOne && kind[0] == "cgroup" && hasController(kind[2]):
			return inMount(place[3], place[4], one)
		case hasTwo && !hasOne && kind[0] == "cgroup2":
			return inMount(place[3], place[4], two)
		}
	}
	return "", ""
}

func hasController(list string) bool { return slices.Contains(strings.Split(list, ","), "cpu") }

// unescape undoes what mountinfo does to white space in paths (proc_pid_mountinfo(5)).
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// inMount returns the directory of a group below the mount point at which the group top of its hierarchy is seen. A container
// often sees its own group as the mount point itself and does not see where that lies in the host's hierarchy.
func inMount(top, point, group string) (mount, dir string) {
	top, mount = unescape.Replace(top), strings.TrimPrefix(path.Clean(unescape.Replace(point)), "/")
	below, inside := strings.CutPrefix(path.Clean(group), strings.TrimSuffix(top, "/"))
	if !inside || below != "" && below[0] != '/' || strings.HasPrefix(below, "/..") {
		return mount, mount
	}
	return mount, path.Join(mount, below)
}

// readStopped is for how long the quota of one cgroup has stopped threads. A group without a quota may say nothing of it.
func readStopped(root fs.FS, dir string) (stopped time.Duration, ok bool) {
	text, err := fs.ReadFile(root, path.Join(dir, "cpu.stat"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return 0, false
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || n < 0 {
			return 0, false
		}
		switch fields[0] {
		case "throttled_time": // version 1, ns
			stopped = time.Duration(n)
		case "throttled_usec": // version 2
			stopped = time.Duration(n) * time.Microsecond
		}
		ok = true
	}
	return stopped, ok
}

// readQuota returns how many cores one cgroup allows; 0 if there is no limit or none can be read.
func readQuota(root fs.FS, dir string) float64 {
	read := func(name string) []string {
		text, _ := fs.ReadFile(root, path.Join(dir, name))
		return strings.Fields(string(text))
	}
	limits := read("cpu.max") // version 2: "50000 100000" or "max 100000"
	if len(limits) == 0 {
		limits = append(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")...) // version 1: no quota is -1
	}
	if len(limits) != 2 {
		return 0
	}
	quota, err := strconv.ParseFloat(limits[0], 64)
	period, err2 := strconv.ParseFloat(limits[1], 64)
	if err != nil || err2 != nil || quota <= 0 || period <= 0 {
		return 0
	}
	return quota / period
}
