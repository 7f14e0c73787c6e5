package runner

// One trial: from the server that it needs to its record.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/sharing"
	"github.com/lockbench/lockbench/workloads/target"
)

// trial is one under way.
type trial struct {
	*Runner
	Job
	server *target.Server
	prefix string // of its names
	warned bool   // that names may be left
}

// Measure runs one trial and returns its record. The error is a *matrix.Misfit if the cell makes no sense with this
// server.
func (r *Runner) Measure(ctx context.Context, j Job) (*results.Record, error) {
	j.Plan.Command = r.Cells[j.Cell].Plan.Command
	r.opened++
	t := &trial{Runner: r, Job: j, prefix: r.names(j.Cell, &j.Plan)}
	if !j.Plan.Shared {
		t.prefix += fmt.Sprintf("%d:", r.opened)
	}
	if r.Observer != nil {
		r.Observer.Begin(j)
		defer r.Observer.End()
	}
	rec, err := t.measure(ctx)
	if rec != nil {
		r.scrub(rec)
	}
	return rec, err
}

func (t *trial) measure(ctx context.Context) (rec *results.Record, err error) {
	defer drivers.Catch(&err)
	p := t.Plan
	if t.server, err = t.servers[t.Cells[t.Cell].Side].Server(ctx, p); err != nil {
		return nil, err
	}
	local := spec.ShareOf(&p, 0).Plan(p) // what this process makes of it
	if err := t.server.CheckLimits(local); err != nil {
		return nil, err
	}
	if left := t.leaves("stopped at once"); left != "" {
		t.left.Store(&left)
		defer t.left.Store(nil)
	}
	defer func() {
		switch drivers.ClassOf(err) {
		case drivers.ClassCanceled, drivers.ClassTimeout, drivers.ClassClosed: // no service may know what it has left
			t.warnLeft(err)
		}
	}()
	warning, err := t.server.CheckServer(ctx, p, t.prefix)
	if err != nil {
		return nil, err
	}
	svc, err := t.server.Open(ctx, local, t.prefix)
	if err != nil {
		return nil, err
	}
	defer t.close(svc)
	beside, end, err := t.server.Neighbour(ctx, p, t.prefix)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := target.CheckRoom(ctx, local, svc); err != nil {
		return nil, err
	}
	_, pool := matrix.Connections(&p)
	run := workloads.Run{
		Plan: p, Service: svc, Prefix: t.prefix, ServerCPU: t.server.CPU, ServerThreads: t.server.Threads(),
		Pool: pool, Neighbour: beside, Record: t.begin(), SayOnce: t.SayOnce, Stop: t.Stop,
	}
	if warning != "" {
		run.Record.Warnings = append(run.Record.Warnings, warning)
	}
	leave, err := t.enter(ctx, &run)
	if err != nil {
		return nil, err
	}
	defer leave()
	if t.Observer != nil {
		run.Progress = t.Observer.Update
		run.Watch = func(v workloads.View) { t.Observer.Watch(v, t.Trial) }
	}
	defer t.share(&run)()
	rec, err = run.Do(ctx)
	if left := run.Left(); left != nil {
		t.warnLeft(left)
	}
	return rec, err
}

// begin returns what the record begins with.
func (t *trial) begin() results.Record {
	c := &t.Cells[t.Cell]
	rec := results.Record{
		Run: t.id, Cell: t.Cell, Trial: t.Trial.Trial + 1, Side: c.Side, Pair: c.Pair, Wrong: c.Wrong,
		Env: host.With(t.Env, t.Plan.Driver), Server: t.server.Describe(),
	}
	if t.Plan.Server == matrix.External {
		rec.Prefix = t.prefix
	}
	if rec.Server.Network == results.Unverified {
		rec.Warnings = append(rec.Warnings, Unverified)
	}
	return rec
}

// Unverified is what there is to say of results.Unverified.
const Unverified = "TLS not verified: whoever answers there is measured, and can read the password"

// Failed returns the record of a trial that could not be measured.
func (r *Runner) Failed(j Job, why error) *results.Record {
	j.Plan.Command = r.Cells[j.Cell].Plan.Command
	t := &trial{Runner: r, Job: j, server: r.servers[r.Cells[j.Cell].Side].Running(j.Plan)}
	rec := t.begin()
	rec.Schema, rec.ID, rec.Started = results.SchemaVersion, rand.Text(), time.Now().UTC()
	rec.Plan, rec.Traits, rec.Cost = j.Plan, workloads.Recorded(r.Cells[j.Cell].Traits), results.UnknownCost()
	rec.Server.Kind, rec.Partial = j.Plan.Server, why.Error()
	r.scrub(&rec)
	return &rec
}

