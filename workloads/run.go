// Package workloads makes the load: it turns a plan and an open service into a record.
package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// Run is one trial of one cell.
type Run struct {
	Plan    results.Plan
	Service drivers.Service // opened for this plan: design, clients, wakes
	Prefix  string          // run-unique; keys are Prefix + "0", Prefix + "1", …

	// Progress, if set, is called about four times a second from one goroutine.
	Progress func(Snapshot)
}

// Snapshot is what a progress line can show while a run goes on.
type Snapshot struct {
	Phase      string        // "open", "warm-up", "measure", "drain", "clean"
	Elapsed    time.Duration // in the phase
	Total      time.Duration // of the phase; 0 if it has no fixed length
	Acquired   int64         // since the run began
	Errors     int64
	Violations int64
}

// Do runs the trial. When ctx is cancelled it drains: clients stop waiting, release what they hold, and the record
// is complete but for being Partial. An error means that there is nothing worth recording.
// The caller fills the record's Env and the parts of Server that it alone knows (Kind, Addr, Network).
func (r *Run) Do(ctx context.Context) (*results.Record, error) {
	return nil, errors.New("workloads: not here yet")
}
