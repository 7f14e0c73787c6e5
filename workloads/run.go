// Package workloads makes the load: it turns a plan and an open service into a record. It knows the contract in
// package drivers and no implementation of it.
//
// A trial goes through five phases. Open: one session and one way of waiting a client. Warm-up: the load runs and
// nothing is recorded. Measure: it goes on, and what ends inside this window is recorded; the window has a length, or a
// number of operations (budget, arrivals.go). Drain: clients stop waiting, finish the request that is under way and release what
// they hold. Clean: the keys are deleted by name.
//
// Clients come in classes (class.go), each a closed loop, where the next cycle begins when the last one is over, or an
// open one, where clients serve arrivals that come by themselves (arrivals.go). What goes wrong with holders in
// production can be planted (hold.go).
package workloads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/alarm"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/oracle"
	"github.com/lockbench/lockbench/workloads/sharing"
)

// Run is one trial of one cell.
type Run struct {
	Plan    spec.Plan
	Service drivers.Service // opened for this plan: design, clients, wakes
	Prefix  string          // run-unique; keys are Prefix + "0", Prefix + "1", …
	Share   spec.Share      // the part of the plan's load that this process makes; all of it without a Fleet

	// Record is what the caller alone knows of the trial, which its record begins with: Run, Cell, Trial, Prefix, Side, Pair,
	// Env, Warnings, and the Server's Addr, Network and, if the server does not tell, Name and Persistence.
	Record results.Record

	// ServerCPU, if set, is the CPU time that the server's process has used since it started, for services that do not
	// tell it themselves; negative if it is not known.
	ServerCPU func() time.Duration

	// ServerThreads, if set, returns the processes of the server of which the main thread executes all commands.
	ServerThreads func() []int

	// Pool is how many connections all clients share of which a request takes one for as long as it lasts, and waits if
	// there is none; 0 if requests share connections (pipelining), or each client has its own.
	Pool int

	// Neighbour is who sends the plan's probes, if it has any: a service opened beside the one under load.
	Neighbour drivers.Prober

	// SayOnce, if set, prints what should be known before the load ends, unless it has printed the same text before.
	SayOnce func(format string, args ...any)

	// Progress, if set, is called about four times a second from one goroutine.
	Progress func(Snapshot)

	// Stop, if set, is called like Progress while the window is open. If it returns why the trial is to stop, that is the
	// record's Partial.
	Stop func(Snapshot) (why string)

	// Watch, if set, is called once, when the load begins.
	Watch func(View)

	// Fleet, if set, are the other processes that make the load of the plan with this one, rank 0, whose record is of all.
	Fleet Fleet

	// Place, if set, is the trial's among those of other runs with the same keys, which the last of them deletes.
	Place *sharing.Place

	left error // see Left
}

// Snapshot is what a progress line can show while a run goes on.
type Snapshot struct {
	Phase      Phase
	Elapsed    time.Duration `ranks:"-"` // in the phase
	Total      time.Duration `ranks:"-"` // of the phase; 0 if it has no fixed length
	Acquired   int64         // since the run began
	Errors     int64
	Violations int64
	Waiting    int64         // clients that wait for a lock now, however long
	Lost       string        // which of several processes are lost, or cannot go on, and why; empty if none is
	P99        time.Duration `ranks:"max"` // of what was granted in the last second: the response in an open loop, else the acquisition; 0 if nothing was

	// What follows is that of clients in an open loop.
	Open    bool  // there are some
	Offered int64 // arrivals that were due since the load began
	Dropped int64 // of those, the ones that found the queue full
	Queue   int   // arrivals that wait for a client
	Pending int64 // arrivals that have come and are not over: they wait for a client or a lock, or hold one
}

// Phase is a part of a trial; see the package comment.
type Phase string

const (
	PhaseOpen    Phase = "open"
	PhaseWarmup  Phase = "warm-up"
	PhaseMeasure Phase = "measure"
	PhaseDrain   Phase = "drain"
	PhaseClean   Phase = "clean"
)

const (
	progressEvery = 250 * time.Millisecond
	pings         = 101 // round trips before the load, of which the median is the record's RTT

	// The clean-up has a limit that no server comes near which still answers. What it gives up stays on the user's
	// server.
	cleanTimeout = 30 * time.Second
	cleanPerKey  = time.Millisecond
)

