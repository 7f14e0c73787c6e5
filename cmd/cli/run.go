// lockbench run: every trial of every cell, a record each, and the table in the end.

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/runner"
)

// run does what the options ask for. Everything that can be wrong with them is said before anything is started.
func (p *program) run(ctx context.Context, o *options, _ []string) error {
	e, err := p.readExperiment(o)
	if err != nil {
		return err
	}
	config, err := p.config(o, e.Experiment)
	if err != nil {
		return err
	}
	end, err := p.readEnding(o, e, config.Env)
	if err != nil {
		return err
	}
	label := func(j runner.Job) string { return e.Label(j.Cell) }
	w := &observer{program: p, command: "lockbench run", of: fmt.Sprintf(" of %d", len(e.Order)), label: label}
	return p.conduct(ctx, o, e.Experiment, config, w, e.print, func(ctx context.Context, r *runner.Runner) error {
		e.announce(p)
		end.announce()
		return r.Do(ctx, func() error {
			out := r.Trials(ctx, func() {
				w.soFar(func() *report.Document { return report.Run(r.Records.Cells(), nil) })
			})
			return end.finish(ctx, r.Records.Cells(), out, w)
		})
	})
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
	run, err := experimentOf(o, p.env, p.stdin, (*servers.Service).Locate)
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

// config reads how an experiment is run. It leaves nothing behind.
func (p *program) config(o *options, e runner.Experiment) (c runner.Config, err error) {
	c = runner.Config{
		Env: host.Env(), Output: o.text("output"), Say: p.say, SayOnce: p.sayOnce, Lose: p.lose, Secrets: &p.secrets,
	}
	c.Env.Variables = host.Variables(p.env.lookup, p.secrets.Scrub)
	c.Env.Revision = format.Line(strings.TrimSpace(o.text("revision"))) // the output of a command ends with a line break
	if err := cmp.Or(checkProcesses(o, e), checkOutput(o.get("output"))); err != nil {
		return c, err
	}
	c.Fleet, err = p.readFleet(o, e.Place)
	return c, err
}

// conduct measures in rank 0, follows it in the others, and prints in a dry run.
func (p *program) conduct(ctx context.Context, o *options, e runner.Experiment, c runner.Config, w *observer,
	preview func(io.Writer) error, measure func(context.Context, *runner.Runner) error) (err error) {
	leads := e.Place.Rank == 0
	switch {
	case o.on("dry-run") && leads:
		return p.secrets.Hiding(preview)(p.stdout)
	case o.on("dry-run"):
		return nil // nobody would lead it
	case leads:
		if err := w.open(ctx, o, c.Env.Lockbench); err != nil {
			return err
		}
		defer w.close()
		if !o.on("quiet") || w.metrics != nil {
			c.Observer = w
		}
	}
	r, err := runner.New(e, c)
	if err != nil {
		return err
	}
	p.draining.Store(true)
	abandon := r.Abandon
	p.abandon.Store(&abandon)
	if leads {
		err = measure(ctx, r)
	} else {
		err = r.Follow(ctx)
	}
	if _, over := err.(exitCode); over || err == nil {
		return err
	}
	return p.interrupted(ctx, err)
}

// interrupted returns the error of a command that a signal has stopped, and err for any other.
func (p *program) interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	p.say("%v", context.Cause(ctx))
	return exitCode(exitInterrupted)
}

// announce says on stderr what is left out and what to expect, each thing once.
func (e experiment) announce(p *program) {
	for i := range e.Cells {
		switch t := e.Target(i); {
		case t.Fallback:
			p.sayOnce("%s (install the package %s): measuring the embedded server, whose speed says nothing about a real one",
				t.Why, t.Service.Packages)
		case t.Network == results.Unverified:
			p.sayOnce("warning: %s: %s", t.Redacted, runner.Unverified)
		}
	}
	for _, s := range e.Skipped {
		p.say("skipped: %v", s)
	}
	for _, c := range e.Cells {
		for _, text := range warnings(c) {
			p.sayOnce("warning: %s", text)
		}
	}
}

// ending is what becomes of a run's records in the end.
type ending struct {
	*program
	experiment
	comparison *comparison // nil if nothing is compared
	thresholds []compare.Threshold
	compared   printer[*compare.Comparison]
	measured   printer[reported] // of a run that compares nothing; with -v also below the table of a comparison
}

// readEnding reads the options of a run's end, and looks at the files that they name.
func (p *program) readEnding(o *options, e experiment, env results.Env) (end *ending, err error) {
	end = &ending{program: p, experiment: e}
	if end.comparison, err = comparisonOf(o, e, &p.secrets); err != nil {
		return nil, err
	}
	if end.comparison == nil {
		if end.thresholds, err = o.thresholds(giveBase); err != nil {
			return nil, err
		}
		end.measured, err = reports.printer(p, o, e.files()...)
		return end, err
	}
	if end.compared, err = comparisons.printer(p, o, e.files()...); err != nil {
		return nil, err
	}
	end.measured = printer[reported]{program: p, kind: reports, outputs: reports.all(end.compared.table)[:1]}
	if opt := o.get("baseline"); opt.text != "" {
		if err := p.readBaseline(end.comparison, opt.text, e, env); err != nil {
			return nil, fmt.Errorf("%s: %w", opt.written(), err)
		}
	}
	return end, nil
}

// announce warns if a comparison has too few trials to find anything.
func (end *ending) announce() {
	if c := end.comparison; c != nil && c.how.Tests() && min(c.least, end.Trials) < compare.Trials {
		end.say("warning: %d + %d trials are too few to show a regression: take %d or more a side (-trials)",
			c.least, end.Trials, compare.Trials)
	}
}

// finish writes the comparison and the table, or what -format asks for, and chooses the exit code.
func (end *ending) finish(ctx context.Context, cells []*results.Cell, out runner.Outcome, w *observer) error {
	stopped := ctx.Err() != nil // asked once: a signal from now on comes too late to drop a comparison
	var missing []string
	for _, i := range out.Missing {
		missing = append(missing, cmp.Or(end.Label(i), "the cell"))
	}
	found := reported{cells, compare.CheckCells(cells, end.thresholds, missing)}
	found.check.Objective = end.options.objective(cells)
	verdict := end.measured.code(found)
	if len(cells) > 0 {
		table := true
		if end.comparison != nil {
			var regressed error
			table, regressed = end.compare(cells, stopped)
			verdict = cmp.Or(regressed, verdict)
		}
		if table {
			end.measured.write(found)
		}
		w.end(ctx, reports.document(found))
	}
	switch {
	case stopped:
		return end.interrupted(ctx, ctx.Err())
	case out.Violated:
		return exitCode(exitViolated)
	case out.Failed:
		return exitCode(exitError)
	case !out.Ran:
		return usageErrorf("nothing to run")
	}
	return verdict
}

// compare prints the comparison that the run was for, and returns its exit code as an error, and whether the run's table
// is to follow. A run that was stopped compares nothing: to stop when one has seen enough is to decide when to look, and
// no p-value knows that.
func (end *ending) compare(cells []*results.Cell, stopped bool) (table bool, verdict error) {
	if stopped {
		end.say("nothing is compared, since the run was stopped early")
		return true, nil
	}
	found, err := end.comparison.compare(cells)
	if err != nil {
		end.say("nothing is compared: %s", err)
		return true, exitCode(exitError)
	}
	verdict = end.compared.end(found)
	table = end.compared.table.Verbose && end.compared.outputs[0].name == tableFormat
	if table {
		fmt.Fprintln(end.stdout)
	}
	return table, verdict
}
