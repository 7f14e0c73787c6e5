package workloads_test

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// TestNeighbours has busy loops beside a run: what they used is that of other programs, and not of lockbench or its
// server.
func TestNeighbours(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	cpus := runtime.NumCPU()
	p := spec.Plan{
		Driver: "rueidis", Server: "private", Lock: "set-nx", Wait: "poll", Poll: ms, Keys: 64, Seed: 1, Duration: time.Second,
		Oracle: true, IOTimeout: 10 * time.Second, Load: spec.Load{Clients: 4, TTL: time.Minute, Hold: 5 * ms},
	}
	driver, err := drivers.Lookup(p.Driver)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := driver.Open(t.Context(), drivers.Config{
		Lock: p.Lock, Addrs: []string{server.URL()}, Prefix: "beside:", Clients: p.Clients, IOTimeout: p.IOTimeout, TTL: p.TTL, Params: p.ParamMap(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	var loops []*exec.Cmd
	began := time.Now()
	for range 2 * cpus {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	r, err := (&workloads.Run{Plan: p, Service: svc, Prefix: "beside:", Record: results.Record{Env: results.Env{CPUs: cpus}}}).Do(t.Context())
	took, used := time.Since(began), time.Duration(0)
	for _, loop := range loops {
		loop.Process.Kill()
		loop.Wait()
		used += loop.ProcessState.UserTime()
	}
	if err != nil {
		t.Fatal(err)
	}
	l, cores := r.Limit(), used.Seconds()/took.Seconds()
	t.Logf("%s: lockbench %.2f, server %.2f, others %.2f, stolen %.2f of %d cores; the loops %.2f", l.By, r.Generator.CPU, l.ServerCores,
		l.Others, l.Stolen, cpus, cores)
	if l.Others < 0.8*cores {
		t.Errorf("other programs used %.2f cores, of which the loops %.2f", l.Others, cores)
	}
	if r.Generator.Saturated && l.By.Busy() && l.By != results.ByOthers && l.Others > l.Stolen {
		t.Errorf("limited by %s", l.By)
	}
}