// Do runs the trial and returns its whole record. When ctx is cancelled it drains: clients stop waiting, release what they
// hold, and the record is complete but for being Partial. An error means that there is nothing worth recording.
func (r *Run) Do(ctx context.Context) (*results.Record, error) {
	meet := func(context.Context) (time.Time, error) { return time.Now(), nil }
	if r.Fleet != nil {
		meet = r.Fleet.Meet
	}
	e, err := r.load(ctx, meet)
	if err != nil {
		if r.Place != nil { // the others leave it to this trial to delete what they have left
			r.left = r.clean(KeyNames(r.Prefix, r.Plan.Keys))
		}
		return nil, err
	}
	if r.Fleet != nil {
		e.gather(ctx)
	}
	e.clean()
	r.left = e.cleanError
	return e.record(), nil
}

// load makes the load, to the end of its last request. It begins when meet says.
func (r *Run) load(ctx context.Context, meet func(context.Context) (time.Time, error)) (*engine, error) {
	if err := matrix.Check(r.Plan, r.Service.Traits()); err != nil {
		return nil, err
	}
	e, err := newEngine(r)
	if err != nil {
		return nil, err
	}
	defer e.stopWaiting()
	defer e.watchVotes()()
	if err := e.open(ctx); err != nil {
		if misfit, ok := errors.AsType[*matrix.Misfit](err); ok {
			return nil, misfit // what the plan asks of the sessions, all of them are without
		}
		return nil, fmt.Errorf("opening %s: %w", format.Plural(len(e.clients), "client"), err)
	}
	e.rtt = e.ping(ctx)
	e.sampled = sampleLimit(e.rtt)
	if r.Share.Rank == 0 { // one process asks the server for all
		e.inspectionCost = e.measureInspection(ctx)
		e.probe.idle(ctx)
	}
	start, err := meet(ctx)
	if err != nil {
		e.abandon()
		return nil, err
	}
	e.measure(ctx, start)
	e.drain()
	e.probe.sending.Wait() // for a request, which the driver's IO time-out bounds
	e.timeseries.finish()
	e.all = e.count()
	return e, nil
}

// abandon ends the clients of a load that does not begin.
func (e *engine) abandon() {
	e.begin(time.Now())
	e.closeAt(0)
	close(e.start)
	e.closeQueues()
	e.stopWaiting()
	e.drain()
}

// Left returns why keys of the trial that Do has run are still on the server; nil if they were deleted.
func (r *Run) Left() error { return r.left }

// engine is the state that the clients of a trial share. What a client reads in its loop is constant but for end,
// which changes once at the most.
type engine struct {
	run      *Run
	root     fs.FS // of the system, for what Linux tells in files
	traits   drivers.Traits
	cleans   bool // the keys are deleted in the end
	passes   bool // a release makes the next client in line the holder
	clock    drivers.Clock
	keys     []string
	classes  []*class
	clients  []client          // of the first class, then of the second, …
	workers  []*worker         // that carry them; nil if each has a goroutine
	rooms    []*wait.Room      // client i waits in number i modulo their number
	recorder *results.Recorder // the first class's, which also takes what belongs to none
	oracle   *oracle.Oracle    // nil if it is off

	start       chan struct{}   // closed when all may begin
	stopping    context.Context // done when nobody may wait any longer; waits see it, requests do not
	stopWaiting context.CancelFunc
	stop        <-chan struct{} // stopping.Done()
	finished    sync.WaitGroup

	began time.Time
	from  time.Duration // the measured window, on clock: from…
	end   atomic.Int64  // …until, exclusive
	cut   atomic.Bool   // the run was stopped before its time
	why   string        // and not by its caller, but for this reason

	standing   standing
	room       string       // the warning that the server has none for the load; empty: it has
	phase      atomic.Value // Phase
	timeseries *timeseries
	probe      *probe
	ticker     *ticker

	holds          *oracle.Logs   // of several processes; else nil
	skew           time.Duration  // by how much the load began too late
	all            figures        // what this process has counted, and then with what the others have
	ranks          []results.Rank // nil without others
	swept          oracle.Swept
	unswept        string // what the sweep has left out; empty if nothing
	rtt            time.Duration
	sampled        time.Duration  // how long a sampled hold may be
	opened         drivers.Server // as it was before the load; empty if it did not tell
	inspectionCost drivers.Usage  // what one reading of the server costs it
	before, after  reading
	cleanError     error
	closeError     error

	budget     *budget // of -n; nil without
	errors     errorLog
	stuck      stuck
	dead       struct{ locked, waited atomic.Int64 } // nanoseconds; see results.Bound
	ended      endings
	panicked   atomic.Pointer[error] // the first panic of a client
	splitVotes atomic.Int64          // tries of the measured window
	watchdog   watchdog
}

