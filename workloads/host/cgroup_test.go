// What is read of cgroups and of the threads' run delay, from files of a made-up /proc and /sys.

package host

import (
	"testing"
	"testing/fstest"
	"time"
)

// files makes a file system of names and contents.
func files(pairs ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return root
}

const (
	mountsOne = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:12 - cgroup cgroup rw,cpuacct,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	groupsOne = "4:cpuset:/elsewhere\n3:cpu,cpuacct:/docker/abc\n0::/elsewhere\n"
	mountsTwo = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	dirOne    = "sys/fs/cgroup/cpu,cpuacct/"
)

func TestThrottling(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after fstest.MapFS
		want          time.Duration // -1: unknown
		quota         float64
	}{
		{"version 2",
			files("proc/self/cgroup", "0::/app\n", "proc/self/mountinfo", mountsTwo,
				"sys/fs/cgroup/app/cpu.stat", "usage_usec 7\nnr_throttled 2\nthrottled_usec 250\n", "sys/fs/cgroup/app/cpu.max", "50000 100000\n"),
			files("proc/self/cgroup", "0::/app\n", "proc/self/mountinfo", mountsTwo,
				"sys/fs/cgroup/app/cpu.stat", "usage_usec 9\nnr_throttled 9\nthrottled_usec 1250\n", "sys/fs/cgroup/app/cpu.max", "50000 100000\n"),
			ms, 0.5},
		{"version 2, the quota is an ancestor's",
			files("proc/self/cgroup", "0::/pod/app\n", "proc/self/mountinfo", mountsTwo,
				"sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 7\n", "sys/fs/cgroup/pod/app/cpu.max", "max 100000\n",
				"sys/fs/cgroup/pod/cpu.stat", "throttled_usec 250\n", "sys/fs/cgroup/pod/cpu.max", "150000 100000\n"),
			files("proc/self/cgroup", "0::/pod/app\n", "proc/self/mountinfo", mountsTwo,
				"sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 9\n", "sys/fs/cgroup/pod/app/cpu.max", "max 100000\n",
				"sys/fs/cgroup/pod/cpu.stat", "throttled_usec 3250\n", "sys/fs/cgroup/pod/cpu.max", "150000 100000\n"),
			3 * ms, 1.5},
		{"version 2, no quota anywhere",
			files("proc/self/cgroup", "0::/\n", "proc/self/mountinfo", mountsTwo, "sys/fs/cgroup/cpu.stat", "usage_usec 7\n"),
			files("proc/self/cgroup", "0::/\n", "proc/self/mountinfo", mountsTwo, "sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
			0, 0},
		{"version 2 in a container that sees the host's path",
			files("proc/self/cgroup", "0::/kubepods/x\n", "proc/self/mountinfo", "29 23 0:26 /kubepods/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/cpu.stat", "throttled_usec 0\n"),
			files("proc/self/cgroup", "0::/kubepods/x\n", "proc/self/mountinfo", "29 23 0:26 /kubepods/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
				"sys/fs/cgroup/cpu.stat", "throttled_usec 2000\n"),
			2 * ms, 0},
		{"version 2 outside what is mounted",
			files("proc/self/cgroup", "0::/../other\n", "proc/self/mountinfo", mountsTwo, "sys/fs/cgroup/cpu.stat", "throttled_usec 0\n"),
			files("proc/self/cgroup", "0::/../other\n", "proc/self/mountinfo", mountsTwo, "sys/fs/cgroup/cpu.stat", "throttled_usec 2000\n"),
			2 * ms, 0},
		{"version 1 beside version 2",
			files("proc/self/cgroup", groupsOne, "proc/self/mountinfo", mountsOne,
				dirOne+"docker/abc/cpu.stat", "nr_periods 1\nthrottled_time 5\n", dirOne+"docker/abc/cpu.cfs_quota_us", "50000\n", dirOne+"docker/abc/cpu.cfs_period_us", "100000\n",
				dirOne+"cpu.stat", "throttled_time 0\n", dirOne+"cpu.cfs_quota_us", "-1\n", dirOne+"cpu.cfs_period_us", "100000\n",
				"sys/fs/cgroup/unified/elsewhere/cpu.stat", "throttled_usec 1\n"),
			files("proc/self/cgroup", groupsOne, "proc/self/mountinfo", mountsOne,
				dirOne+"docker/abc/cpu.stat", "nr_periods 9\nthrottled_time 4000005\n", dirOne+"docker/abc/cpu.cfs_quota_us", "50000\n", dirOne+"docker/abc/cpu.cfs_period_us", "100000\n",
				dirOne+"cpu.stat", "throttled_time 0\n", dirOne+"cpu.cfs_quota_us", "-1\n", dirOne+"cpu.cfs_period_us", "100000\n",
				"sys/fs/cgroup/unified/elsewhere/cpu.stat", "throttled_usec 99000\n"),
			4 * ms, 0.5},
		{"a mount point with a blank",
			files("proc/self/cgroup", "0::/\n", "proc/self/mountinfo", `29 23 0:26 / /my\040groups rw - cgroup2 cgroup2 rw`+"\n", "my groups/cpu.stat", "throttled_usec 0\n"),
			files("proc/self/cgroup", "0::/\n", "proc/self/mountinfo", `29 23 0:26 / /my\040groups rw - cgroup2 cgroup2 rw`+"\n", "my groups/cpu.stat", "throttled_usec 2000\n"),
			2 * ms, 0},
		{"nothing there", files(), files(), -1, 0},
		{"not mounted", files("proc/self/cgroup", "0::/\n"), files("proc/self/cgroup", "0::/\n"), -1, 0},
		{"a mounted one that cannot be read",
			files("proc/self/cgroup", "0::/a\n", "proc/self/mountinfo", mountsTwo), files("proc/self/cgroup", "0::/a\n", "proc/self/mountinfo", mountsTwo), -1, 0},
		{"malformed",
			files("proc/self/cgroup", "0::/\nrubbish\n:\n", "proc/self/mountinfo", "rubbish\n - - -\n"+mountsTwo, "sys/fs/cgroup/cpu.stat", "throttled_usec many\n", "sys/fs/cgroup/cpu.max", "50000\n"),
			files("proc/self/cgroup", "0::/\n", "proc/self/mountinfo", mountsTwo, "sys/fs/cgroup/cpu.stat", "throttled_usec -7\n", "sys/fs/cgroup/cpu.max", "some 100000\n"), -1, 0},
	} {
		after := ReadThrottling(c.after)
		if got := after.Since(ReadThrottling(c.before)); got != c.want {
			t.Errorf("%s: stopped for %v, want %v", c.name, got, c.want)
		}
		if after.Quota != c.quota {
			t.Errorf("%s: a quota of %v cores, want %v", c.name, after.Quota, c.quota)
		}
	}
}

