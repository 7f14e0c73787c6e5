package runner

// What the names of a trial on a server begin with, and what is said of those that it may leave.

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// The names of a trial begin with -prefix, "lockbench:", the run's id, the trial's number and colons. Runs that share names have
// "shared:" and what tells their cells from others in place of the id and the number.
const (
	begin  = "lockbench:"
	shared = begin + "shared:"
)

// TrialNames matches what the names of a trial of a user's server begin with: the beginning of all names of the run, and the trial's
// number.
var TrialNames = regexp.MustCompile(`^((?:[A-Za-z0-9:._/-]{1,64})?` + begin + `[A-Z2-7]{16}:)([1-9][0-9]{0,8}):$`)

// NewID returns 80 random bits in base32. Every key carries it in every command: 26 characters, as rand.Text has them,
// cost 3 % more CPU time a lock with 512 clients on 10 keys over rueidis.
func NewID() string { return rand.Text()[:16] }

// names is what all names of a cell begin with.
func (r *Runner) names(cell int, p *spec.Plan) string {
	if p.Shared {
		return r.Target(cell).Prefix + shared + contenders(p) + ":"
	}
	return r.Target(cell).Prefix + begin + r.id + ":"
}

// announceNames tells the owner of a server what to do if the run is killed, when it is too late to say anything.
func (r *Runner) announceNames() {
	for i := range r.Cells {
		p, remedy := &r.Cells[i].Plan, ""
		switch {
		case p.Server != matrix.External:
			continue
		case p.Shared:
			remedy = ", as those of all runs that contend with it, the last of which deletes them"
		case r.Output != "":
			remedy = "; should this run be killed: lockbench clean -addr URL " + r.Output
		}
		r.SayOnce("names on %s will begin with %s%s", r.Target(i).Redacted, r.names(i, p), remedy)
	}
}

// leaves says what may be left on a user's server; it is empty for any other.
func (t *trial) leaves(why string) string {
	if t.Plan.Server != matrix.External {
		return ""
	}
	return "names that begin with " + t.names(t.Cell, &t.Plan) + " may be left on " + t.Target(t.Cell).Redacted + " (" + why + ")"
}

// warnLeft says what may be left, and why.
func (t *trial) warnLeft(why error) {
	if text := t.leaves(why.Error()); text != "" {
		t.Say("%s", text)
	}
}

// notInNames is what the name of contenders cannot have; see TrialNames.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// contenders names the cells that can contend with a plan's, and that have the same keys to delete.
func contenders(p *spec.Plan) string {
	parts := []string{p.Lock, p.Topology, p.Params, strconv.Itoa(p.Keys) + "-keys"}
	if matrix.Library(p.Driver).Locks { // which lays its locks out as it likes; designs of that name are alike in the other drivers of a service
		parts = append([]string{p.Driver}, parts...)
	}
	if kind, _ := wait.Find(p.Wait); kind.Wakes || kind.Blocks { // releases have to wake the waiters of other runs
		parts = append(parts, p.Wait)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return notInNames.ReplaceAllString(strings.Join(parts, "."), "-")
}
