package runner

// The processes of a run: rank 0 runs it, and the others make their share of each load.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// childVariable tells a process that another one has started which rank it is: "2/4".
const childVariable = "LOCKBENCH_CHILD"

// ChildPlace returns the place of a process that another one has started.
func ChildPlace(lookup func(string) (string, bool)) (at fleet.Place, child bool, err error) {
	text, child := lookup(childVariable)
	if child {
		_, err = fmt.Sscanf(text, "%d/%d", &at.Rank, &at.Ranks)
	}
	return at, child, err
}

// identity is what all ranks have to have in common.
func (r *Runner) identity() fleet.Identity {
	var plans []spec.Plan
	for _, c := range r.Cells {
		plans = append(plans, c.Plan)
	}
	return fleet.Identity{
		Ranks: max(r.Place.Ranks, r.Processes()), Job: r.Place.Job, Version: r.Env.Lockbench, Plans: fleet.Digest(plans...),
	}
}

// assemble gets the other processes together, if there are to be any.
func (r *Runner) assemble(ctx context.Context) (err error) {
	id := r.identity()
	switch {
	case r.Processes() <= 1:
		return nil
	case !r.Place.Fleet():
		self, err := os.Executable()
		if err != nil {
			return err
		}
		r.leader = fleet.NewLeader(id, "")
		return r.leader.Start(ctx, func(rank int) (argv, vars []string) {
			place := fmt.Sprintf("%s=%d/%d", childVariable, rank, id.Ranks)
			return append([]string{self}, r.Fleet.Args...), append(slices.Clone(r.Fleet.Env), place)
		}, r.Secrets.Scrub)
	}
	r.leader = fleet.NewLeader(id, r.Fleet.Token)
	if r.rendezvous, err = r.leader.Listen(r.meetAt, r.Say); err != nil {
		return fmt.Errorf("-rendezvous: %w", err)
	}
	if err := r.rendezvous.Wait(ctx, r.Fleet.Limit); err != nil {
		return err
	}
	here, _ := os.Hostname()
	others := slices.DeleteFunc(r.leader.Hosts(), func(h string) bool { return h == here })
	for _, t := range r.AllTargets() {
		if len(others) > 0 && t.Kind != matrix.External {
			return fmt.Errorf("ranks run on %s, and the %s server of %s would be on %s alone: give -addr",
				strings.Join(others, ", "), t.Kind, t.Service.Name, here)
		}
	}
	return nil
}

// Lost returns which of the other processes is lost, and why; nil if none is.
func (r *Runner) Lost() error { return r.leader.Err() }

// disperse lets the other processes go. What has gone wrong with the fleet is an error of theirs as well.
func (r *Runner) disperse(why error) {
	if r.rendezvous != nil {
		r.rendezvous.Close()
	}
	if r.leader != nil {
		r.leader.Close(cmp.Or(why, r.Lost()))
	}
}

// Follow makes this process's share of what rank 0 runs.
func (r *Runner) Follow(ctx context.Context) error {
	if r.Fleet.Child {
		pipes := &fleet.Pipes{Reader: r.Fleet.Stdin, File: os.Stdout}
		return fleet.Follow(ctx, pipes, "", r.Place.Rank, r.identity(), "", r.openShare)
	}
	conn, binding, err := fleet.Join(ctx, r.meetAt, r.Fleet.Limit)
	if err == nil {
		err = fleet.Follow(ctx, conn, binding, r.Place.Rank, r.identity(), r.Fleet.Token, r.openShare)
	}
	if err != nil {
		err = fmt.Errorf("rank %d: %w", r.Place.Rank, err)
	}
	return err
}

// accept returns the plan of a trial, which is that of this process's own experiment with what a search may choose,
// and where it runs. The error is that rank 0 wants something else.
func (r *Runner) accept(ctx context.Context, t fleet.Trial) (p spec.Plan, server *target.Server, err error) {
	if t.Cell < 0 || t.Cell >= len(r.Cells) || (t.Search != nil) != (r.Allows != nil) {
		return p, nil, errors.New("rank 0 runs something that this rank's flags do not say")
	}
	own := r.Cells[t.Cell]
	if p, err = t.Plan(own.Plan); err == nil {
		err = matrix.Check(p, own.Traits)
	}
	if err != nil {
		return p, nil, err
	}
	ds := r.servers[own.Side]
	common := strings.TrimSuffix(r.names(t.Cell, &p), r.id+":") // in all ranks
	switch {
	case r.Allows != nil && !r.Allows(&p):
		err = errors.New("rank 0 wants a higher rate or more clients than this rank's flags allow")
	case p.Shared && t.Prefix != common,
		!p.Shared && (!TrialNames.MatchString(t.Prefix) || !strings.HasPrefix(t.Prefix, common)):
		err = fmt.Errorf("rank 0 wants names that no run has with -prefix %s", r.Target(t.Cell).Prefix)
	case (p.Server == matrix.Private || p.Server == matrix.Embedded) != (t.Server != nil):
		err = fmt.Errorf("rank 0 does not run on the %s server of this rank's flags", p.Server)
	case t.Server != nil:
		server, err = ds.Adopt(p, &servers.Running{URLs: t.Server.URLs, Network: t.Server.Network, Master: t.Server.Master})
	default:
		server, err = ds.Server(ctx, p)
	}
	return p, server, err
}

// openShare opens this process's share of a trial.
func (r *Runner) openShare(ctx context.Context, t fleet.Trial) (run *workloads.Run, closeShare func(), err error) {
	p, server, err := r.accept(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	share := spec.ShareOf(&p, r.Place.Rank)
	local := share.Plan(p)
	if err := server.CheckLimits(local); err != nil {
		return nil, nil, err
	}
	svc, err := server.Open(ctx, local, t.Prefix)
	if err != nil {
		return nil, nil, err
	}
	if err := target.CheckRoom(ctx, local, svc); err != nil {
		_ = svc.Close()
		return nil, nil, err
	}
	run = &workloads.Run{Plan: p, Share: share, Service: svc, Prefix: t.Prefix, Record: results.Record{Env: r.Env}}
	return run, func() { _ = svc.Close() }, nil
}
