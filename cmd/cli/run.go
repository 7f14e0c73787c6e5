// lockbench run: every trial of every cell, a record each, and the table in the end.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/cmd/cli/machine"
	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
)

func (p *program) runCommand() *cobra.Command {
	c, o := p.command(&cobra.Command{
		Use:   "run",
		Short: "Measure one lock, or a matrix of them (implied by any flag)",
		Args:  noArgs,
	}, runFlags)
	c.RunE = func(c *cobra.Command, _ []string) error { return p.run(c.Context(), o) }
	return c
}

// run does what the options ask for. Everything that can be wrong with them is said before anything is started.
func (p *program) run(ctx context.Context, o *options) (err error) {
	plan, err := p.readPlan(o)
	if err != nil {
		return err
	}
	table, err := p.tableOptions(o)
	if err != nil {
		return err
	}
	table.Verbose = o.on("verbose")
	r := runner{program: p, plan: plan, output: o.text("output"), id: newRunID(), limits: machine.ReadLimits()}
	if err := r.check(); err != nil {
		return err
	}
	if o.on("dry-run") {
		return plan.print(p.stdout)
	}
	if r.live, err = openLive(ctx, o, plan, r.env.Lockbench); err != nil {
		return err
	}
	defer func() { err = r.live.close(p.stderr, err) }()
	r.announce()
	if !o.on("quiet") {
		r.progress = progress.New(p.stderr, len(plan.Order))
	}
	return r.run(ctx, table)
}

// readPlan reads from the options, and from what they name, what is measured and where.
func (p *program) readPlan(o *options) (plan, error) {
	if err := o.fill(p.env); err != nil {
		return plan{}, err
	}
	for _, s := range p.env.unknownVars() {
		fmt.Fprintf(p.stderr, "lockbench: warning: no flag reads the variable %s\n", s)
	}
	if err := o.readWorkload(p.stdin); err != nil {
		return plan{}, err
	}
	run, err := planAll(o, p.env, p.stdin, func(s *servers.Service) (string, error) { return s.Locate() })
	if err != nil {
		for _, s := range run.Skipped[min(1, len(run.Skipped)):] { // the error has the first
			fmt.Fprintf(p.stderr, "lockbench: skipped: %v\n", s)
		}
		return plan{}, err
	}
	if slices.ContainsFunc(run.Cells, func(c matrix.Cell) bool { return c.Plan.Pin }) {
		if err := deploy.CheckPin(); err != nil {
			return plan{}, usageErrorf("-pin: %w", err)
		}
	}
	run.registerSecrets(&p.secrets)
	return run, nil
}

// check reads what else the options say of a run, and looks at the files that they name. It leaves nothing behind.
func (r *runner) check() error {
	o := r.options
	if err := checkLive(o); err != nil {
		return err
	}
	revision, err := readRevision(o)
	if err != nil {
		return err
	}
	if r.comparison, err = comparisonOf(o, r.plan); err != nil {
		return err
	}
	if r.comparison == nil {
		if r.thresholds, err = o.thresholds(giveBase); err != nil {
			return err
		}
	}
	if r.outputs, r.judged, err = r.runOutputs(r.comparison != nil); err != nil {
		return err
	}
	if err := checkOutput(o.get("output")); err != nil {
		return err
	}
	r.env = machine.Env()
	r.env.Revision = revision
	r.env.Variables = machine.Variables(r.program.env.lookup, r.secrets.Scrub)
	if r.comparison == nil {
		return nil
	}
	return r.readBaseline(r.comparison, o, r.plan, r.env)
}

// announce says on stderr what there is to know before the load begins.
func (r *runner) announce() {
	for _, line := range r.program.env.ignored(r.services()) {
		fmt.Fprintf(r.stderr, "lockbench: warning: %s\n", line)
	}
	r.plan.announce(r.stderr)
	r.live.announce(r.stderr)
	if c := r.comparison; c != nil {
		if text := c.how.TooFew(c.cells, c.least, r.Trials, r.options.versus(), maxTrials); text != "" {
			fmt.Fprintf(r.stderr, "lockbench: warning: %s\n", text)
		}
	}
}

// announce says on stderr what is left out and what to expect, each thing once.
func (p plan) announce(w *progress.Writer) {
	var warned []string
	for i, c := range p.Cells {
		if t := p.of(i).targets.Of(c.Plan.Driver); t.Fallback && !slices.Contains(warned, t.Why) {
			warned = append(warned, t.Why)
			fmt.Fprintf(w, "lockbench: %s: measuring the embedded server, whose speed says nothing about a real one\n", t.Why)
		}
	}
	for _, s := range p.Skipped {
		fmt.Fprintf(w, "lockbench: skipped: %v\n", s)
	}
	p.announceSame(w)
	for _, c := range p.Cells {
		for _, text := range warnings(c) {
			if !slices.Contains(warned, text) {
				warned = append(warned, text)
				fmt.Fprintf(w, "lockbench: warning: %s\n", text)
			}
		}
	}
}

