// lockbench clean deletes by name what the trials of a run have left on a user's server.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
	"github.com/lockbench/lockbench/workloads/target"
)

// cleanFlags are the flags of run that lead to a server of the user's.
var cleanFlags = slices.Concat([]flagDef{
	{"addr", "", groupServer, "URL", "", false, "the server of the run; a comma list for several, as the run had them"},
	{"dry-run", "", groupServer, "", "false", false, "print the names, connect to nothing"},
}, slices.DeleteFunc(slices.Clone(serverFlags), func(f flagDef) bool {
	return slices.Contains([]string{"addr", "prefix"}, f.name)
}))

func (p *program) cleanCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "clean -addr URL FILE…",
		Short: "Delete what a run that was killed has left on your server",
	}, cleanFlags, func(c *cobra.Command, o *options, files []string) error { return p.clean(c.Context(), o, files) })
}

// left is what a trial may have left: keys with the prefix, and what the design makes beside them.
type left struct {
	plan   spec.Plan
	prefix string
}

func (p *program) clean(ctx context.Context, o *options, files []string) error {
	switch {
	case o.text("addr") == "":
		return usageErrorf("clean: where? give -addr with the address of your server; that of a record may be anybody's")
	case len(files) == 0:
		return usageErrorf("clean: of which run? give the file of its records, which -o has written")
	}
	list, err := p.readLeft(files)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range list {
		names = append(names, l.plan.Driver)
	}
	targets, err := o.external(p.env, target.Services(names))
	if err != nil {
		return err
	}
	learnTargets(&p.secrets, targets.List)
	servers := &target.Deployments{}
	if !o.on("dry-run") {
		if servers, err = target.New(targets, nil); err != nil {
			return err
		}
		p.secrets.Add(string(servers.Password))
	}
	for _, l := range list {
		where, verb := targets.Of(l.plan.Driver).Redacted, "would delete"
		if !o.on("dry-run") {
			if err := l.delete(ctx, servers); err != nil {
				return fmt.Errorf("%s: %s: %w", where, l.prefix, err)
			}
			verb = "deleted"
		}
		fmt.Fprintf(p.stdout, "%s: %s what is left of %s %s: %s0 to %d\n",
			where, verb, l.plan.Driver, l.plan.Lock, l.prefix, l.plan.Keys-1)
	}
	return nil
}

// readLeft returns what the trials of the runs in files may have left: those that are recorded, and the next one, in which the
// run may have been killed and which has the plan of any.
func (p *program) readLeft(files []string) (list []left, err error) {
	last := map[string]int{} // trial, by the prefix of its run
	for _, name := range files {
		_, err := p.readRecords(name, func(rec *results.Record) error {
			if rec.Prefix == "" { // on a server of lockbench's own, which is gone
				return nil
			}
			plan, err := cleanable(rec)
			if err != nil {
				return err
			}
			run, trial := cutTrial(rec.Prefix)
			last[run] = max(last[run], trial)
			list = append(list, left{plan, rec.Prefix})
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: a run that is killed in its first trial records nothing; its names begin with what it has printed", err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("%s: no record is of a run on a server of yours", strings.Join(files, ", "))
	}
	for _, l := range slices.Clone(list) {
		run, _ := cutTrial(l.prefix)
		l.prefix = fmt.Sprintf("%s%d:", run, last[run]+1)
		if !slices.ContainsFunc(list, func(other left) bool { return reflect.DeepEqual(l, other) }) {
			list = append(list, l)
		}
	}
	return list, nil
}

// cutTrial divides the prefix of a trial into that of its run and the trial's number.
func cutTrial(prefix string) (run string, trial int) {
	found := runner.TrialNames.FindStringSubmatch(prefix)
	trial, _ = strconv.Atoi(found[2])
	return found[1], trial
}

// cleanable returns as much of a record's plan as tells the names of its trial. The record may be anybody's.
func cleanable(rec *results.Record) (spec.Plan, error) {
	p := rec.Plan
	p.Server = matrix.External
	switch {
	case p.Shared:
		return p, errors.New("its names are those of other runs, too: run it once more with -shared, and its end deletes them")
	case !runner.TrialNames.MatchString(rec.Prefix):
		return p, fmt.Errorf("no trial has the prefix %.100q: the record was edited, or is of an earlier version", rec.Prefix)
	case drivers.FamilyOf(p.Driver) != "":
		return p, errors.New("only the adapter knows the names of its locks, which end with their leases or sessions")
	}
	d, err := matrix.Driver(&p)
	if err != nil {
		return p, err
	}
	design, err := drivers.FindDesign(d, p.Lock)
	if err == nil && target.Service(p.Driver) == nil {
		err = fmt.Errorf("%s needs no server", p.Driver)
	}
	if err == nil {
		err = matrix.Check(p, design.Traits)
	}
	return spec.Plan{
		Driver: p.Driver, Lock: p.Lock, Params: p.Params, Release: p.Release, Wait: p.Wait, Topology: p.Topology, Acks: p.Acks,
		NodeTimeout: p.NodeTimeout, IOTimeout: p.IOTimeout, Keys: p.Keys, Server: p.Server,
		Load: spec.Load{Clients: 1, TTL: p.TTL},
	}, err
}

// delete deletes as the trial would have done at its end. A table is dropped with its last user.
func (l left) delete(ctx context.Context, servers *target.Deployments) error {
	ctx, cancel := context.WithTimeout(ctx, workloads.CleanTime(l.plan.Keys))
	defer cancel()
	server, err := servers.Server(ctx, l.plan)
	if err != nil {
		return err
	}
	svc, err := server.Open(ctx, l.plan, l.prefix)
	if err != nil {
		return err
	}
	if c, ok := drivers.As[drivers.Cleaner](svc); ok {
		err = c.Clean(ctx, workloads.KeyNames(l.prefix, l.plan.Keys))
	}
	return errors.Join(err, svc.Close())
}
