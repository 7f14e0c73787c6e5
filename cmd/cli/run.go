// lockbench run: every trial of every cell, a record each, and the table in the end.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

func (p *program) runCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "run",
		Short: "Measure one lock, or a matrix of them (implied by any flag)",
		Args:  noArgs,
	}, runFlags, func(c *cobra.Command, o *options, _ []string) error { return p.run(c.Context(), o) })
}

// run does what the options ask for. Everything that can be wrong with them is said before anything is started.
func (p *program) run(ctx context.Context, o *options) error {
	e, err := p.readExperiment(o)
	if err != nil {
		return err
	}
	r := p.newRunner(e, o.text("output"))
	if err := r.check(); err != nil {
		return err
	}
	return r.conduct(ctx, "lockbench run", len(e.Order), e.print, r.run)
}

// conduct does what a command wants of its trials, which are so many, or 0 if nobody knows: rank 0 measures, the others follow it,
// and -dry-run prints.
func (r *underWay) conduct(ctx context.Context, command string, trials int, print func(io.Writer) error, measure func(context.Context) error) (err error) {
	o := r.options
	switch {
	case r.Place.Rank > 0:
		return r.follow(ctx)
	case o.on("dry-run"):
		return r.secrets.Hiding(print)(r.stdout)
	}
	if r.live, err = openLive(ctx, r.program, o, command, r.env.Lockbench); err != nil {
		return err
	}
	defer r.live.close()
	if !o.on("quiet") {
		r.progress = progress.New(r.stderr, trials)
	}
	return measure(ctx)
}

// readExperiment reads from the options, and from what they name, what is measured and where.
func (p *program) readExperiment(o *options) (experiment, error) {
	if err := o.readWorkload(p.stdin); err != nil {
		return experiment{}, err
	}
	place, err := p.findPlace(o)
	if err != nil {
		return experiment{}, err
	}
	run, err := experimentOf(o, p.env, p.stdin, func(s *servers.Service) (string, error) { return s.Locate() })
	if err != nil {
		for _, s := range run.Skipped[min(1, len(run.Skipped)):] { // the error has the first
			p.say("skipped: %v", s)
		}
		return experiment{}, err
	}
	run.Place = place
	learnTargets(&p.secrets, run.AllTargets())
	return run, nil
}

// check reads what else the options say of a run, and looks at the files that they name. It leaves nothing behind.
func (r *underWay) check() error {
	o := r.options
	if err := cmp.Or(checkLive(o), r.checkProcesses()); err != nil {
		return err
	}
	revision, err := readRevision(o)
	if err != nil {
		return err
	}
	if r.comparison, err = comparisonOf(o, r.experiment); err != nil {
		return err
	}
	if r.comparison == nil {
		if r.thresholds, err = o.thresholds(giveBase); err != nil {
			return err
		}
	}
	if err := r.readFormats(); err != nil {
		return err
	}
	if err := checkOutput(o.get("output")); err != nil {
		return err
	}
	r.env.Revision = revision
	if r.comparison == nil {
		return nil
	}
	return r.readBaseline(r.comparison, o, r.experiment, r.env)
}

// announce says on stderr what there is to know before the load begins.
func (r *underWay) announce() {
	r.experiment.announce(r.program)
	r.live.announce(r.program)
	if c := r.comparison; c != nil {
		if text := c.how.TooFew(c.cells, c.least, r.Trials, r.options.versus(), maxTrials); text != "" {
			r.say("warning: %s", text)
		}
	}
}

// announce says on stderr what is left out and what to expect, each thing once.
func (e experiment) announce(p *program) {
	for i := range e.Cells {
		switch t := e.Target(i); {
		case t.Fallback:
			p.sayOnce("%s (install the package %s): measuring the embedded server, whose speed says nothing about a real one", t.Why, t.Service.Packages)
		case t.Network == results.Unverified:
			p.sayOnce("warning: %s: %s", t.Redacted, unverified)
		}
	}
	for _, s := range e.Skipped {
		p.say("skipped: %v", s)
	}
	e.announceSame(p)
	for _, c := range e.Cells {
		for _, text := range warnings(c) {
			p.sayOnce("warning: %s", text)
		}
	}
}

// unverified is what there is to say of results.Unverified.
const unverified = "TLS not verified: whoever answers there is measured, and can read the password"

