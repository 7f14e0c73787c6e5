// -shared: runs that contend for the same keys, how they find each other, and how the last one knows that it is.

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/sharing"
)

// shares reports whether a run is to contend with others.
func (o *options) shares() bool {
	opt := o.find("shared")
	return opt != nil && (strings.Contains(opt.text, spec.On) || opt.text == "true")
}

// notInNames is what the name of contenders cannot have; see prefixPattern.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// contenders names the cells that can contend with c, and that have the same keys to delete.
func contenders(c spec.Plan) string {
	parts := []string{c.Lock, c.Topology, c.Params, strconv.Itoa(c.Keys) + "-keys"}
	if matrix.Library(c.Driver).Locks { // which lays its locks out as it likes; designs of that name are alike in the other drivers of a service
		parts = append([]string{c.Driver}, parts...)
	}
	if kind, _ := wait.Find(c.Wait); kind.Wakes || kind.Blocks { // releases have to wake the waiters of other runs
		parts = append(parts, c.Wait)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return notInNames.ReplaceAllString(strings.Join(parts, "."), "-")
}

// enter takes the trial's place among those that share its keys, until leave is called after it. The places are locks of the driver's
// first design, whatever the trial measures, on connections of their own. The error is a *matrix.Misfit if those cannot serve.
func (r *underWay) enter(ctx context.Context, run *workloads.Run) (leave func(), err error) {
	c := run.Plan
	if !c.Shared {
		return func() {}, nil
	}
	d, err := matrix.Driver(&c)
	if err != nil {
		return nil, err
	}
	first := d.Designs()[0]
	t := first.Traits
	if !t.Exclusive || !t.Owned || !t.Session && !t.Renews {
		return nil, &matrix.Misfit{What: c.Driver + " -shared", Why: "its first design, " + first.Name +
			", cannot tell whether other runs are there: it would have to be exclusive, owned, and renewed or bound to a session"}
	}
	c.Lock, c.Renew, c.Clients, c.TTL, c.Wait = first.Name, !t.Session, sharing.Sessions, time.Minute+workloads.CleanTime(c.Keys), wait.None
	c.Release, c.Conns, c.Lockers, c.Handover, c.Pipelining, c.FlushDelay = "", 0, 0, "", "", 0
	svc, err := r.servers.Open(ctx, c, run.Prefix)
	if err != nil {
		return nil, err
	}
	place, err := sharing.Enter(ctx, svc, run.Prefix, c.TTL)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-shared: %w", err), svc.Close())
	}
	run.Place = place
	return func() {
		if place.After > 0 {
			r.sayOnce("%s for the names that begin with %s; the last one deletes them",
				format.Plural(place.After, "other run"), run.Prefix)
		}
		r.closeService(c, svc)
	}, nil
}
