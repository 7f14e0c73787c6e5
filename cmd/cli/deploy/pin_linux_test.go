package deploy

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// TestPin keeps this process and a Redis on cores of their own, and frees them again.
func TestPin(t *testing.T) {
	all, err := host.Cores()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2 {
		if err := CheckPin(); err == nil || !strings.Contains(err.Error(), "need a core each") {
			t.Errorf("with one core: %v", err)
		}
		return
	}
	if err := CheckPin(); err != nil {
		t.Fatal(err)
	}
	redis, procs := servertest.Redis(t, servers.RedisOptions{}), runtime.GOMAXPROCS(0)
	p := spec.Plan{Driver: "rueidis", Server: matrix.Private}
	ds := &Deployments{running: map[deployment]*server{
		deploymentOf(p): {Running: &servers.Running{PIDs: redis.PIDs}, service: servers.Named("redis")},
	}}
	if pids := ds.Threads(p)(); !slices.Equal(pids, []int{redis.PID()}) {
		t.Errorf("commands are executed by %v, and the server is %d", pids, redis.PID())
	}

	cores, undo, err := ds.Pin(p)
	if err != nil || cores.Pinned() || undo() != nil {
		t.Errorf("pinned without -pin: %+v, %v", cores, err)
	}
	p.Pin = true
	cores, undo, err = ds.Pin(p)
	if err != nil {
		t.Fatal(err)
	}
	if both := slices.Sorted(slices.Values(slices.Concat(cores.Lockbench, cores.Server))); len(cores.Server) == 0 || !slices.Equal(both, all) {
		t.Errorf("%+v, of %v", cores, all)
	}
	onlyOn(t, os.Getpid(), cores.Lockbench)
	onlyOn(t, redis.PID(), cores.Server)
	if n := runtime.GOMAXPROCS(0); n != min(procs, len(cores.Lockbench)) {
		t.Errorf("Go runs on %d processors", n)
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	onlyOn(t, os.Getpid(), all)
	onlyOn(t, redis.PID(), all)
	if n := runtime.GOMAXPROCS(0); n != procs {
		t.Errorf("Go runs on %d processors afterwards, and did on %d", n, procs)
	}
}

// onlyOn fails unless each thread of a process may run on these cores and no others.
func onlyOn(t *testing.T, pid int, cores []int) {
	t.Helper()
	var want unix.CPUSet
	for _, c := range cores {
		want.Set(c)
	}
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/[0-9]*")
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		var has unix.CPUSet
		if err := unix.SchedGetaffinity(id, &has); err == nil && has != want {
			t.Errorf("thread %d of process %d may not run on the cores %v alone", id, pid, cores)
		}
	}
	if len(threads) == 0 {
		t.Errorf("process %d has no threads", pid)
	}
}