// underWay is a run under way.
type underWay struct {
	*program
	experiment
	output      string
	env         results.Env
	progress    *progress.Line
	deployments map[string]*target.Deployments // by side
	servers     *target.Deployments            // of the present trial
	live        *live
	leader      *fleet.Leader // of several processes; nil of one
	meeting     meeting
	rendezvous  *fleet.Rendezvous
	question    *question   // of a plan; nil of a run
	comparison  *comparison // nil if nothing is compared
	printer     printer[reported]
	judged      printer[*compare.Comparison]
	thresholds  []compare.Threshold // of a run by itself
	unsaved     []*results.Record   // that could not be written yet

	id       string                 // of the run
	opened   int                    // trials so far
	hint     atomic.Pointer[string] // what to do if the trial under way is given up; nil if nothing
	records  results.Collector
	violated bool         // by a lock that claims to exclude
	out      map[int]bool // cells whose remaining trials are left out: they failed, or make no sense
	misfit   map[int]bool // those that make no sense
	failed   bool
	ran      bool // some cell was more than skipped
}

// newRunner returns what runs an experiment, and appends its records to a file; to none if its name is empty.
func (p *program) newRunner(e experiment, output string) underWay {
	env := host.Env()
	env.Variables = host.Variables(p.env.lookup, p.secrets.Scrub)
	return underWay{program: p, experiment: e, output: output, env: env, id: newRunID(), live: &live{}}
}

// run runs all trials and renders what there is, also after an interruption.
func (r *underWay) run(ctx context.Context) error {
	r.announce()
	return r.withServers(ctx, func() error {
		r.runTrials(ctx)
		return r.finish(ctx)
	})
}

// withServers calls do while there are servers, and the other processes if there are any.
func (r *underWay) withServers(ctx context.Context, do func() error) error {
	if err := r.deploy(); err != nil {
		return err
	}
	defer r.closeServer()
	if err := r.assemble(ctx); err != nil {
		return err
	}
	defer r.disperse(nil)
	return do()
}

// runTrials runs those of all cells by turns.
func (r *underWay) runTrials(ctx context.Context) {
	for i, t := range r.Order {
		if ctx.Err() != nil {
			break
		}
		if err := r.leader.Err(); err != nil {
			r.failed = true
			r.say("the remaining trials are left out: %v", err)
			break
		}
		if r.out[t.Cell] {
			continue
		}
		c := r.Cells[t.Cell].Plan
		label := r.Label(t.Cell)
		r.progress.Begin(i+1, label, c.Duration, r.Length(i+1))
		r.live.page.begin(format.Join(fmt.Sprintf("trial %d of %d", i+1, len(r.Order)), label), r.Length(i+1))
		err := r.trial(ctx, t)
		r.progress.End()
		if err != nil && (ctx.Err() == nil || drivers.ClassOf(err) != drivers.ClassCanceled) {
			r.failed = true
			r.say("%s%s", r.name(t.Cell), err)
			r.leaveOut(t.Cell)
		}
		if i+1 < len(r.Order) && r.ran {
			r.live.page.soFar(func() *report.Document { return report.Run(r.records.Cells(), nil) })
		}
	}
}

