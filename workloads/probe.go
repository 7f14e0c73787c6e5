// The probe: the latency seen by an unrelated client of the same server.

package workloads

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/matrix"
)

const (
	idleProbes = 50          // before the load…
	idleTime   = time.Second // …within that time at the most
	probeClass = "probe"     // error class of all failed probes
)

// probe sends the plan's probes, one after the other over a connection of its own. A probe that had to wait for a slow one
// before it is measured from when it was due; those that were due and not sent when the window closed count with the time
// that they had waited by then. All others are measured from when they were sent: the server is not to blame for a timer
// that is late, by most of a millisecond where the program is idle. Failed probes are in no distribution: they are counted
// as errors of class "probe".
type probe struct {
	e     *engine
	to    drivers.Prober // nil: there are no probes
	every time.Duration

	idled   int64         // idle probes that were sent
	cost    drivers.Usage // of all of them
	stopped chan struct{}
	sending sync.WaitGroup
	sent    atomic.Int64 // since the load began
}

func newProbe(e *engine) *probe {
	p := &probe{e: e, stopped: make(chan struct{})}
	if rate := e.run.Plan.Probe; rate > 0 && e.run.Neighbour != nil {
		p.to, p.every = e.run.Neighbour, time.Duration(min(float64(time.Second)/rate, float64(matrix.MaxDuration)))
	}
	return p
}

// idle probes the server before there is any load, at the rate of the plan or, if that would take too long, faster. It also
// measures what a probe costs the server.
func (p *probe) idle(ctx context.Context) {
	if p.to == nil {
		return
	}
	_, before, failed := p.e.inspect(ctx)
	every := min(p.every, idleTime/idleProbes)
	clock := drivers.NewClock()
	for due := time.Duration(0); due < idleProbes*every; due += every {
		if ctx.Err() != nil || clock.Now() > idleTime {
			break
		}
		free := clock.Now()
		p.sleep(due - free)
		begun := begins(due, free, clock.Now())
		err := caught(func() error { return p.to.Probe(context.WithoutCancel(ctx)) })
		p.idled++
		if err != nil {
			p.fail(err, false)
			continue
		}
		p.record(results.ProbeIdleIndex, clock.Now()-begun)
	}
	if _, after, err := p.e.inspect(ctx); readable(failed) && readable(err) {
		p.cost = spentBetween(before, after, p.e.inspectionCost)
	}
}

// begin starts to probe. The clock must run.
func (p *probe) begin() {
	if p.to != nil {
		p.sending.Go(p.run)
	}
}

// run sends probes until the window closes. Those of the warm-up are sent and not recorded.
func (p *probe) run() {
	due, free := time.Duration(0), p.e.clock.Now()
	for ; p.sleep(due - free); due += p.every {
		begun := begins(due, free, p.e.clock.Now())
		err := caught(func() error { return p.to.Probe(context.Background()) })
		free = p.e.clock.Now()
		p.sent.Add(1)
		p.take(due, free-begun, err)
	}
	for ; due < p.e.until(); due += p.every { // those that had to wait, and have not been sent
		p.take(due, p.e.until()-due, nil)
	}
}

// begins returns the time from which a probe is measured: when it was due if the one before it was answered later (free), and
// else when it was sent.
func begins(due, free, sent time.Duration) time.Duration {
	if free > due {
		return due
	}
	return sent
}

// take records a probe if it was due in the window, whenever its answer came.
func (p *probe) take(due, took time.Duration, err error) {
	recorded := due >= p.e.from && due < p.e.until()
	if err != nil {
		p.fail(err, recorded)
		return
	}
	if recorded {
		p.record(results.ProbeIndex, took)
	}
}

func (p *probe) record(m results.MetricIndex, took time.Duration) {
	shard := p.e.recorder.Borrow()
	shard.Record(m, took)
	p.e.recorder.Return(shard)
}

func (p *probe) fail(err error, recorded bool) {
	p.e.errors.note(probeClass, fmt.Errorf("%s: %w", drivers.ClassOf(err), err), recorded)
}

// sleep sleeps for d, and returns false once the window has closed.
func (p *probe) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.stopped:
		return false
	default:
	}
	select {
	case <-timer.C:
		return true
	case <-p.stopped:
		return false
	}
}

// spent returns about what n probes have cost the server.
func (p *probe) spent(n int64) drivers.Usage {
	if p.idled == 0 {
		return drivers.Usage{}
	}
	share := func(cost int64) int64 { return int64(float64(cost) * float64(n) / float64(p.idled)) }
	return drivers.Usage{
		CPU:      time.Duration(share(int64(p.cost.CPU))),
		Commands: share(p.cost.Commands),
		BytesIn:  share(p.cost.BytesIn),
		BytesOut: share(p.cost.BytesOut),
	}
}
