// Package runner runs the trials of an experiment: it starts the servers, brings the processes of a fleet together,
// and turns each trial into a record, which it writes to a file. It knows plans and targets, and no flags.
package runner

import (
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// Experiment is what a run measures, and where. It is data alone.
type Experiment struct {
	matrix.Matrix
	Targets map[string]target.Targets // by the side of a cell, which is "" in a run of one
	Place   fleet.Place               // of this process among those of the run
}

// Target returns where the trials of a cell run.
func (e *Experiment) Target(cell int) target.Target {
	c := &e.Cells[cell]
	return e.Targets[c.Side].Of(c.Plan.Driver)
}

// AllTargets returns those of both sides.
func (e *Experiment) AllTargets() (all []target.Target) {
	for _, side := range []string{"", results.SideBase, results.SideHead} {
		all = append(all, e.Targets[side].List...)
	}
	return all
}

// Processes returns how many the biggest cell has.
func (e *Experiment) Processes() (n int) {
	for _, c := range e.Cells {
		n = max(n, c.Plan.Processes)
	}
	return n
}

// Deployments returns the servers of each side. The sides share them where they can.
func (e *Experiment) Deployments() (map[string]*target.Deployments, error) {
	if targets, one := e.Targets[""]; one {
		ds, err := target.New(targets, e.Cells)
		return map[string]*target.Deployments{"": ds}, err
	}
	base, head := e.Targets[results.SideBase], e.Targets[results.SideHead]
	b, h, err := target.Both(base, head, e.Side(results.SideBase), e.Side(results.SideHead))
	return map[string]*target.Deployments{results.SideBase: b, results.SideHead: h}, err
}
