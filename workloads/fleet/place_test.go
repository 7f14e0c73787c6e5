package fleet

import (
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// none is what flags are if none is given.
var none = Place{Rank: -1}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// variablesOf reads NAME=VALUE….
func variablesOf(text string) map[string]string {
	env := map[string]string{}
	for _, field := range strings.Fields(text) {
		name, value, _ := strings.Cut(field, "=")
		env[name] = value
	}
	return env
}

// What engines have really set, of Slurm 22.05, Open MPI 4.1.4 and MPICH 4.0.2.
const (
	sbatchScript = "SLURM_JOB_ID=2 SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_NPROCS=4 SLURM_NNODES=4 SLURM_NODELIST=n[1-4] " +
		"SLURM_LOCALID=0 SLURM_NODEID=0 SLURMD_NODENAME=n1"
	sallocShell = "SLURM_JOB_ID=3 SLURM_NTASKS=4 SLURM_NPROCS=4 SLURM_NNODES=2 SLURM_NODELIST=n[1-2]"
	srunTask    = "SLURM_JOB_ID=2 SLURM_STEP_ID=1 SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4 " +
		"SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[1-2] SLURMD_NODENAME=n2"
	mpirunTask = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=173932545 " +
		"OMPI_MCA_orte_hnp_uri=173932544.0;tcp://192.0.2.2:52231;tcp6://[fd00::2]:52517 " +
		"OMPI_MCA_orte_local_daemon_uri=173932544.0;tcp://192.0.2.2:52231;tcp6://[fd00::2]:52517"
	hydraTask = "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALNRANKS=2"
)

func TestDiscover(t *testing.T) {
	flags := func(rank, ranks int, rendezvous string) Place {
		return Place{Rank: rank, Ranks: ranks, Rendezvous: rendezvous}
	}
	for _, tt := range []struct {
		name, env, more string // more replaces variables of env
		flags           Place
		want            Place
		err             string
	}{
		{"nothing", "", "", none, Place{}, ""},
		{"alone", srunTask, "", flags(-1, 1, "h:1"), Place{Ranks: 1, Engine: "flags"}, ""},
		{"flags", "", "", flags(0, 2, "h:7000"), Place{0, 2, "h:7000", "flags", ""}, ""},
		{"flags before an engine", mpirunTask, "", flags(4, 5, "h:7000"), Place{4, 5, "h:7000", "flags", ""}, ""},
		{"IPv6", "", "", flags(0, 2, "[fd00::2]:7000"), Place{0, 2, "[fd00::2]:7000", "flags", ""}, ""},

		{"sbatch", sbatchScript, "", none, Place{}, ""},
		{"salloc", sallocShell, "", none, Place{}, ""},
		{"srun", srunTask, "", none, Place{3, 4, "n1:20129", "slurm", "2.1"}, ""},
		{"srun, the next step", srunTask, "SLURM_STEP_ID=2", none, Place{3, 4, "n1:20130", "slurm", "2.2"}, ""},
		{"srun, the next job", srunTask, "SLURM_JOB_ID=3", none, Place{3, 4, "n1:20193", "slurm", "3.1"}, ""},
		{"srun, a late job", srunTask, "SLURM_JOB_ID=188", none, Place{3, 4, "n1:20033", "slurm", "188.1"}, ""},
		{"srun on one node", srunTask, "SLURM_STEP_NUM_NODES=1 SLURM_STEP_NODELIST=n1", none,
			Place{3, 4, "127.0.0.1:20129", "slurm", "2.1"}, ""},
		{"srun -n1", srunTask, "SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=1", none, Place{Ranks: 1, Engine: "slurm"}, ""},
		{"srun --mpi=pmi2", srunTask, "PMI_RANK=3 PMI_SIZE=4", none, Place{3, 4, "n1:20129", "slurm", "2.1"}, ""},
		{"srun -rendezvous", srunTask, "", flags(-1, 0, "h:7000"), Place{3, 4, "h:7000", "slurm", "2.1"}, ""},
		{"srun -rendezvous :PORT", srunTask, "", flags(-1, 0, ":7000"), Place{3, 4, "n1:7000", "slurm", "2.1"}, ""},
		{"srun -rank /4", srunTask, "", flags(-1, 4, ""), Place{3, 4, "n1:20129", "slurm", "2.1"}, ""},
		{"rank 0 of srun", srunTask, "SLURM_PROCID=0 SLURMD_NODENAME=n1", none, Place{0, 4, "n1:20129", "slurm", "2.1"}, ""},
		{"srun -m arbitrary", srunTask, "SLURM_PROCID=0", none, Place{}, "rank 0 is on n2, not on the first of SLURM_STEP_NODELIST=n[1-2]"},
		{"srun -m arbitrary -rendezvous", srunTask, "SLURM_PROCID=0", flags(-1, 0, "n2:7000"), Place{0, 4, "n2:7000", "slurm", "2.1"}, ""},
		{"sbatch in a step", srunTask, "SLURM_NTASKS=1", none, Place{}, "add -rank 0/1"},

		{"mpirun", mpirunTask, "", none, Place{1, 2, "127.0.0.1:27172", "openmpi", "173932545"}, ""},
		{"mpirun within a step", srunTask + " " + mpirunTask, "", none, Place{1, 2, "127.0.0.1:27172", "openmpi", "173932545"}, ""},
		{"mpirun on hosts", mpirunTask, "OMPI_COMM_WORLD_LOCAL_SIZE=1", none, Place{1, 2, "192.0.2.2:27172", "openmpi", "173932545"}, ""},
		{"rank 0 with mpirun", mpirunTask, "OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_RANK=0", none,
			Place{0, 2, "192.0.2.2:27172", "openmpi", "173932545"}, ""},
		{"rank 0 elsewhere", mpirunTask, "OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMPI_MCA_orte_local_daemon_uri=x", none,
			Place{}, "mpirun does not tell on which host rank 0 is, unless it is its own: add -rendezvous HOST:PORT"},
		{"mpirun without a name", mpirunTask, "PMIX_NAMESPACE=", none, Place{}, "add -rendezvous"},
		{"mpirun -n 1", mpirunTask, "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", none, Place{Ranks: 1, Engine: "openmpi"}, ""},

		{"hydra", hydraTask, "", none, Place{}, "add -rendezvous HOST:PORT with the host of rank 0"},
		{"hydra -rendezvous", hydraTask, "", flags(-1, 0, "h:7000"), Place{3, 4, "h:7000", "pmi", ""}, ""},
		{"hydra on Slurm", srunTask + " " + hydraTask, "SLURM_STEP_NUM_TASKS=2", flags(-1, 0, "h:7000"),
			Place{3, 4, "h:7000", "pmi", ""}, ""},

		{"an Indexed Job of runs", "JOB_COMPLETION_INDEX=2", "", none, Place{}, ""},
		{"an Indexed Job", "JOB_COMPLETION_INDEX=2", "", flags(-1, 3, "b-0.b:7000"), Place{2, 3, "b-0.b:7000", "kubernetes", ""}, ""},
		{"too many pods", "JOB_COMPLETION_INDEX=3", "", flags(-1, 3, "b-0.b:7000"), Place{}, "set completions and parallelism"},
		{"no rendezvous", "JOB_COMPLETION_INDEX=2", "", flags(-1, 3, ""), Place{}, "add -rendezvous"},

		{"no rank", "", "", flags(-1, 2, "h:1"), Place{}, "-rank /2: which of them is this process? Give -rank K/2"},
		{"no flags but the rendezvous", "", "", flags(-1, 0, "h:1"), Place{}, "Add -rank, or"},
		{"flags without a rendezvous", "", "", flags(1, 2, ""), Place{}, "add -rendezvous"},
		{"a port alone", "", "", flags(1, 2, ":7000"), Place{}, "add -rendezvous"},
		{"no port", "", "", flags(1, 2, "host"), Place{}, "-rendezvous host: is not HOST:PORT"},
		{"port 0", "", "", flags(1, 2, "host:0"), Place{}, "-rendezvous host:0: is not HOST:PORT"},
		{"a port too high", "", "", flags(1, 2, "host:65536"), Place{}, "1 to 65535"},
		{"other ranks", srunTask, "", flags(-1, 8, ""), Place{}, "-rank /8: slurm has started 4"},
		{"no number", srunTask, "SLURM_PROCID=x", none, Place{}, `SLURM_PROCID="x": is no number`},
		{"a missing variable", srunTask, "SLURM_JOB_ID=", none, Place{}, `SLURM_JOB_ID="": is no number`},
		{"rank beyond", srunTask, "SLURM_PROCID=4", none, Place{}, "SLURM_PROCID=4, but SLURM_STEP_NUM_TASKS=4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := variablesOf(tt.env)
			maps.Copy(env, variablesOf(tt.more))
			got, err := Discover(tt.flags, lookupIn(env))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("the error is %v, want %s", err, tt.err)
				}
			} else if err != nil || got != tt.want {
				t.Errorf("%+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"n1": "n1", "n[1-4]": "n1", "n1,m2": "n1", "a[01-03,7],b2": "a01", "x[1-2]y[3-4]": "x1y3", "r-[007]-n[8,9]": "r-007-n8",
	} {
		if got := firstHost(list); got != want {
			t.Errorf("%s begins with %s, want %s", list, got, want)
		}
	}
}

func TestListen(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:7": "127.0.0.1:7", "localhost:7": "localhost:7", "10.0.0.1:7": "10.0.0.1:7", "[::1]:7": "[::1]:7",
		"n1:7": ":7", "b-0.b:7": ":7",
	} {
		if got := (Place{Rendezvous: at}).Listen(); got != want {
			t.Errorf("for %s it listens on %s, want %s", at, got, want)
		}
	}
}

func TestToken(t *testing.T) {
	const (
		variable = TokenVariable + "=sesamesesamesesame"
		key      = "OMPI_MCA_orte_precondition_transports=67144061fe0a89b8-347ce8932500ca7a"
		here     = "127.0.0.1:7"
		make     = "openssl rand -hex 16 makes one"
	)
	for _, tt := range []struct {
		name, engine, at, env string
		token, err            string // parts
	}{
		{"variable", "slurm", "n1:7", variable, "sesamesesamesesame", ""},
		{"short", "flags", here, TokenVariable + "=fifteenletters-", "", TokenVariable + ": has 15 bytes, and needs 16: " + make},
		{"mpirun's own", "openmpi", "n1:7", key, "c85229c4", ""},
		{"rather than mpirun's", "openmpi", "n1:7", key + " " + variable, "sesamesesamesesame", ""},
		{"not of another engine", "slurm", "n1:7", key, "", "whoever reaches n1:7 could join: set " + TokenVariable},
		{"one host", "slurm", here, "", "", ""},
		{"one host of mpirun's", "openmpi", here, key, "", ""},
		{"one host by flags", "flags", "localhost:7", "", "", ""},
		{"hosts", "flags", "n1:7", "", "", "whoever reaches n1:7 could join: set " + TokenVariable + " to one secret for all ranks; " + make},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Place{Ranks: 2, Rendezvous: tt.at, Engine: tt.engine, Job: "173932545"}
			token, err := p.Token(lookupIn(variablesOf(tt.env)))
			for _, part := range []struct{ got, want string }{{token, tt.token}, {errorText(err), tt.err}} {
				if !strings.Contains(part.got, part.want) || part.want == "" && part.got != "" {
					t.Errorf("%q, want %q", part.got, part.want)
				}
			}
		})
	}
}

