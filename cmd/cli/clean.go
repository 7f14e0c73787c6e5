// lockbench clean deletes by name what the trials of a run have left on a user's server.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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
}, slices.DeleteFunc(slices.Clone(serverFlags), func(f flagDef) bool { return f.name == "addr" || f.name == "prefix" }))

func (p *program) clean(ctx context.Context, o *options, files []string) error {
	if o.text("addr") == "" {
		return usageErrorf("clean: where? give -addr with the address of your server; that of a record may be anybody's")
	}
	list, err := p.readLeft(files)
	if err != nil {
		return err
	}
	var names []string
	for _, l := range list {
		names = append(names, l.Driver)
	}
	targets, err := o.external(p.env, target.Services(names))
	if err != nil {
		return err
	}
	learnTargets(&p.secrets, targets.List)
	servers, err := target.New(targets, nil)
	if err != nil {
		return err
	}
	p.secrets.Add(string(servers.Password))
	for _, l := range list {
		where, verb := targets.Of(l.Driver).Redacted, "would delete"
		if !o.on("dry-run") {
			verb, err = "deleted", l.delete(ctx, servers)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", where, l.prefix(), err)
		}
		fmt.Fprintf(p.stdout, "%s: %s what is left of %s %s: %s0 to %d\n", where, verb, l.Driver, l.Lock, l.prefix(), l.Keys-1)
	}
	return nil
}

// left is what a trial may have left: keys with its prefix, and what the design makes beside them.
type left struct {
	spec.Plan        // as much as tells the names
	run       string // beginning of all names of the run
	trial     int
}

func (l left) prefix() string { return fmt.Sprintf("%s%d:", l.run, l.trial) }

// readLeft returns what the trials of the runs in files may have left: those that are recorded, and of each run the one
// after the last, in which it may have been killed, and which has the plan of any.
func (p *program) readLeft(files []string) (list []left, err error) {
	last := map[string]int{} // trial of each run
	for _, name := range files {
		each := func(rec *results.Record) error {
			if rec.Prefix == "" { // on a server of lockbench's own, which is gone
				return nil
			}
			l, err := leftBy(rec)
			last[l.run] = max(last[l.run], l.trial)
			list = append(list, l)
			return err
		}
		read := func(in io.Reader) (results.Report, error) { return results.Read(in, each) }
		if err := p.readRecords(name, read); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("%s: no record is of a run on a server of yours", strings.Join(files, ", "))
	}
	known := map[string]bool{}
	for _, l := range list[:len(list):len(list)] {
		l.trial = last[l.run] + 1
		if key := fmt.Sprint(l); !known[key] {
			known[key], list = true, append(list, l)
		}
	}
	return list, nil
}

// leftBy returns what the trial of a record, which may be anybody's, may have left.
func leftBy(rec *results.Record) (l left, err error) {
	p, name := rec.Plan, runner.TrialNames.FindStringSubmatch(rec.Prefix)
	switch {
	case name == nil || p.Shared:
		return l, fmt.Errorf("no trial alone has the prefix %.100q: it was edited, or is of -shared runs: run one more, "+
			"and its end deletes the names", rec.Prefix)
	case drivers.FamilyOf(p.Driver) != "" || target.Service(p.Driver) == nil:
		return l, fmt.Errorf("lockbench knows no names of %s on a server; an adapter's locks end with their leases", p.Driver)
	}
	_, err = matrix.Resolve(&p, matrix.Server{Kind: matrix.External})
	l.run, l.Plan = name[1], spec.Plan{
		Driver: p.Driver, Lock: p.Lock, Params: p.Params, Release: p.Release, Wait: p.Wait, Topology: p.Topology, Acks: p.Acks,
		NodeTimeout: p.NodeTimeout, IOTimeout: p.IOTimeout, Keys: p.Keys, Server: p.Server,
		Load: spec.Load{Clients: 1, TTL: p.TTL},
	}
	l.trial, _ = strconv.Atoi(name[2])
	return l, err
}

// delete deletes as the trial would have done at its end. A table is dropped with its last user.
func (l left) delete(ctx context.Context, servers *target.Deployments) error {
	ctx, cancel := context.WithTimeout(ctx, workloads.CleanTime(l.Keys))
	defer cancel()
	server, err := servers.Server(ctx, l.Plan)
	if err != nil {
		return err
	}
	svc, err := server.Open(ctx, l.Plan, l.prefix())
	if err != nil {
		return err
	}
	if c, ok := drivers.As[drivers.Cleaner](svc); ok {
		err = c.Clean(ctx, workloads.KeyNames(l.prefix(), l.Keys))
	}
	return errors.Join(err, svc.Close())
}