// deploy gets ready to start servers, and for a run that is stopped. What it has begun closeServer ends.
func (r *underWay) deploy() error {
	deployments, err := r.Deployments()
	if err == nil {
		err = r.readMeeting()
	}
	if err != nil { // or a signal has come: a password or a token may be in a pipe to which nobody writes
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
func (r *underWay) finish(ctx context.Context) error {
	r.saveRest()
	cells := r.records.Cells()
	stopped := ctx.Err() != nil                 // asked once: a signal from now on comes too late to drop a comparison
	if stopped && len(r.printer.outputs) == 0 { // of a comparison that will not be
		r.printer.outputs = reports.first()
	}
	check := compare.CheckCells(cells, r.thresholds, r.missing(cells))
	check.Objective = r.options.objective(cells)
	found := reported{cells, check}
	var compared error
	if !stopped {
		compared = r.decide(cells)
	}
	if len(cells) > 0 {
		r.printer.write(found)
		r.live.page.endAs(context.Cause(ctx), func(w io.Writer) error { return draw.Page(w, reports.document(found)) })
	}
	if stopped {
		r.dropComparison(len(cells) > 0)
		return r.interrupted(ctx, ctx.Err())
	}
	verdict := cmp.Or(compared, r.printer.code(found)) // a run has one of the two
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
func (r *underWay) interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	r.say("%v", context.Cause(ctx))
	return exitCode(exitInterrupted)
}

// trial runs one trial and puts its record where it belongs. The error has stopped this cell, not the run.
func (r *underWay) trial(ctx context.Context, t matrix.Trial) error {
	rec, err := r.measure(ctx, t, r.at(t), nil)
	if err != nil {
		return r.leaveOrFail(t, err)
	}
	r.ran = true
	return r.keep(ctx, rec)
}

// measure runs one trial, of its cell as that is or changed a little, and returns the record; stop may be nil.
func (r *underWay) measure(ctx context.Context, t matrix.Trial, c spec.Plan, stop func(workloads.Snapshot) string) (rec *results.Record, err error) {
	defer drivers.Catch(&err)
	r.servers = r.deployments[r.Cells[t.Cell].Side]
	r.opened++
	prefix := r.trialPrefix(c)
	if err := r.servers.Start(ctx, c); err != nil {
		return nil, err
	}
	local := spec.ShareOf(&c, 0).Plan(c) // what this process makes of it
	if err := r.servers.CheckLimits(local); err != nil {
		return nil, err
	}
	hint := r.leftLine(c, "stopped at once")
	r.hint.Store(&hint)
	defer r.hint.Store(nil)
	defer func() {
		switch drivers.ClassOf(err) {
		case drivers.ClassCanceled, drivers.ClassTimeout, drivers.ClassClosed: // what it has left may be known to no service
			r.warnLeft(c, err)
		}
	}()
	warning, err := r.servers.CheckServer(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	svc, err := r.servers.Open(ctx, local, prefix)
	if err != nil {
		return nil, err
	}
	defer func() { r.closeService(c, svc) }()
	beside, err := r.servers.Neighbour(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	if err := target.CheckRoom(local, svc); err != nil {
		return nil, err
	}
	run := workloads.Run{
		Plan: c, Service: svc, Prefix: prefix, ServerCPU: r.servers.CPU(c), ServerThreads: r.servers.Threads(c),
		Pool: matrix.Pool(&c), Neighbour: beside.Prober, Record: r.begin(t, c, warning), Stop: stop,
	}
	leave, err := r.enter(ctx, &run)
	if err != nil {
		return nil, err
	}
	defer leave()
	if r.progress != nil || r.live.page != nil {
		run.Progress = func(s workloads.Snapshot) {
			r.progress.Update(s)
			r.live.page.update(s)
		}
	}
	defer r.share(&run, t.Cell, c)()
	r.live.follow(&run, t)
	rec, err = run.Do(ctx)
	r.live.end()
	if left := run.Left(); left != nil {
		r.warnLeft(c, left)
	}
	return rec, err
}

// leaveOrFail leaves out what is left of a cell that makes no sense, and says why. Any other error is one.
func (r *underWay) leaveOrFail(t matrix.Trial, err error) error {
	misfit, ok := errors.AsType[*matrix.Misfit](err)
	if !ok {
		return err
	}
	r.sayOnce("skipped: %v", misfit)
	r.misfit[t.Cell] = true
	r.leaveOut(t.Cell)
	return nil
}

// leaveOut drops the remaining trials of a cell, and those of its partner, which would have nothing to be compared with.
func (r *underWay) leaveOut(i int) {
	r.out[i] = true
	if partner, ok := r.Partner(i); ok && !r.out[partner] {
		r.out[partner] = true
		r.sayOnce("%sleft out from here on, as there is nothing to compare it with", r.name(partner))
	}
}

// begin returns what a record begins with.
func (r *underWay) begin(t matrix.Trial, c spec.Plan, warning string) results.Record {
	rec := results.Record{
		Run: r.id, Cell: t.Cell, Trial: t.Trial + 1, Side: r.Cells[t.Cell].Side, Pair: r.Cells[t.Cell].Pair,
		Wrong: r.Cells[t.Cell].Wrong, Env: host.With(r.env, c.Driver), Server: r.servers.Describe(c),
	}
	if c.Server == matrix.External {
		rec.Prefix = r.trialPrefix(c)
	}
	if warning != "" {
		rec.Warnings = []string{warning}
	}
	if rec.Server.Network == results.Unverified {
		rec.Warnings = append(rec.Warnings, unverified)
	}
	return rec
}

// keep appends a record to the file and judges it.
func (r *underWay) keep(ctx context.Context, rec *results.Record) error {
	r.scrub(rec)
	partial := rec.Partial
	if err := rec.Label(); err != nil {
		r.lose("%strial %d is partial: %s", r.name(rec.Cell), rec.Trial, rec.Partial)
	}
	r.violated = r.violated || rec.Violated()
	r.save(rec)
	if err := r.records.Add(rec); err != nil {
		return err
	}
	if partial != "" && ctx.Err() == nil {
		return errors.New(partial)
	}
	return nil
}

// abandonTimeout bounds the clean-up of an exit that waits for nothing.
const abandonTimeout = 500 * time.Millisecond

// giveUp stops a server of our own if that is instant. It dies with this process in any case.
func (r *underWay) giveUp() {
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
func (r *underWay) closeServer() {
	r.abandon.Store(nil)
	if err := r.stopServers(); err != nil {
		r.say("stopping the servers: %s", err)
	}
}

// stopServers stops them on both sides; what is both's has nothing to stop the second time.
func (r *underWay) stopServers() error {
	var err error
	for _, f := range r.deployments {
		err = errors.Join(err, f.Close())
	}
	return err
}
