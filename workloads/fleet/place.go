// Where a process stands in its fleet: its flags say so, or the engine that has started it.

package fleet

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

// Place is where a process stands among those that make one run.
type Place struct {
	Rank, Ranks int    // Ranks of 0 or 1: no fleet
	Rendezvous  string // HOST:PORT of rank 0
	Engine      string // what says so: slurm, openmpi, pmi, kubernetes or flags; "" if nothing does
	Job         string // what tells this start of the engine from its others, if anything does; it is no secret
}

// Fleet reports whether there are other processes.
func (p Place) Fleet() bool { return p.Ranks > 1 }

// Listen returns the address for rank 0 to listen on: that of Rendezvous if it is one, and the port on all interfaces
// if it is a name, which often stands for something else on its own host, such as 127.0.1.1.
func (p Place) Listen() string {
	host, port, _ := net.SplitHostPort(p.Rendezvous)
	if host == "localhost" || net.ParseIP(host) != nil {
		return p.Rendezvous
	}
	return ":" + port
}

// local reports whether nobody on another host can reach the rendezvous.
func (p Place) local() bool {
	host, _, _ := net.SplitHostPort(p.Rendezvous)
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// A port that nobody chooses is from portBase on one of ports: below those that Linux gives to clients.
const (
	portBase = 20000
	ports    = 12000
)

const loopback = "127.0.0.1"

func rendezvous(host string, n uint64) string {
	return net.JoinHostPort(host, strconv.FormatUint(portBase+n%ports, 10))
}

// Discover finds the place of this process. The flags count before the engine: a -rank replaces it, one of 1 makes processes that
// each run for themselves, and -rendezvous replaces its host and port, or with :PORT its port. In flags a Rank of -1, Ranks of 0
// and a Rendezvous of "" mean that the flag does not say it.
func Discover(flags Place, lookup func(string) (string, bool)) (Place, error) {
	var (
		p     = Place{Rank: max(flags.Rank, 0), Ranks: flags.Ranks, Engine: "flags"}
		lacks = "-rank does not say where rank 0 is"
		err   error
	)
	if flags.Rank < 0 && flags.Ranks != 1 {
		p, lacks, err = variables(lookup).engine(flags.Ranks)
	}
	switch {
	case err != nil:
		return Place{}, err
	case p.Engine == "" && flags.Ranks > 1:
		return Place{}, fmt.Errorf("-rank /%d: which of them is this process? Give -rank K/%[1]d, or start it with srun, mpirun "+
			"or as an Indexed Job of Kubernetes", flags.Ranks)
	case p.Engine == "" && flags.Rendezvous != "":
		return Place{}, fmt.Errorf("-rendezvous %s: who meets there? Add -rank, or use srun or mpirun", flags.Rendezvous)
	case flags.Ranks > 1 && flags.Ranks != p.Ranks:
		return Place{}, fmt.Errorf("-rank /%d: %s has started %d: leave it out, or give -rank K/N if they are not meant",
			flags.Ranks, p.Engine, p.Ranks)
	case !p.Fleet():
		return Place{Ranks: p.Ranks, Engine: p.Engine}, nil
	}
	if flags.Rendezvous != "" {
		host, port, err := net.SplitHostPort(flags.Rendezvous)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 {
			return Place{}, fmt.Errorf("-rendezvous %s: is not HOST:PORT with a port from 1 to 65535", flags.Rendezvous)
		}
		if host == "" {
			host, _, _ = net.SplitHostPort(p.Rendezvous)
		}
		p.Rendezvous = net.JoinHostPort(host, port)
		if host == "" {
			p.Rendezvous = ""
		}
	}
	if p.Rendezvous == "" {
		return Place{}, fmt.Errorf("%s: add -rendezvous HOST:PORT with the host of rank 0 and a free port there", lacks)
	}
	return p, nil
}

// variables are those of the environment.
type variables func(string) (string, bool)

func (v variables) text(name string) string {
	text, _ := v(name)
	return text
}

func (v variables) number(name string) (int, error) {
	n, err := strconv.Atoi(v.text(name))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s=%q: is no number: give -rank and -rendezvous, or -rank 0/1 to run alone", name,
			v.text(name))
	}
	return n, nil
}

