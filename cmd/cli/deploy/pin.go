package deploy

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/host"
)

// CheckPin returns why this process cannot be kept apart from a server, and nil if it can.
func CheckPin() error {
	cores, err := host.Cores()
	if err != nil {
		return err
	}
	if lockbench, _ := host.Split(cores, 1); lockbench == nil {
		return fmt.Errorf("lockbench and its server need a core each, and they may use core %d alone", cores[0])
	}
	return nil
}

// Pin keeps this process and the servers of a cell on cores of their own, if the cell says so, until undo is called. Go runs on
// as many processors as lockbench has cores meanwhile. The servers have been started.
//
// It is off by default, because it takes from both the core that the other leaves idle. On two cores that other programs kept
// busy (load 10), rueidis set-nx on 10,240 keys granted 0.57 times as many locks with it as without for one client, 0.61 for 64
// and 0.92 for 512 (medians of 7 interleaved trials; single ones from 0.11 to 1.68).
func (ds *Deployments) Pin(p spec.Plan) (pinned results.Cores, undo func() error, err error) {
	s := ds.running[deploymentOf(p)]
	if !p.Pin || s == nil || s.PIDs == nil {
		return pinned, func() error { return nil }, nil
	}
	all, err := host.Cores()
	if err != nil {
		return pinned, nil, err
	}
	pids, want := s.PIDs(), len(all)
	if s.service.SingleThreaded {
		want = len(pids)
	}
	pinned.Lockbench, pinned.Server = host.Split(all, want)
	procs := runtime.GOMAXPROCS(0)
	undo = func() error {
		runtime.GOMAXPROCS(procs)
		return move(s.Running, all, all)
	}
	runtime.GOMAXPROCS(min(procs, len(pinned.Lockbench)))
	if err := move(s.Running, pinned.Lockbench, pinned.Server); err != nil {
		return results.Cores{}, nil, errors.Join(err, undo())
	}
	return pinned, undo, nil
}

// move lets this process run on the first cores and its servers on the second.
func move(s *servers.Running, lockbench, server []int) error {
	err := host.Move(os.Getpid(), lockbench)
	for _, pid := range s.PIDs() {
		err = errors.Join(err, host.Move(pid, server))
	}
	return err
}

// Threads returns the processes of a cell's servers of which the main thread executes all commands; nil if there is none.
func (ds *Deployments) Threads(p spec.Plan) func() []int {
	if s := ds.running[deploymentOf(p)]; s != nil && s.service != nil && s.service.SingleThreaded {
		return s.PIDs
	}
	return nil
}
