// The processes of a run, of -processes or of an engine: what flags and environment say of them.

package cli

import (
	"cmp"
	"os"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
)

// fleetFlags say where a process stands among others; an engine that starts them says it by itself.
var fleetFlags = []flagDef{
	{"rank", "", groupFleet, "K/N", "", false, "this is process K of a fleet of N; 0 is the first, and leads; 0/1 runs alone\n(default: as srun, mpirun or an Indexed Job says)"},
	{"rendezvous", "", groupFleet, "HOST:PORT", "", false, "where rank 0 waits for the others (default: as the engine says)"},
	{"join-timeout", "", groupFleet, "TIME", "5m", false, "how long to wait until all processes have come"},
}

// findPlace returns where this process stands, and gives the plans as many processes as there are. -rank is 1/4, or /4 if
// the engine says which process this is.
func (p *program) findPlace(o *options) (fleet.Place, error) {
	if at, child, err := runner.ChildPlace(p.env.lookup); child {
		return at, err
	}
	at := fleet.Place{Rank: -1, Rendezvous: o.text("rendezvous")}
	if opt := o.get("rank"); opt.text != "" {
		rank, ranks, _ := strings.Cut(opt.text, "/")
		k, err := strconv.Atoi(cmp.Or(rank, "0"))
		n, wrong := strconv.Atoi(ranks)
		if err != nil || wrong != nil || n < 1 || n > matrix.MaxProcesses || k < 0 || k >= n {
			return at, usageErrorf("%s: must be the number of this process, from 0, and how many there are, as in 0/4",
				opt.written())
		}
		if at.Ranks = n; rank != "" {
			at.Rank = k
		}
	}
	at, err := fleet.Discover(at, p.env.lookup)
	if err != nil {
		return at, usageErrorf("%w", err)
	}
	if !at.Fleet() {
		return at, nil
	}
	processes := o.get("processes")
	if processes.from != fromDefault {
		return at, usageErrorf("%s: %s has started %s of them: leave it out",
			processes.written(), at.Engine, format.Plural(at.Ranks, "process"))
	}
	processes.text, processes.from = strconv.Itoa(at.Ranks), fromVariable
	return at, nil
}

// checkProcesses refuses what a run of several processes cannot do.
func checkProcesses(o *options, e runner.Experiment) error {
	n := e.Processes()
	file, err := os.Stat(o.text("password-file"))
	for _, c := range []struct {
		name, why string
		wrong     bool
	}{
		{"live", "it would show one of the %d processes: leave it out", o.on("live")},
		{"metrics-addr", "it would show one of the %d processes: leave it out", o.text("metrics-addr") != ""},
		{"workload", "%d processes cannot read one standard input: give a file", o.text("workload") == "-"},
		{"password-file", "%d processes cannot read one pipe: give a file", err == nil && !file.Mode().IsRegular()},
	} {
		if n > 1 && c.wrong {
			return o.complain(o.get(c.name), c.why, n)
		}
	}
	return nil
}

// readFleet reads how this process finds the others, if there are any.
func (p *program) readFleet(o *options, at fleet.Place) (f runner.Fleet, err error) {
	_, child, _ := runner.ChildPlace(p.env.lookup)
	f = runner.Fleet{Child: child, Stdin: p.stdin, Args: p.args, Env: p.env}
	if at.Rendezvous == "" {
		return f, nil
	}
	wait := o.get("join-timeout")
	if f.Limit, err = spec.ParseTime(wait.text); err != nil || f.Limit <= 0 {
		return f, usageErrorf("%s: must be a time with a unit, as in 5m", wait.written())
	}
	if f.Token, err = at.Token(p.env.lookup); err != nil {
		return f, usageErrorf("%w", err)
	}
	p.secrets.Add(f.Token)
	return f, nil
}
