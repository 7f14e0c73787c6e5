package fleet

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/workloads/fleet/fleettest"
)

// asRank makes the test's own program a rank, which prints its place instead of running the tests.
const asRank = "FLEET_TEST_RANK"

func init() {
	if os.Getenv(asRank) != "" {
		printPlace()
		os.Exit(0)
	}
}

// standing is what a rank prints.
type standing struct {
	Place
	Token, Err string
}

func printPlace() {
	var s standing
	var err error
	if s.Place, err = Discover(Place{Rank: -1}, os.LookupEnv); err == nil {
		s.Token, err = s.Place.Token(os.LookupEnv)
	}
	s.Err = errorText(err)
	line, _ := json.Marshal(s)
	_, _ = os.Stdout.Write(append(line, '\n')) // in one piece: the lines of ranks mix
}

// start runs the test's own program by an engine and returns what its ranks print, in their order.
func start(t *testing.T, engine ...string) (list []standing) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, engine[0], append(engine[1:], os.Args[0])...)
	c.Env = append(os.Environ(), asRank+"=1")
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%q: %v, %s", engine, err, &errs)
	}
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "{") {
			continue // what sbatch says
		}
		var s standing
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b standing) int { return a.Rank - b.Rank })
	return list
}

// agree checks that these are all ranks of one fleet, and returns the first.
func agree(t *testing.T, list []standing, ranks int) standing {
	t.Helper()
	if len(list) != ranks {
		t.Fatalf("%d ranks, want %d: %+v", len(list), ranks, list)
	}
	for i, s := range list {
		want := list[0]
		want.Rank, want.Ranks = i, ranks
		if s != want || s.Err != "" || s.Rendezvous == "" || s.Job == "" {
			t.Errorf("rank %d is %+v, want %+v", i, s, want)
		}
	}
	return list[0]
}

func TestSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	fleettest.Slurm(t)
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")

	one := agree(t, start(t, "srun", "-N1", "-n4"), 4)
	if !strings.HasPrefix(one.Rendezvous, "127.0.0.1:") || one.Token != "" {
		t.Errorf("on one node the ranks meet otherwise: %+v", one)
	}
	if list := start(t, "srun", "-N4", "-n4"); len(list) != 4 || !strings.Contains(list[0].Err, "could join: set "+TokenVariable) {
		t.Errorf("on four nodes they need no token: %+v", list)
	}
	t.Setenv(TokenVariable, "a token of the test's own")
	four := agree(t, start(t, "srun", "-N4", "-n8", "--mpi=pmi2"), 8)
	if !strings.HasPrefix(four.Rendezvous, host+":") || four.Token == "" {
		t.Errorf("the first node is %s: %+v", host, four)
	}
	if one.Job == four.Job || strings.Split(one.Rendezvous, ":")[1] == strings.Split(four.Rendezvous, ":")[1] {
		t.Errorf("two steps share what should be their own: %+v, %+v", one, four)
	}
	agree(t, start(t, "salloc", "-Q", "-N2", "-n4", "srun"), 4)
	if list := start(t, "srun", "-n1"); len(list) != 1 || list[0].Fleet() || list[0].Err != "" {
		t.Errorf("one task is a fleet: %+v", list)
	}
	if list := start(t, "salloc", "-Q", "-N2", "-n4"); len(list) != 1 || list[0].Fleet() || list[0].Err != "" {
		t.Errorf("the shell of salloc is in a fleet: %+v", list)
	}
	out := filepath.Join(t.TempDir(), "out")
	start(t, "sbatch", "--wait", "-N2", "-n4", "-o", out, "--wrap")
	var script standing
	text, err := os.ReadFile(out)
	if err == nil {
		err = json.Unmarshal(text, &script)
	}
	if err != nil || script.Fleet() || script.Err != "" {
		t.Errorf("the script of sbatch is in a fleet: %s, %v", text, err)
	}
	list := start(t, "srun", "-N2", "-n2", "-m", "arbitrary", "-w", host+"-3,"+host+"-2")
	if !slices.ContainsFunc(list, func(s standing) bool { return strings.Contains(s.Err, "not on the first of") }) {
		t.Errorf("rank 0 is elsewhere and does not say so: %+v", list)
	}
}

func TestOpenMPI(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	mpirun := fleettest.OpenMPI(t)
	first := agree(t, start(t, append(mpirun, "-n", "4")...), 4)
	if !strings.HasPrefix(first.Rendezvous, "127.0.0.1:") || first.Token != "" {
		t.Errorf("the ranks meet otherwise: %+v", first)
	}
	second := agree(t, start(t, append(mpirun, "-n", "2")...), 2)
	if first.Job == second.Job {
		t.Errorf("two jobs share what should be their own: %+v, %+v", first, second)
	}
	if list := start(t, append(mpirun, "-n", "1")...); len(list) != 1 || list[0].Fleet() || list[0].Err != "" {
		t.Errorf("one process is a fleet: %+v", list)
	}
	fleettest.Slurm(t) // whose first node is that of mpirun, and the second another to it
	nodes := agree(t, start(t, append([]string{"salloc", "-Q", "-N2", "-n4"}, append(mpirun, "-n", "4")...)...), 4)
	if strings.HasPrefix(nodes.Rendezvous, "127.") || nodes.Engine != "openmpi" || nodes.Token == "" {
		t.Errorf("on two nodes the ranks meet otherwise: %+v", nodes)
	}
}