// runner is a run under way.
type runner struct {
	*program
	plan
	output      string
	env         results.Env
	limits      machine.Limits
	progress    *progress.Line
	deployments map[string]*deploy.Deployments // by side
	servers     *deploy.Deployments            // of the present trial
	live        *live
	comparison  *comparison // nil if nothing is compared
	outputs     []output[reported]
	judged      []output[compared]  // of the comparison
	thresholds  []compare.Threshold // of a run by itself
	unsaved     []*results.Record   // that could not be written yet

	id       string                 // of the run
	opened   int                    // trials so far
	hint     atomic.Pointer[string] // what to do if the trial under way is given up; nil if nothing
	records  results.Collector
	violated bool         // by a lock that claims to exclude
	warned   []string     // what needs to be said once, however many cells it is true of
	out      map[int]bool // cells whose remaining trials are left out: they failed, or make no sense
	misfit   map[int]bool // those that make no sense
	failed   bool
	ran      bool // some cell was more than skipped
}

// run runs all trials and renders what there is, also after an interruption.
func (r *runner) run(ctx context.Context, table draw.Options) error {
	if err := r.deploy(); err != nil {
		return err
	}
	defer r.closeServer()

	for i, t := range r.Order {
		if ctx.Err() != nil {
			break
		}
		if r.out[t.Cell] {
			continue
		}
		c := r.Cells[t.Cell].Plan
		r.progress.Begin(i+1, r.Label(t.Cell), c.Duration, r.Length(i+1))
		err := r.trial(ctx, t)
		r.progress.End()
		if err != nil && (ctx.Err() == nil || drivers.ClassOf(err) != drivers.ClassCanceled) {
			r.failed = true
			fmt.Fprintf(r.stderr, "lockbench: %s%s\n", r.name(t.Cell), oneLine(err.Error()))
			r.leaveOut(t.Cell)
		}
	}
	return r.finish(ctx, table)
}

// deploy gets ready to start servers, and for a run that is stopped. What it has begun closeServer ends.
func (r *runner) deploy() error {
	deployments, err := deploymentsOf(r.plan) // a password may come from a pipe to which nobody writes
	if err != nil {
		return err
	}
	r.draining.Store(true)
	r.out, r.misfit = map[int]bool{}, map[int]bool{}
	r.deployments = deployments
	for _, f := range deployments {
		r.secrets.Add(string(f.Password))
	}
	giveUp := func() {
		if hint := r.hint.Load(); hint != nil {
			fmt.Fprint(r.stderr, *hint)
		}
		r.giveUp()
	}
	r.abandon.Store(&giveUp)
	r.announcePrefix()
	return nil
}

// finish writes the table, or what -format asks for, and chooses the exit code.
func (r *runner) finish(ctx context.Context, table draw.Options) error {
	r.saveRest()
	cells := r.records.Cells()
	if ctx.Err() != nil && len(r.outputs) == 0 { // of a comparison that will not be
		r.outputs = []output[reported]{{exporter: reportFormats[0]}}
	}
	check := compare.CheckCells(cells, r.thresholds, r.missing(cells))
	if len(cells) > 0 && writeOutputs(r.program, r.outputs, r.reported(cells, check, table)) != nil {
		r.failed = true // it has been said
	}
	if ctx.Err() != nil {
		r.dropComparison(len(cells) > 0)
		return r.interrupted(ctx, ctx.Err())
	}
	verdict := cmp.Or(r.decide(cells, table), r.checked(check, r.options)) // a run has one of the two
	switch {
	case r.violated:
		return exitCode(exitViolated)
	case r.failed:
		return exitCode(exitError)
	case !r.ran:
		return usageErrorf("nothing to run")
	}
	return verdict
}

// interrupted returns the error of a run that a signal has stopped, and err for any other.
func (r *runner) interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintf(r.stderr, "lockbench: %v\n", context.Cause(ctx))
	return exitCode(exitInterrupted)
}

// trial runs one trial and puts its record where it belongs. The error has stopped this cell, not the run.
func (r *runner) trial(ctx context.Context, t matrix.Trial) error {
	rec, err := r.measure(ctx, t, r.at(t), nil)
	if err != nil {
		return r.leaveOrFail(t, err)
	}
	r.ran = true
	return r.keep(ctx, rec)
}