func newEngine(r *Run) (*engine, error) {
	classes, err := newClasses(r)
	if err != nil {
		return nil, err
	}
	e := &engine{
		run:      r,
		root:     os.DirFS("/"),
		traits:   r.Service.Traits(),
		keys:     KeyNames(r.Prefix, r.Plan.Keys),
		classes:  classes,
		clients:  make([]client, classes[len(classes)-1].first+classes[len(classes)-1].Clients),
		recorder: classes[0].recorder,
		errors:   errorLog{prefix: r.Prefix},
		start:    make(chan struct{}),
	}
	e.passes = e.traits.Fair || r.Plan.Handover == wait.HandoverSwap
	_, e.cleans = drivers.As[drivers.Cleaner](r.Service)
	e.cleans = e.cleans && !r.Plan.Shared
	if r.Plan.Oracle {
		e.oracle = oracle.New(r.Plan.Keys)
		if !r.Share.Whole() {
			e.holds = oracle.NewLogs(len(e.clients), LogLimit(r.Share.Ranks))
		}
	}
	if r.Plan.Ops > 0 {
		low, high := r.Share.Range(int(r.Plan.Ops))
		e.budget = newBudget(e, int64(high-low))
	}
	e.stopping, e.stopWaiting = context.WithCancel(context.Background())
	e.stop = e.stopping.Done()
	e.timeseries, e.probe, e.ticker = newTimeseries(e), newProbe(e), newTicker(e)
	return e, nil
}

// KeyNames returns the names of n keys, all in one piece of memory: clients jump between them at random, and each
// name in a place of its own would be a cache miss of its own.
func KeyNames(prefix string, n int) []string {
	var all []byte
	keys, ends := make([]string, n), make([]int, n)
	for i := range keys {
		all = strconv.AppendInt(append(all, prefix...), int64(i), 10)
		ends[i] = len(all)
	}
	text, start := string(all), 0
	for i, end := range ends {
		keys[i] = text[start:end]
		start = end
	}
	return keys
}

// caught calls f, which calls a driver, and makes an error of a crash.
func caught(f func() error) (err error) {
	defer drivers.Catch(&err)
	return f()
}

// ping returns the median of a few bare round trips, and 0 if the service cannot tell or does not answer.
func (e *engine) ping(ctx context.Context) time.Duration {
	p, ok := drivers.As[drivers.Pinger](e.run.Service)
	if !ok {
		return 0
	}
	var trips []time.Duration
	for range pings {
		sent := time.Now()
		if caught(func() error { return p.Ping(ctx) }) != nil {
			return 0
		}
		trips = append(trips, time.Since(sent))
	}
	slices.Sort(trips)
	return trips[len(trips)/2]
}

// begin sets the clock to zero at the start of the load.
func (e *engine) begin(start time.Time) {
	p := &e.run.Plan
	e.began = start
	e.clock = drivers.ClockAt(start)
	e.startWatchdog()
	e.from = p.Warmup
	e.end.Store(math.MaxInt64)
	if p.Duration > 0 {
		e.end.Store(int64(p.Warmup + p.Duration))
	}
	if e.budget != nil && e.budget.total == 0 { // others have all of -n
		e.closeAt(e.from + 1)
	}
}

// measure lets the clients go at the start and watches them until the window closes or ctx is done.
func (e *engine) measure(ctx context.Context, start time.Time) {
	e.begin(start)
	new(alarm.Timer).Sleep(-e.clock.Now(), nil, nil)
	e.skew = e.clock.Now()
	close(e.start)
	if e.run.Watch != nil {
		e.run.Watch(View{e})
	}
	e.timeseries.begin()
	e.probe.begin()
	e.ticker.begin()
	stopArrivals := e.startArrivals()

	whole := e.watch(ctx, PhaseWarmup, 0, e.from)
	e.before = e.read(ctx)
	whole = whole && e.watch(ctx, PhaseMeasure, e.from, e.until())
	stopArrivals()
	if !whole {
		if rank := e.run.Share.Rank; rank > 0 && e.why != "" {
			e.why = fmt.Sprintf("rank %d: %s", rank, e.why)
		}
		e.cut.Store(true) // from now on, rank 0 may see why
		e.closeAt(e.clock.Now())
		if e.run.Fleet != nil {
			e.run.Fleet.Stop()
		}
	}
	close(e.probe.stopped)
	e.ticker.close()
	e.timeseries.close()
	e.closeQueues()
	e.errors.close()
	e.after = e.read(context.WithoutCancel(ctx))
	e.stopWaiting()
}

func (e *engine) until() time.Duration { return time.Duration(e.end.Load()) }

// inside returns how much of the time from begin to finish fell into the measured window.
func (e *engine) inside(begin, finish time.Duration) time.Duration {
	return max(0, min(finish, e.until())-max(begin, e.from))
}