// TestSocket: without a token, ranks meet in a directory that nobody else can enter, or not at all.
func TestSocket(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	parent, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "lockbench", "fleets")
	of := func(p Place) string {
		at, err := p.At("")
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	p := Place{Rank: 1, Ranks: 2, Rendezvous: "127.0.0.1:7", Job: "1.0"}
	first, at := p, of(p)
	first.Rank = 0
	if of(first) != at || filepath.Dir(at) != dir {
		t.Errorf("rank 1 meets at %s, and rank 0 at %s", at, of(first))
	}
	for _, other := range []Place{{Rendezvous: p.Rendezvous, Job: "2.0"}, {Rendezvous: "127.0.0.1:8", Job: p.Job}} {
		if of(other) == at {
			t.Errorf("%+v meets at the same place", other)
		}
	}
	if at, err := p.At("a token"); err != nil || at != p.Rendezvous {
		t.Errorf("with a token it meets at %s, %v", at, err)
	}
	for name, spoil := range map[string]func() error{
		"of a group": func() error { return os.Chmod(dir, 0o770) },
		"readable":   func() error { return os.Chmod(dir, 0o744) },
		"sticky":     func() error { return os.Chmod(dir, 0o777|os.ModeSticky) },
		"a link": func() error {
			return errors.Join(os.Remove(dir), os.Mkdir(dir+"2", 0o700), os.Symlink(dir+"2", dir))
		},
		"a file": func() error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o700)) },
		"another user's": func() error {
			if os.Geteuid() != 0 { // only root can give one away
				return os.Chmod(dir, 0o777)
			}
			return os.Chown(dir, 1, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), os.RemoveAll(dir+"2"), spoil()); err != nil {
				t.Fatal(err)
			}
			_, err := p.At("")
			if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "set "+TokenVariable) {
				t.Error(err)
			}
		})
	}
	_ = os.RemoveAll(dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(cache, strings.Repeat("long", 30)))
	t.Setenv("HOME", filepath.Join(cache, strings.Repeat("long", 30)))
	_, err = p.At("")
	check(t, err, "is too long for a unix socket")
}

// TestMeetAtSocket: ranks without a token meet at a unix socket, also where a rank 0 was killed, but not where one waits.
func TestMeetAtSocket(t *testing.T) {
	at := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: at})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	l, said := NewLeader(identity(2), ""), &saying{more: make(chan struct{}, 1)}
	v, err := l.Listen(at, said.say)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewLeader(identity(2), "").Listen(at, said.say)
	check(t, err, "another rank 0 waits at "+at)
	s := server(t)
	over := join(t.Context(), at, 1, identity(2), "", opener(s.Addr(), 1))
	if err := v.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	v.Close()
	l.Close(nil)
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(at); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	_, _, err = Join(t.Context(), at, ms)
	check(t, err, "rank 0 was not at "+at+" within 1ms: without a "+TokenVariable+" all ranks meet as one user of one machine")
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