// leaves says what may be left on a user's server; it is empty for any other.
func (t *trial) leaves(why string) string {
	if t.Plan.Server != matrix.External {
		return ""
	}
	return fmt.Sprintf("names that begin with %s may be left on %s (%s)", t.names(t.Cell, &t.Plan), t.Target(t.Cell).Redacted, why)
}

// warnLeft says what may be left, and why first.
func (t *trial) warnLeft(why error) {
	if text := t.leaves(why.Error()); text != "" && !t.warned {
		t.Say("%s", text)
	}
	t.warned = true
}

// close closes a service of the trial. The last user of a table drops it.
func (t *trial) close(svc drivers.Service) {
	if err := svc.Close(); err != nil {
		t.warnLeft(err)
	}
}

// enter takes the trial's place among those that share its keys, until leave is called after it. The places are locks
// of the driver's first design, whatever the trial measures, on connections of their own. The error is a
// *matrix.Misfit if those cannot serve.
func (t *trial) enter(ctx context.Context, run *workloads.Run) (leave func(), err error) {
	p := run.Plan
	if !p.Shared {
		return func() {}, nil
	}
	d, err := matrix.Driver(&p)
	if err != nil {
		return nil, err
	}
	first := d.Designs()[0]
	if has := first.Traits; !has.Exclusive || !has.Owned || !has.Session && !has.Renews {
		return nil, &matrix.Misfit{What: p.Driver + " -shared", Why: "its first design, " + first.Name +
			", cannot tell whether other runs are there: it would have to be exclusive, owned, and renewed or bound to a session"}
	}
	p.Lock, p.Renew, p.Clients, p.Wait = first.Name, !first.Traits.Session, sharing.Sessions, wait.None
	p.TTL = time.Minute + workloads.CleanTime(p.Keys)
	p.Release, p.Conns, p.Lockers, p.Handover, p.Pipelining, p.FlushDelay = "", 0, 0, "", "", 0
	svc, err := t.server.Open(ctx, p, run.Prefix)
	if err != nil {
		return nil, err
	}
	if run.Place, err = sharing.Enter(ctx, svc, run.Prefix, p.TTL); err != nil {
		return nil, errors.Join(fmt.Errorf("-shared: %w", err), svc.Close())
	}
	return func() {
		if n := run.Place.After; n > 0 {
			t.SayOnce("%s for the names that begin with %s; the last one deletes them",
				format.Plural(n, "other run"), run.Prefix)
		}
		t.close(svc)
	}, nil
}

// share has the other processes make their shares of a trial until end is called.
func (t *trial) share(run *workloads.Run) (end func()) {
	p := run.Plan
	if p.Processes <= 1 {
		return func() {}
	}
	with := fleet.Trial{Cell: t.Cell, Prefix: run.Prefix}
	if t.Allows != nil {
		with.Search = fleet.SearchOf(p)
	}
	if s := t.server; p.Server == matrix.Private || p.Server == matrix.Embedded {
		with.Server = &fleet.Server{URLs: s.URLs, Network: s.Network, Master: s.Master}
	}
	load := t.leader.Begin(with, p)
	run.Share, run.Fleet = spec.ShareOf(&p, 0), load
	return load.End
}

// scrub hides secrets in what a record quotes of others, and makes it fit for a terminal.
func (r *Runner) scrub(rec *results.Record) {
	clean := func(text *string) { *text = strings.Map(format.Visible, r.Secrets.Scrub(*text)) }
	for _, text := range []*string{&rec.Partial, &rec.Server.Version, &rec.Server.Mode, &rec.Server.Persistence} {
		clean(text)
	}
	for i := range rec.Warnings {
		clean(&rec.Warnings[i])
	}
	samples := []map[string]string{rec.Counts.ErrorSample}
	for i := range rec.Classes {
		samples = append(samples, rec.Classes[i].Counts.ErrorSample)
	}
	for _, of := range samples {
		for class, sample := range of {
			clean(&sample)
			of[class] = sample
		}
	}
	for reason, n := range rec.Safety.Ended {
		delete(rec.Safety.Ended, reason)
		clean(&reason)
		rec.Safety.Ended[reason] += n
	}
}
