// What a trial's names on a server begin with, and what a run says of those that it may leave.

package cli

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// The names of a trial begin with -prefix, "lockbench:", the run's id, the trial's number and colons. Runs that share names have
// sharedBegin in place of the id, and no number.
const (
	prefixBegin = "lockbench:"
	sharedBegin = "shared:"
)

// newRunID returns 80 random bits in base32. Every key carries it in every command: 26 characters, as rand.Text has them,
// cost 3 % more CPU time a lock with 512 clients on 10 keys over rueidis.
func newRunID() string { return rand.Text()[:16] }

// prefix begins all names that a cell makes on a server.
func (r *underWay) prefix(t target.Target, c spec.Plan) string {
	if c.Shared {
		return t.Prefix + prefixBegin + sharedBegin + contenders(c) + ":"
	}
	return t.Prefix + prefixBegin + r.id + ":"
}

// trialPrefix begins those of the present trial. It adds a number, unless other runs have the same names.
func (r *underWay) trialPrefix(c spec.Plan) string {
	prefix := r.prefix(r.servers.Of(c.Driver), c)
	if !c.Shared {
		prefix += strconv.Itoa(r.opened) + ":"
	}
	return prefix
}

// announcePrefix tells the owner of a server what to do if the run is killed, when it is too late to say anything.
func (r *underWay) announcePrefix() {
	for _, turn := range r.Order {
		c, t := r.Cells[turn.Cell].Plan, r.Target(turn.Cell)
		if t.Kind == matrix.External {
			r.sayOnce("names on %s will begin with %s%s", t.Redacted, r.prefix(t, c), r.remedy(t, c, "should this run be killed: "))
		}
	}
}

// remedy says what deletes the names of a cell, unless nothing is recorded that has them.
func (r *underWay) remedy(t target.Target, c spec.Plan, when string) string {
	switch {
	case c.Shared:
		return ", as those of all runs that contend with it, the last of which deletes them"
	case r.output == "":
		return ""
	}
	words, values := []string{"; " + when + "lockbench clean"}, flagsOf(t)
	for _, f := range cleanFlags {
		if v := values[f.name]; v != "" {
			words = append(words, (&option{flagDef: f}).assign(v))
		}
	}
	return strings.Join(append(words, shell.Quote(r.output)), " ")
}

// leftLine returns what is left on a user's server and how to delete it; nothing of any other.
func (r *underWay) leftLine(c spec.Plan, why string) string {
	t := r.servers.Of(c.Driver)
	if t.Kind != matrix.External {
		return ""
	}
	return fmt.Sprintf("lockbench: names that begin with %s may be left on %s (%s)%s\n",
		r.prefix(t, c), t.Redacted, why, r.remedy(t, c, "to delete them: "))
}

// warnLeft writes what may be left on a server.
func (r *underWay) warnLeft(c spec.Plan, err error) {
	fmt.Fprint(r.stderr, r.leftLine(c, oneLine(err.Error())))
}

// closeService closes the service of a trial, which drops its table.
func (r *underWay) closeService(c spec.Plan, svc drivers.Service) {
	if err := svc.Close(); err != nil {
		r.warnLeft(c, err)
	}
}