// watch reports progress until the clock reads to, or -n is reached. It answers false if ctx was done before, or the
// load cannot go on.
func (e *engine) watch(ctx context.Context, phase Phase, from, to time.Duration) bool {
	e.phase.Store(phase)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	over := time.NewTimer(to - e.clock.Now())
	defer over.Stop()
	var spent <-chan struct{}
	if e.budget != nil {
		spent = e.budget.spent
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-over.C:
			return e.tolerable()
		case <-spent:
			return e.tolerable()
		case <-tick.C:
			elapsed := e.clock.Now() - from
			e.report(phase, elapsed, e.length(phase, elapsed, to-from))
			e.lookForRoom()
			if !e.tolerable() || phase == PhaseMeasure && e.stopped(elapsed) {
				return false
			}
		}
	}
}

// stopped reports whether the caller wants the trial to stop, and remembers why.
func (e *engine) stopped(elapsed time.Duration) bool {
	if e.run.Stop != nil {
		e.why = e.run.Stop(e.snapshot(PhaseMeasure, elapsed, 0))
	}
	return e.why != ""
}

// tolerable reports whether the load can go on; if not, it remembers why. It is asked at the end as well: a short run may be
// over before the first look, and must not pass for whole because of the moment at which it broke.
func (e *engine) tolerable() bool {
	if err := e.panicked.Load(); err != nil {
		e.why = fmt.Sprintf("a client has crashed: %v", *err)
		return false
	}
	if err := e.broken(); err != nil {
		e.why = err.Error()
		return false
	}
	if e.why = e.standing.look(e); e.why != "" {
		return false
	}
	if e.run.Share.Rank == 0 && e.run.Fleet != nil { // it judges for all
		e.why = e.run.Fleet.Others().Lost
	}
	return e.why == ""
}

// broken returns why the processes that the sessions are in have no use any more.
func (e *engine) broken() error {
	if o, ok := drivers.As[drivers.Outside](e.run.Service); ok {
		return o.Broken()
	}
	return nil
}

// length returns how long a phase will take in all, as far as can be told after elapsed; planned is its greatest length. What
// -n operations will take is reckoned from those that have ended.
func (e *engine) length(phase Phase, elapsed, planned time.Duration) time.Duration {
	if phase != PhaseMeasure || e.budget == nil {
		return planned
	}
	length := time.Duration(0)
	if ended := e.budget.ended(); ended > 0 {
		length = time.Duration(min(float64(elapsed)/ended, float64(matrix.MaxDuration)))
	}
	if e.run.Plan.Duration > 0 && (length == 0 || length > planned) {
		return planned
	}
	return length
}

func (e *engine) report(phase Phase, elapsed, total time.Duration) {
	e.phase.Store(phase)
	if e.run.Progress != nil {
		e.run.Progress(e.snapshot(phase, elapsed, total))
	}
}

// drain waits for the clients. Nobody waits for a lock any longer, so what is left is one request each, which the
// driver's IO time-out bounds.
func (e *engine) drain() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.finished.Wait()
		e.stopWatchdog()
		e.forClients(func(id int) { e.clients[id].close() })
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	since := time.Now()
	for {
		select {
		case <-done:
			e.closeError = closeRooms(e.rooms)
			return
		case <-tick.C:
			_ = e.broken() // which ends the requests to a process that does not answer
			e.report(PhaseDrain, time.Since(since), 0)
		}
	}
}

// clean deletes the run's keys, however the run went.
func (e *engine) clean() {
	e.report(PhaseClean, 0, 0)
	e.cleanError = e.run.clean(e.keys)
}

// clean deletes the keys, unless other runs still use them. It is patient with a user's server alone: a private one neither
// restarts nor loads data, and takes the keys along when it is gone.
func (r *Run) clean(keys []string) error {
	c, ok := drivers.As[drivers.Cleaner](r.Service)
	remove := func() error {
		if !ok {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), CleanTime(len(keys)))
		defer cancel()
		attempt := func() error { return caught(func() error { return c.Clean(ctx, keys) }) }
		if r.Plan.Server != matrix.Private {
			return drivers.RetryCleanup(ctx, attempt)
		}
		switch err := attempt(); drivers.ClassOf(err) {
		case drivers.ClassConnect, drivers.ClassClosed, drivers.ClassTimeout:
			return nil
		default:
			return err
		}
	}
	if r.Place != nil {
		return caught(func() error { return r.Place.Leave(remove) })
	}
	return remove()
}

// CleanTime returns how long the clean-up of so many keys may take.
func CleanTime(keys int) time.Duration { return cleanTimeout + time.Duration(keys)*cleanPerKey }
