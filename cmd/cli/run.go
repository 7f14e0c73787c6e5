// lockbench run: every trial of every cell, a record each, and the table in the end.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/text"
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
	p.completeFlags(c)
	p.completeComparing(c)
	names := slices.Concat(formatNames(reportFormats), formatNames(compareFormats))
	slices.Sort(names)
	_ = c.RegisterFlagCompletionFunc("format", listCompletion(slices.Compact(names))) // the flag exists
	return c
}

// run does what the options ask for. Everything that can be wrong with them is said before anything is started.
func (p *program) run(ctx context.Context, o *options) (err error) {
	if err := o.fill(p.env); err != nil {
		return err
	}
	for _, s := range p.env.unknownVars() {
		fmt.Fprintf(p.stderr, "lockbench: warning: no flag reads the variable %s\n", s)
	}
	if err := o.readWorkload(p.stdin); err != nil {
		return err
	}
	plan, err := planAll(o, p.env, p.stdin, func(s *servers.Service) (string, error) { return s.Locate() })
	if err != nil {
		for _, s := range plan.Skipped[min(1, len(plan.Skipped)):] { // the error has the first
			fmt.Fprintf(p.stderr, "lockbench: skipped: %v\n", s)
		}
		return err
	}
	plan.teach(&p.secrets)
	table, err := p.tableOptions(o)
	if err != nil {
		return err
	}
	table.Verbose = o.on("verbose")
	if err := checkLive(o); err != nil {
		return err
	}
	revision, err := readRevision(o)
	if err != nil {
		return err
	}
	comparison, err := comparisonOf(o, plan)
	if err != nil {
		return err
	}
	var limits []compare.Threshold
	if comparison == nil {
		if limits, err = o.thresholds(giveBase); err != nil {
			return err
		}
	}
	outputs, found, err := o.runOutputs(comparison != nil)
	if err != nil {
		return err
	}
	if o.on("dry-run") {
		return plan.print(p.stdout)
	}
	if err := checkOutput(o.get("output")); err != nil {
		return err
	}
	env := machine.Env()
	env.Revision = revision
	env.Variables = machine.Variables(p.env.lookup, p.secrets.Scrub)
	if comparison != nil {
		if err := p.readBaseline(comparison, o, plan, env); err != nil {
			return err
		}
	}
	live, err := openLive(ctx, o, plan, env.Lockbench)
	if err != nil {
		return err
	}
	for _, line := range p.env.ignored(plan.services()) {
		fmt.Fprintf(p.stderr, "lockbench: warning: %s\n", line)
	}
	plan.announce(p.stderr)
	live.announce(p.stderr)
	if comparison != nil {
		if text := comparison.how.TooFew(comparison.cells, comparison.least, plan.Trials, o.versus(), maxTrials); text != "" {
			fmt.Fprintf(p.stderr, "lockbench: warning: %s\n", text)
		}
	}

	r := runner{
		program: p, plan: plan, output: o.text("output"), id: newRunID(), env: env, limits: machine.ReadLimits(), live: live, comparison: comparison,
		outputs: outputs, judged: found, thresholds: limits,
	}
	if !o.on("quiet") {
		r.progress = progress.New(p.stderr, len(plan.Order))
	}
	defer func() { err = live.close(p.stderr, err) }()
	return r.run(ctx, table)
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
func (r *runner) run(ctx context.Context, table text.Options) error {
	r.draining.Store(true)
	r.out, r.misfit = map[int]bool{}, map[int]bool{}

	deployments, err := deploymentsOf(r.plan)
	if err != nil {
		return err
	}
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
	defer r.closeServer()
	r.announcePrefix()

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

// finish writes the table, or what -format asks for, and chooses the exit code.
func (r *runner) finish(ctx context.Context, table text.Options) error {
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
func (r *runner) trial(ctx context.Context, t matrix.Trial) (err error) {
	defer drivers.Catch(&err)
	c := r.at(t)
	r.servers = r.deployments[r.Cells[t.Cell].Side]
	r.opened++
	prefix := fmt.Sprintf("%s%d:", r.prefix(), r.opened)
	if err := r.servers.Start(ctx, c); err != nil {
		return err
	}
	if err := r.limits.Check(&c, r.servers.Network(c)); err != nil {
		return err
	}
	warning, err := r.servers.CheckServer(ctx, c, prefix)
	if err != nil {
		return err
	}
	svc, err := r.servers.Open(ctx, c, prefix)
	if err != nil {
		return err
	}
	hint := r.leftLine(c, "stopped at once")
	r.hint.Store(&hint)
	defer r.hint.Store(nil)
	defer func() { r.closeService(c, svc) }()
	beside, err := r.servers.Neighbour(ctx, c, prefix)
	if err != nil {
		return r.leaveOrFail(t, err)
	}
	defer beside.Close()
	if err := deploy.CheckRoom(c, svc); err != nil {
		return err
	}
	run := workloads.Run{
		Plan: c, Service: svc, Prefix: prefix, ServerCPU: r.servers.CPU(c), Pool: matrix.Pool(&c), Replays: r.of(t.Cell).options.replays.Of(&c),
		Neighbour: beside.Prober, Record: r.begin(t, c, warning),
	}
	if r.progress != nil {
		run.Progress = r.progress.Update
	}
	r.live.follow(&run, t)
	rec, err := run.Do(ctx)
	r.live.end()
	if left := run.Left(); left != nil {
		r.sayLeft(c, left)
	}
	if err != nil {
		return r.leaveOrFail(t, err)
	}
	r.ran = true
	return r.keep(ctx, rec)
}

// leaveOrFail leaves out what is left of a cell that makes no sense, and says why. Any other error is one.
func (r *runner) leaveOrFail(t matrix.Trial, err error) error {
	misfit, ok := errors.AsType[*matrix.Misfit](err)
	if !ok {
		return err
	}
	r.say("skipped: " + misfit.Error())
	r.misfit[t.Cell] = true
	r.leaveOut(t.Cell)
	return nil
}

// leaveOut drops the remaining trials of a cell, and those of its partner, which would have nothing to be compared with.
func (r *runner) leaveOut(i int) {
	r.out[i] = true
	if partner, ok := r.Partner(i); ok && !r.out[partner] {
		r.out[partner] = true
		r.say(r.name(partner) + "left out from here on, as there is nothing to compare it with")
	}
}

// say writes a line, once.
func (r *runner) say(line string) {
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
	if rec.Counts.Acquired == 0 && rec.Safety.Grants == 0 {
		for _, class := range slices.Sorted(maps.Keys(rec.Counts.ErrorSample)) {
			return fmt.Errorf("not one lock was acquired: %s", rec.Counts.ErrorSample[class])
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
