// The processes of a run, of -processes or of an engine: rank 0 runs it, and the others make their share of each load.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// fleetFlags say where a process stands among others; an engine that starts them says it by itself.
var fleetFlags = []flagDef{
	{"rank", "", groupFleet, "K/N", "", false, "this is process K, from 0, which leads, of a fleet of N; 0/1 runs alone\n(default: as srun, mpirun or an Indexed Job says)"},
	{"rendezvous", "", groupFleet, "HOST:PORT", "", false, "where rank 0 waits for the others (default: as the engine says)"},
	{"join-timeout", "", groupFleet, "TIME", "5m", false, "how long to wait until all processes have come"},
}

// childVariable tells a process that another one has started for -processes which rank it is: "2/4".
const childVariable = "LOCKBENCH_CHILD"

// findPlace returns where this process stands, and gives the plans as many processes as there are.
func (p *program) findPlace(o *options) (fleet.Place, error) {
	if child, ok := p.env.lookup(childVariable); ok {
		var at fleet.Place
		_, err := fmt.Sscanf(child, "%d/%d", &at.Rank, &at.Ranks)
		return at, err
	}
	flags, err := readPlace(o)
	if err != nil {
		return flags, err
	}
	at, err := fleet.Discover(flags, p.env.lookup)
	if err != nil {
		return at, usageErrorf("%w", err)
	}
	if !at.Fleet() {
		return at, nil
	}
	processes := o.get("processes")
	if processes.from != fromDefault {
		return at, usageErrorf("%s: %s has started %s of them: leave it out", processes.written(), at.Engine, format.Plural(at.Ranks, "process"))
	}
	processes.text, processes.from = strconv.Itoa(at.Ranks), fromVariable
	return at, nil
}

// readPlace reads the flags of a fleet: -rank 1/4, or /4 if the engine says which process this is.
func readPlace(o *options) (fleet.Place, error) {
	at := fleet.Place{Rank: -1, Rendezvous: o.text("rendezvous")}
	opt := o.get("rank")
	if opt.text == "" {
		return at, nil
	}
	rank, ranks, _ := strings.Cut(opt.text, "/")
	n, err := spec.ParseInt(ranks)
	k := -1
	if err == nil && rank != "" {
		if k, err = spec.ParseInt(rank); k < 0 {
			k = n
		}
	}
	if err != nil || n < 1 || n > matrix.MaxProcesses || k >= n {
		return at, usageErrorf("%s: must be the number of this process, from 0, and how many there are, as in 0/4", opt.written())
	}
	at.Rank, at.Ranks = k, n
	return at, nil
}

// checkProcesses refuses what a run of several processes cannot do.
func (r *underWay) checkProcesses() error {
	n := r.Processes()
	if n <= 1 {
		return nil
	}
	for _, name := range []string{"live", "metrics-addr"} {
		if opt := r.options.find(name); opt != nil && opt.text != "" && opt.text != "false" {
			return usageErrorf("%s: it would show one of the %d processes: leave it out", opt.written(), n)
		}
	}
	if o := r.options.get("workload"); o.text == "-" {
		return usageErrorf("%s: several processes cannot read one standard input: give a file", o.written())
	}
	if o := r.options.get("password-file"); o.text != "" {
		if info, err := os.Stat(o.text); err == nil && !info.Mode().IsRegular() {
			return usageErrorf("%s: several processes cannot read one pipe: give a file, or set LOCKBENCH_PASSWORD", o.written())
		}
	}
	return nil
}

// identity is what all ranks have to have in common.
func (r *underWay) identity() fleet.Identity {
	var plans []spec.Plan
	for _, c := range r.Cells {
		plans = append(plans, c.Plan)
	}
	return fleet.Identity{
		Ranks: max(r.Place.Ranks, r.Processes()), Job: r.Place.Job, Version: r.env.Lockbench, Plans: fleet.Digest(plans...),
	}
}

// assemble gets the other processes of a run together; disperse lets them go, and has if there is an error.
func (r *underWay) assemble(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			r.disperse(err)
			err = r.interrupted(ctx, err)
		}
	}()
	if r.Processes() <= 1 {
		return nil
	}
	if !r.Place.Fleet() {
		return r.startProcesses(ctx)
	}
	r.leader = fleet.NewLeader(r.identity(), r.meeting.token)
	if r.rendezvous, err = r.leader.Listen(r.meeting.at, r.say); err != nil {
		return fmt.Errorf("-rendezvous: %w", err)
	}
	if err := r.rendezvous.Wait(ctx, r.meeting.limit); err != nil {
		return err
	}
	host, _ := os.Hostname()
	for _, t := range r.Targets[""].List {
		if others := slices.DeleteFunc(r.leader.Hosts(), func(h string) bool { return h == host }); len(others) > 0 && t.Kind != matrix.External {
			return fmt.Errorf("ranks run on %s, and the %s server of %s would be on %s alone: give -addr", strings.Join(others, ", "), t.Kind, t.Service.Name, host)
		}
	}
	return nil
}

// meeting is what a rank has to know to join, and for how long it waits for the others.
type meeting struct {
	at, token string
	limit     time.Duration
}

