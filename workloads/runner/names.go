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

// The names of a trial begin with -prefix, "lockbench:", the run's id, the trial's number and colons. Runs that share
// names have "shared:" and what tells their cells from others in place of the id and the number.
const (
	begin  = "lockbench:"
	shared = begin + "shared:"
)

// TrialNames matches what the names of a trial of a user's server begin with: the beginning of all names of the run,
// and the trial's number.
var TrialNames = regexp.MustCompile(`^((?:[A-Za-z0-9:._/-]{1,64})?` + begin + `[A-Z2-7]{16}:)([1-9][0-9]{0,8}):$`)

// NewID returns 80 random bits in base32. Every key carries it in every command: 26 characters, as rand.Text has them,
// cost 3 % more CPU time a lock with 512 clients on 10 keys over rueidis.
func NewID() string { return rand.Text()[:16] }

// namesOf is what all names of a plan begin with in a run of that id, on a server where they have a prefix.
func namesOf(prefix, id string, p *spec.Plan) string {
	if p.Shared {
		return prefix + shared + contenders(p) + ":"
	}
	return prefix + begin + id + ":"
}

// notInNames is what the name of contenders cannot have; see TrialNames.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// contenders names the cells that can contend with a plan's, and that have the same keys to delete.
func contenders(p *spec.Plan) string {
	parts := []string{p.Lock, p.Topology, p.Params, strconv.Itoa(p.Keys) + "-keys"}
	if matrix.Library(p.Driver).Locks { // it lays them out as it likes; in other drivers designs of that name are alike
		parts = append([]string{p.Driver}, parts...)
	}
	if kind, _ := wait.Find(p.Wait); kind.Wakes || kind.Blocks { // releases have to wake the waiters of other runs
		parts = append(parts, p.Wait)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return notInNames.ReplaceAllString(strings.Join(parts, "."), "-")
}