// place reads a rank and a size.
func (v variables) place(engine, rank, size string) (Place, error) {
	r, rankErr := v.number(rank)
	n, sizeErr := v.number(size)
	if err := cmp.Or(rankErr, sizeErr); err != nil {
		return Place{}, err
	}
	if r >= n {
		return Place{}, fmt.Errorf("%s=%d, but %s=%d: give -rank and -rendezvous", rank, r, size, n)
	}
	return Place{Rank: r, Ranks: n, Engine: engine}, nil
}

// engine asks the engine that has started this process, of nested ones the inmost: mpirun within an allocation of Slurm
// starts its daemons by srun, whose variables its processes inherit. A Rendezvous that it does not know is no error,
// since -rendezvous may give it: lacks says why.
func (v variables) engine(ranks int) (p Place, lacks string, err error) {
	switch {
	case v.text("OMPI_COMM_WORLD_SIZE") != "":
		return v.openMPI()
	case v.text("PMI_SIZE") != "" && v.text("PMI_SIZE") != v.text("SLURM_STEP_NUM_TASKS"): // srun --mpi=pmi2 sets both
		p, err = v.place("pmi", "PMI_RANK", "PMI_SIZE")
		return p, "mpiexec does not tell where rank 0 is", err
	case v.text("SLURM_STEP_ID") != "": // neither the script of sbatch nor the shell of salloc has one
		return v.slurm()
	case v.text("JOB_COMPLETION_INDEX") != "" && ranks > 1: // without -rank each pod may run for itself
		rank, err := v.number("JOB_COMPLETION_INDEX")
		if err == nil && rank >= ranks {
			err = fmt.Errorf("JOB_COMPLETION_INDEX=%d, but -rank /%d: set completions and parallelism of the Job to it",
				rank, ranks)
		}
		return Place{Rank: rank, Ranks: ranks, Engine: "kubernetes"}, "the Job does not say where rank 0 is", err
	}
	return Place{}, "", nil
}