// measure runs one trial, of a plan that its cell has or one like it, and returns the record; stop may be nil.
func (r *runner) measure(ctx context.Context, t matrix.Trial, c spec.Plan, stop func(workloads.Snapshot) string) (rec *results.Record, err error) {
	defer drivers.Catch(&err)
	r.servers = r.deployments[r.Cells[t.Cell].Side]
	r.opened++
	prefix := fmt.Sprintf("%s%d:", r.prefix(), r.opened)
	if err := r.servers.Start(ctx, c); err != nil {
		return nil, err
	}
	if err := r.limits.Check(&c, r.servers.Network(c)); err != nil {
		return nil, err
	}
	hint := r.leftLine(c, "stopped at once")
	r.hint.Store(&hint)
	defer r.hint.Store(nil)
	defer func() {
		switch drivers.ClassOf(err) {
		case drivers.ClassCanceled, drivers.ClassTimeout, drivers.ClassClosed: // what it has left may be known to no service
			r.sweepLeft(c)
		}
	}()
	warning, err := r.servers.CheckServer(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	cores, unpin, err := r.servers.Pin(c)
	if err != nil {
		return nil, fmt.Errorf("-pin: %w", err)
	}
	defer func() {
		if failed := unpin(); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	svc, err := r.servers.Open(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	defer func() { r.closeService(c, svc) }()
	beside, err := r.servers.Neighbour(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	if err := deploy.CheckRoom(c, svc); err != nil {
		return nil, err
	}
	run := workloads.Run{
		Plan: c, Service: svc, Prefix: prefix, ServerCPU: r.servers.CPU(c), ServerThreads: r.servers.Threads(c),
		Pool: matrix.Pool(&c), Replays: r.of(t.Cell).options.replays.Of(&c),
		Neighbour: beside.Prober, Record: r.begin(t, c, warning), Stop: stop,
	}
	run.Record.Cores = cores
	if r.progress != nil {
		run.Progress = r.progress.Update
	}
	r.live.follow(&run, t)
	rec, err = run.Do(ctx)
	r.live.end()
	if left := run.Left(); left != nil {
		r.warnLeft(c, left)
	}
	return rec, err
}

// leaveOrFail leaves out what is left of a cell that makes no sense, and says why. Any other error is one.
func (r *runner) leaveOrFail(t matrix.Trial, err error) error {
	misfit, ok := errors.AsType[*matrix.Misfit](err)
	if !ok {
		return err
	}
	r.warnOnce("skipped: " + misfit.Error())
	r.misfit[t.Cell] = true
	r.leaveOut(t.Cell)
	return nil
}

// leaveOut drops the remaining trials of a cell, and those of its partner, which would have nothing to be compared with.
func (r *runner) leaveOut(i int) {
	r.out[i] = true
	if partner, ok := r.Partner(i); ok && !r.out[partner] {
		r.out[partner] = true
		r.warnOnce(r.name(partner) + "left out from here on, as there is nothing to compare it with")
	}
}

// warnOnce writes a line, unless it has been written before.
func (r *runner) warnOnce(line string) {
	if !slices.Contains(r.warned, line) {
		r.warned = append(r.warned, line)
		fmt.Fprintf(r.stderr, "lockbench: %s\n", line)
	}
}

// begin returns what a record begins with.
func (r *runner) begin(t matrix.Trial, c spec.Plan, warning string) results.Record {
	rec := results.Record{
		Run: r.id, Cell: t.Cell, Trial: t.Trial + 1, Side: r.Cells[t.Cell].Side, Pair: r.Cells[t.Cell].Pair,
		Wrong: r.Cells[t.Cell].Wrong, Env: r.env, Server: r.servers.Describe(c),
	}
	if c.Server == matrix.External {
		rec.Prefix = r.prefix()
	}
	if warning != "" {
		rec.Warnings = []string{warning}
	}
	return rec
}

// keep appends a record to the file and judges it.
func (r *runner) keep(ctx context.Context, rec *results.Record) error {
	r.secrets.ScrubRecord(rec)
	if err := r.records.Add(rec); err != nil {
		return err
	}
	r.violated = r.violated || rec.Violated()
	if r.output != "" {
		if err := r.save(rec); err != nil {
			return err
		}
	}
	if rec.Partial != "" && ctx.Err() == nil {
		return errors.New(rec.Partial)
	}
	return nil
}

// abandonTimeout bounds the clean-up of an exit that waits for nothing.
const abandonTimeout = 500 * time.Millisecond

// giveUp stops a server of our own if that is instant. It dies with this process in any case.
func (r *runner) giveUp() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = r.stopServers()
	}()
	select {
	case <-closed:
	case <-time.After(abandonTimeout):
	}
}

// closeServer stops a server of our own.
func (r *runner) closeServer() {
	r.abandon.Store(nil)
	if err := r.stopServers(); err != nil {
		fmt.Fprintf(r.stderr, "lockbench: stopping the servers: %s\n", oneLine(err.Error()))
	}
}

// stopServers stops them on both sides; what is both's has nothing to stop the second time.
func (r *runner) stopServers() error {
	var errs []error
	for _, f := range r.deployments {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