// readMeeting reads where and with which token the process meets the others. It reads nothing if there are no others, or if they
// talk over pipes.
func (r *underWay) readMeeting() (err error) {
	if r.Place.Rendezvous == "" {
		return nil
	}
	m, wait := &r.meeting, r.options.get("join-timeout")
	if m.limit, err = spec.ParseTime(wait.text); err != nil || m.limit <= 0 {
		return usageErrorf("%s: must be a time with a unit, as in 5m", wait.written())
	}
	if m.token, err = r.Place.Token(r.program.env.lookup); err != nil {
		return usageErrorf("%w", err)
	}
	r.secrets.Add(m.token)
	m.at, err = r.Place.At(m.token)
	return err
}

// startProcesses starts copies of this process. They have its whole environment, since they read the same variables for
// flags and passwords; their own children have as few as those of this one.
func (r *underWay) startProcesses(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	id := r.identity()
	r.leader = fleet.NewLeader(id, "")
	return r.leader.Start(ctx, func(rank int) (argv, vars []string) {
		return append([]string{self}, r.args...), append(slices.Clone(r.program.env), fmt.Sprintf("%s=%d/%d", childVariable, rank, id.Ranks))
	}, r.secrets.Scrub)
}

// disperse lets the other processes go. What has gone wrong with the fleet is an error of theirs as well.
func (r *underWay) disperse(why error) {
	if r.rendezvous != nil {
		r.rendezvous.Close()
	}
	if r.leader != nil {
		r.leader.Close(cmp.Or(why, r.leader.Err()))
	}
}

// follow makes this process's share of what rank 0 runs.
func (r *underWay) follow(ctx context.Context) error {
	deployments, err := r.Deployments()
	if err != nil {
		return err
	}
	if err := r.readMeeting(); err != nil {
		return err
	}
	r.deployments = deployments
	r.draining.Store(true)
	if _, child := r.program.env.lookup(childVariable); child {
		return fleet.Follow(ctx, &fleet.Pipes{Reader: r.stdin, File: os.Stdout}, "", r.Place.Rank, r.identity(), "", r.openShare)
	}
	conn, binding, err := fleet.Join(ctx, r.meeting.at, r.meeting.limit)
	if err == nil {
		err = fleet.Follow(ctx, conn, binding, r.Place.Rank, r.identity(), r.meeting.token, r.openShare)
	}
	if err != nil {
		err = fmt.Errorf("rank %d: %w", r.Place.Rank, err)
	}
	return r.interrupted(ctx, err)
}

// accept returns the plan of a trial, which is that of this process's own flags with what a search may choose, and where it runs.
// The error is that rank 0 wants something else.
func (r *underWay) accept(t fleet.Trial) (p spec.Plan, ds *target.Deployments, err error) {
	if t.Cell < 0 || t.Cell >= len(r.Cells) || (t.Search != nil) != (r.question != nil) {
		return p, nil, errors.New("rank 0 runs something that this rank's flags do not say")
	}
	own := r.Cells[t.Cell]
	if p, err = t.Plan(own.Plan); err == nil {
		err = matrix.Check(p, own.Traits)
	}
	if err != nil {
		return p, nil, err
	}
	ds = r.deployments[own.Side]
	target := r.Target(t.Cell)
	common := strings.TrimSuffix(r.prefix(target, p), r.id+":") // in all ranks
	switch {
	case r.question != nil && !r.question.Allows(t.Cell, &p):
		err = errors.New("rank 0 wants a higher rate or more clients than this rank's flags allow")
	case p.Shared && t.Prefix != common, !p.Shared && (!trialPrefix.MatchString(t.Prefix) || !strings.HasPrefix(t.Prefix, common)):
		err = fmt.Errorf("rank 0 wants names that no run has with -prefix %s", target.Prefix)
	case (p.Server == matrix.Private || p.Server == matrix.Embedded) != (t.Server != nil):
		err = fmt.Errorf("rank 0 does not run on the %s server of this rank's flags", p.Server)
	case t.Server != nil:
		err = ds.Adopt(p, &servers.Running{URLs: t.Server.URLs, Network: t.Server.Network, Master: t.Server.Master})
	}
	return p, ds, err
}

// openShare opens this process's share of a trial.
func (r *underWay) openShare(ctx context.Context, t fleet.Trial) (run *workloads.Run, closeShare func(), err error) {
	p, ds, err := r.accept(t)
	if err != nil {
		return nil, nil, err
	}
	share := spec.ShareOf(&p, r.Place.Rank)
	local := share.Plan(p)
	if err := ds.CheckLimits(local); err != nil {
		return nil, nil, err
	}
	svc, err := ds.Open(ctx, local, t.Prefix)
	if err != nil {
		return nil, nil, err
	}
	if err := target.CheckRoom(local, svc); err != nil {
		_ = svc.Close()
		return nil, nil, err
	}
	return &workloads.Run{
		Plan: p, Share: share, Service: svc, Prefix: t.Prefix,
		Record: results.Record{Env: r.env},
	}, func() { _ = svc.Close() }, nil
}

// share begins a trial of several processes, of which this one is rank 0, until end is called.
func (r *underWay) share(run *workloads.Run, cell int, c spec.Plan) (end func()) {
	if c.Processes <= 1 {
		return func() {}
	}
	t := fleet.Trial{Cell: cell, Prefix: run.Prefix}
	if r.question != nil {
		t.Search = fleet.SearchOf(c)
	}
	if s := r.servers.Running(c); s != nil && c.Server != matrix.External {
		t.Server = &fleet.Server{URLs: s.URLs, Network: s.Network, Master: s.Master}
	}
	load := r.leader.Begin(t, c)
	run.Share, run.Fleet = spec.ShareOf(&c, 0), load
	return load.End
}