func TestRunDelay(t *testing.T) {
	before := files("proc/self/task/7/schedstat", "1000 500 3\n", "proc/self/task/8/schedstat", "1000 900000 3\n", "proc/self/schedstat", "9 9 9\n")
	for _, c := range []struct {
		name  string
		after fstest.MapFS
		want  time.Duration
	}{
		{"two threads, one of which has ended since, and a new one",
			files("proc/self/task/7/schedstat", "5000 1000500 9\n", "proc/self/task/9/schedstat", "100 2000000 1\n"), 3 * ms},
		{"one of them cannot be read", files("proc/self/task/7/schedstat", "5000 1000500 9\n", "proc/self/task/8/stat", "8\n"), ms},
		{"malformed", files("proc/self/task/7/schedstat", "5000 many\n", "proc/self/task/8/schedstat", ""), -1},
		{"a kernel that does not count", files("proc/self/task/7/schedstat", "0 0 0\n"), -1},
		{"the main thread's alone", files("proc/self/schedstat", "5000 1000500 9\n"), -1},
		{"nothing there", files(), -1},
	} {
		if got := ReadRunDelay(c.after).Since(ReadRunDelay(before)); got != c.want {
			t.Errorf("%s: waited %v, want %v", c.name, got, c.want)
		}
	}
	if got := ReadRunDelay(before).Since(ReadRunDelay(files())); got != -1 {
		t.Errorf("without a first reading: waited %v, want that it is unknown", got)
	}
}
