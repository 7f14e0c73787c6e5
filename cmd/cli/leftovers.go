// What a run leaves on a user's server if it is killed: it is announced, and deleted as far as the run still can.

package cli

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/deploy"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// newRunID returns 80 random bits in base32. Every key carries it in every command: 26 characters, as rand.Text has them,
// cost 3 % more CPU time a lock with 512 clients on 10 keys over rueidis.
func newRunID() string { return rand.Text()[:16] }

// prefix begins all names that the run makes on any server. A trial's prefix adds a number.
func (r *runner) prefix() string { return prefixBegin + r.id + ":" }

// announcePrefix tells the owner of a server what to do if the run is killed, when it is too late to say anything.
func (r *runner) announcePrefix() {
	for _, turn := range r.Order {
		c, t := r.Cells[turn.Cell].Plan, r.of(turn.Cell).targets.Of(r.Cells[turn.Cell].Plan.Driver)
		if t.Kind == matrix.External {
			r.sayOnce("names on %s will begin with %s; should this run be killed: %s", t.Redacted, r.prefix(), r.cleanLine(t, c))
		}
	}
}

// cleanLine returns the command that deletes what a cell may leave.
func (r *runner) cleanLine(t deploy.Target, c spec.Plan) string {
	values := flagsOf(t)
	values["prefix"], values["topology"] = r.prefix(), string(asOneService(c))
	words := []string{"lockbench clean"}
	for _, f := range cleanFlags {
		if v := values[f.name]; v != "" {
			words = append(words, (&option{flagDef: f}).assign(v))
		}
	}
	return strings.Join(words, " ")
}

// leftLine returns what is left on a user's server and how to delete it; nothing of any other.
func (r *runner) leftLine(c spec.Plan, why string) string {
	t := r.servers.Of(c.Driver)
	if t.Kind != matrix.External {
		return ""
	}
	return fmt.Sprintf("lockbench: names that begin with %s may be left on %s (%s); to delete them: %s\n",
		r.prefix(), t.Redacted, why, r.cleanLine(t, c))
}

// warnLeft writes what may be left on a server.
func (r *runner) warnLeft(c spec.Plan, err error) {
	fmt.Fprint(r.stderr, r.leftLine(c, oneLine(err.Error())))
}

// closeService closes the service of a trial. A table that it could not drop is looked for on new connections.
func (r *runner) closeService(c spec.Plan, svc drivers.Service) {
	if svc.Close() != nil {
		r.sweepLeft(c)
	}
}

// sweepLeft deletes what the run has left on a user's server, over new connections.
func (r *runner) sweepLeft(c spec.Plan) {
	t := r.servers.Of(c.Driver)
	if t.Kind != matrix.External {
		return
	}
	left := deploy.Traces{Service: t.Service, Addrs: t.URLs, Topology: asOneService(c), Prefix: r.prefix()}
	for _, cfg := range left.Configs(r.servers.Access) {
		if err := deploy.SweepPatiently(deploy.Sweeper(t.Service), cfg); err != nil {
			r.warnLeft(c, err)
			return
		}
	}
}

// asOneService returns the topology of a cell whose servers are one service, and empty for servers that are cleaned one by one.
func asOneService(c spec.Plan) drivers.Topology {
	if t := drivers.Topology(c.Topology); slices.Contains(asOne, t) {
		return t
	}
	return ""
}