// slurm reads the variables of srun. Two steps on one node have different ports as long as the numbers of their jobs
// differ by less than 187, and theirs within a job are below 64.
func (v variables) slurm() (Place, string, error) {
	p, err := v.place("slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
	if err != nil || !p.Fleet() {
		return p, "", err
	}
	// srun sets both. A script that a step gives to sbatch inherits the step's variables, and is no part of it.
	if tasks, size := v.text("SLURM_NTASKS"), v.text("SLURM_STEP_NUM_TASKS"); tasks != size {
		return p, "", fmt.Errorf("SLURM_NTASKS=%s, but SLURM_STEP_NUM_TASKS=%s, which is another step's: start it with "+
			"srun, or add -rank 0/1 to run alone", tasks, size)
	}
	job, jobErr := v.number("SLURM_JOB_ID")
	step, stepErr := v.number("SLURM_STEP_ID")
	if err := cmp.Or(jobErr, stepErr); err != nil {
		return p, "", err
	}
	p.Job = fmt.Sprintf("%d.%d", job, step)
	host, list := loopback, v.text("SLURM_STEP_NODELIST")
	if v.text("SLURM_STEP_NUM_NODES") != "1" {
		host = firstHost(list)
		if node := v.text("SLURMD_NODENAME"); p.Rank == 0 && node != host { // srun -m arbitrary
			return p, fmt.Sprintf("rank 0 is on %s, not on the first of SLURM_STEP_NODELIST=%s", node, list), nil
		}
	}
	p.Rendezvous = rendezvous(host, uint64(job)*64+uint64(step))
	return p, "", nil
}

// firstHost returns the first of the hosts in a list of Slurm's: n01 of n[01-03,7],m2, and x1y3 of x[1-2]y[3-4].
func firstHost(list string) string {
	return listed.FindString(brackets.ReplaceAllString(list, "$1"))
}

var (
	brackets = regexp.MustCompile(`\[(\d+)[^\]]*\]`)
	listed   = regexp.MustCompile(`^[^,]*`)
)

// openMPI reads the variables of mpirun. They have its own addresses, and rank 0 alone knows whether it is there.
func (v variables) openMPI() (Place, string, error) {
	p, err := v.place("openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
	if err != nil {
		return p, "", err
	}
	p.Job = v.text("PMIX_NAMESPACE")
	host, uri := "", v.text("OMPI_MCA_orte_hnp_uri")
	if v.text("OMPI_COMM_WORLD_LOCAL_SIZE") == v.text("OMPI_COMM_WORLD_SIZE") {
		host = loopback
	} else if at := tcpHost.FindStringSubmatch(uri); at != nil {
		host = at[1]
	}
	if p.Rank == 0 && host != loopback && v.text("OMPI_MCA_orte_local_daemon_uri") != uri {
		host = ""
	}
	if p.Job == "" || host == "" {
		return p, "mpirun does not tell on which host rank 0 is, unless it is its own", nil
	}
	h := fnv.New64a()
	h.Write([]byte(p.Job))
	p.Rendezvous = rendezvous(host, h.Sum64())
	return p, "", nil
}

var tcpHost = regexp.MustCompile(`;tcp://([^,:;]+)`)

// TokenVariable has the token in the environment.
const TokenVariable = "LOCKBENCH_FLEET_TOKEN"

// minToken is how long a token has to be, since a guess can be held against a proof at leisure.
const minToken = 16

const makeToken = "openssl rand -hex 16 makes one"

// Token returns what a process must know to join the fleet: what the variable gives, else what mpirun has drawn for its processes
// alone. Ranks of one machine need none; see At.
func (p Place) Token(lookup func(string) (string, bool)) (string, error) {
	v := variables(lookup)
	given := v.text(TokenVariable)
	const drawn = "OMPI_MCA_orte_precondition_transports" // the key of Open MPI's own connections, random for each job
	switch {
	case given != "" && len(given) < minToken:
		return "", fmt.Errorf("%s: has %d bytes, and needs %d: %s", TokenVariable, len(given), minToken, makeToken)
	case given != "" || p.local():
		return given, nil
	case p.Engine == "openmpi" && v.text(drawn) != "":
		mac := hmac.New(sha256.New, []byte(v.text(drawn)))
		mac.Write([]byte("lockbench fleet " + p.Job))
		return hex.EncodeToString(mac.Sum(nil)), nil
	}
	return "", fmt.Errorf("whoever reaches %s could join: set %s to one secret for all ranks; %s", p.Rendezvous, TokenVariable, makeToken)
}

// At returns where this rank waits for the others, or joins them. Without a token that is a unix socket.
func (p Place) At(token string) (string, error) {
	switch {
	case token == "":
		return p.socket()
	case p.Rank == 0:
		return p.Listen(), nil
	}
	return p.Rendezvous, nil
}

// socket returns the path of one in a directory that nobody but this user can enter, so that ranks of one machine need no token.
func (p Place) socket() (string, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "lockbench", "fleets")
		err = makePrivate(dir)
	}
	host, _ := os.Hostname() // machines may share the directory
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s", host, p.Rendezvous, p.Job))
	path := filepath.Join(dir, hex.EncodeToString(sum[:8]))
	if err == nil && len(path) > maxSocketPath {
		err = fmt.Errorf("%s: is too long for a unix socket", path)
	}
	if err != nil {
		return "", fmt.Errorf("no directory for the ranks to meet: %w; else set %s to one secret for all ranks", err, TokenVariable)
	}
	return path, nil
}

// maxSocketPath is what the shortest sockaddr_un holds, that of macOS.
const maxSocketPath = 103

// makePrivate makes a directory, unless it is there, of which the error says that others can enter it.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() || info.Mode() != fs.ModeDir|0o700 {
		return fmt.Errorf("%s: must be a directory of this user with mode 0700", dir)
	}
	return nil
}

// listenUnix listens at a path, also if a rank 0 that was killed has left a socket there.
func listenUnix(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("another rank 0 waits at %s: give each fleet a port of its own", path)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}
