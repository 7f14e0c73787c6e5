// Running totals of a trial under way, for observers. They cost nothing until they are read.

package workloads

import (
	"maps"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// View shows the running totals of one trial. Any goroutine may read them once the load has begun, also after the trial.
type View struct{ e *engine }

// Plan returns the plan of the trial.
func (v View) Plan() spec.Plan { return v.e.run.Plan }

// Began returns when the load began.
func (v View) Began() time.Time { return v.e.began }

// Snapshot returns where the trial stands.
func (v View) Snapshot() Snapshot {
	phase, _ := v.e.phase.Load().(Phase)
	return v.e.snapshot(phase, 0, 0)
}

// Values returns what has been recorded of a metric in the measured window so far.
func (v View) Values(m results.MetricIndex) results.Values { return results.Total(v.e.sources(m)...) }

// Series returns the trial second by second.
func (v View) Series() []results.Interval { return v.e.timeseries.series() }

// Ended returns how many acquisitions have ended in that way since the load began, warm-up included.
func (v View) Ended(o results.Outcome) int64 {
	n := int64(0)
	for _, r := range v.e.recorders() {
		n += r.Ended(o)
	}
	return n
}

// Errors returns all errors by class since the load began, warm-up included, and 0 for the classes that there were none
// of: a rate of them would miss the first.
func (v View) Errors() map[string]int64 {
	all := map[string]int64{}
	for _, class := range drivers.Classes {
		all[string(class)] = 0
	}
	maps.Copy(all, v.e.errors.byClass(func(c *errorClass) int64 { return c.all }))
	return all
}

func (e *engine) recorders() (list []*results.Recorder) {
	for _, cl := range e.classes {
		list = append(list, cl.recorder)
	}
	return list
}

// sources returns one metric of all recorders.
func (e *engine) sources(m results.MetricIndex) (list []results.Source) {
	for _, r := range e.recorders() {
		list = append(list, results.Source{Recorder: r, Metric: m})
	}
	return list
}

// grants returns the latencies by which a series goes: the response of clients in an open loop, the acquisition of others.
func (e *engine) grants() (list []results.Source) {
	for _, cl := range e.classes {
		list = append(list, cl.grants())
	}
	return list
}

func (cl *class) grants() results.Source {
	if cl.open {
		return results.Source{Recorder: cl.recorder, Metric: results.ResponseIndex}
	}
	return results.Source{Recorder: cl.recorder, Metric: results.AcquireIndex}
}

// violations returns the violations that the oracle has seen, if there is an oracle.
func (e *engine) violations() int64 {
	if e.oracle == nil {
		return 0
	}
	return e.oracle.Violations()
}

// snapshot returns where the trial stands.
func (e *engine) snapshot(phase Phase, elapsed, total time.Duration) Snapshot {
	s := Snapshot{
		Phase: phase, Elapsed: elapsed, Total: total,
		Acquired: e.granted(), Errors: e.errors.total(), Violations: e.violations(),
		P99: time.Duration(e.timeseries.p99.Load()),
	}
	for _, cl := range e.classes {
		s.Waiting += cl.waiting.Load()
		if cl.open {
			s.Open = true
			dropped := cl.arrivals.refused.Load()
			s.Offered += cl.queue.Offered() + dropped
			s.Dropped += dropped
			s.Queue += cl.queue.Len()
			s.Pending += cl.queue.Offered() - cl.recorder.Attempts()
		}
	}
	if e.run.Fleet != nil {
		results.Add(&s, e.run.Fleet.Others())
	}
	if e.run.Share.Rank > 0 && e.cut.Load() {
		s.Lost = e.why
	}
	return s
}
