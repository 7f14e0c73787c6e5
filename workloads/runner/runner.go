package runner

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// Config is how an experiment is run, and who hears of it.
type Config struct {
	Env    results.Env // which every record has
	Output string      // file that records are appended to; empty: none

	// Say prints a message, SayOnce the same one but once, and Lose one about something that was measured and is lost.
	Say, SayOnce, Lose func(format string, args ...any)
	Secrets            Secrets
	Observer           Observer // nil: nobody watches

	Fleet Fleet

	// Allows reports whether rank 0 may choose the rates and clients of a plan. Nil: it chooses nothing.
	Allows func(p *spec.Plan) bool
}

// Fleet is how the processes of a run find each other. One that no engine has started starts the others itself, as
// copies, which it talks to over pipes.
type Fleet struct {
	Child     bool // another process has started this one
	Stdin     io.Reader
	Args, Env []string // of a copy

	Token string        // what ranks prove that they know; see fleet.Place
	Limit time.Duration // how long rank 0 waits for the others
}

// Secrets are the passwords and tokens that no record and no message may have.
type Secrets interface {
	Add(secrets ...string)
	Hide(text string) string  // in what lockbench writes
	Scrub(text string) string // in what others have written
}

// Job is a trial to run.
type Job struct {
	matrix.Trial
	Plan   spec.Plan                             // that of the cell, or what a search makes of it
	Number int                                   // of all trials in their order, from 1
	After  time.Duration                         // planned for all that follow
	Stop   func(workloads.Snapshot) (why string) // see workloads.Run; nil: nothing stops it
}

// Observer watches trials.
type Observer interface {
	Begin(Job)
	Update(workloads.Snapshot)
	Watch(workloads.View, matrix.Trial) // when the load begins
	End()
}

// Runner runs one experiment. Its methods are for one goroutine, but for Abandon.
type Runner struct {
	Experiment
	Config
	*output
	Records results.Collector // of Trials

	id         string                         // of the run
	servers    map[string]*target.Deployments // by side
	leader     *fleet.Leader                  // of several processes; nil of one
	rendezvous *fleet.Rendezvous
	meetAt     string                 // where the ranks meet
	opened     int                    // trials so far
	left       atomic.Pointer[string] // what the trial under way leaves if it is given up; nil: nothing
}

// New returns a runner, and reads the files that logging in takes. A signal may end the program while one of them is a
// pipe to which nobody writes: nothing is started yet.
func New(e Experiment, c Config) (r *Runner, err error) {
	r = &Runner{Experiment: e, Config: c, id: NewID(), output: newOutput(c.Output, c.Secrets.Hide, c.Say, c.Lose)}
	if r.servers, err = e.Deployments(); err != nil {
		return nil, err
	}
	for _, ds := range r.servers {
		r.Secrets.Add(string(ds.Password))
	}
	if e.Place.Rendezvous != "" {
		r.meetAt, err = e.Place.At(c.Fleet.Token)
	}
	return r, err
}

// names is what all names of a cell begin with.
func (r *Runner) names(cell int, p *spec.Plan) string { return namesOf(r.Target(cell).Prefix, r.id, p) }
