package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/cmd/cli"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/fleet/fleettest"
)

// asLockbench makes the test's own program lockbench. Its value marks the processes of a run.
const asLockbench = "FLEET_TEST_LOCKBENCH"

func init() {
	if os.Getenv(asLockbench) != "" {
		cli.Main()
	}
}

// run is a lockbench of several ranks.
type run struct {
	mark, file string // of its processes, and of its records
	cmds       []*exec.Cmd
	out, err   []*bytes.Buffer
}

// newRun returns a run that nothing has been started of. A process that is left when the test ends is an error, and is
// killed.
func newRun(t *testing.T) *run {
	r := &run{mark: fmt.Sprintf("%s-%d", t.Name(), os.Getpid()), file: filepath.Join(t.TempDir(), "records.jsonl")}
	t.Cleanup(func() {
		for pid := range r.processes() {
			t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return r
}

// command adds a command that starts some or all of the ranks.
func (r *run) command(argv ...string) *exec.Cmd {
	c, out, err := exec.Command(argv[0], argv[1:]...), new(bytes.Buffer), new(bytes.Buffer)
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), asLockbench+"="+r.mark), out, err
	r.cmds, r.out, r.err = append(r.cmds, c), append(r.out, out), append(r.err, err)
	return c
}

// end waits for the commands, and returns their exit codes.
func (r *run) end(t *testing.T) (codes []int) {
	t.Helper()
	for i, c := range r.cmds {
		testwait.Ends(t, "the run", func() { _ = c.Wait() })
		codes = append(codes, c.ProcessState.ExitCode())
		t.Logf("%v: %s", c.ProcessState, strings.TrimSpace(r.err[i].String()))
	}
	testwait.Until(t, "the last process of the run ends", func() bool { return len(r.processes()) == 0 })
	return codes
}

// processes returns the environments of the processes of the run, by their ids.
func (r *run) processes() map[int][]string {
	found := map[int][]string{}
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range list {
		text, _ := os.ReadFile(name)
		if env := strings.Split(string(text), "\x00"); slices.Contains(env, asLockbench+"="+r.mark) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			found[pid] = env
		}
	}
	return found
}

// records returns what the run has recorded.
func (r *run) records(t *testing.T) (list []*results.Record) {
	t.Helper()
	f, err := os.Open(r.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := results.Read(f, func(rec *results.Record) error {
		list = append(list, rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// only checks that a run has one record, of so many ranks, and that one rank alone has reported it.
func (r *run) only(t *testing.T, ranks int) *results.Record {
	t.Helper()
	list := r.records(t)
	if len(list) != 1 || len(list[0].Ranks) != ranks {
		t.Fatalf("not one record of %d ranks: %+v\n%s", ranks, list, r.out)
	}
	if n := bytes.Count(bytes.Join(r.outs(), nil), []byte(" locks/s · p99 ")); n != 1 {
		t.Errorf("%d reports:\n%s", n, r.out)
	}
	return list[0]
}

func (r *run) outs() (list [][]byte) {
	for _, b := range r.out {
		list = append(list, b.Bytes())
	}
	return list
}

// engine runs the program by an engine, to its end, and until stop, which gets the environment of a rank.
func engine(t *testing.T, variable string, stop func(r *run, env []string) error, argv ...string) {
	redis := servertest.Redis(t, servers.Options{TCP: true})
	start := func(t *testing.T, args ...string) *run {
		r := newRun(t)
		c := r.command(slices.Concat(argv, []string{os.Args[0], "-clients", "16", "-keys", "4", "-o", r.file}, args)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("whole", func(t *testing.T) {
		r := start(t, "-duration", "1s") // and a private server of rank 0's
		if codes := r.end(t); codes[0] != 0 {
			t.Errorf("exit code %d", codes[0])
		}
		rec := r.only(t, 4)
		if rec.Partial != "" || rec.Safety.Violations > 0 || rec.Counts.Acquired == 0 {
			t.Errorf("partial %q, safety %+v, counts %+v", rec.Partial, rec.Safety, rec.Counts)
		}
		for i, of := range rec.Ranks {
			if of.Rank != i || of.Clients != 4 || of.Acquired == 0 {
				t.Errorf("rank %d: %+v", i, of)
			}
		}
	})
	t.Run("stopped", func(t *testing.T) {
		before := commands(t, redis)
		r := start(t, "-duration", "10m", "-addr", redis.URL())
		testwait.Until(t, "the load is under way", func() bool { return commands(t, redis) > before+5000 })
		var env []string
		for _, one := range r.processes() {
			if slices.Contains(one, variable+"=2") {
				env = one
			}
		}
		if err := stop(r, env); err != nil {
			t.Fatal(err)
		}
		if codes := r.end(t); codes[0] == 0 {
			t.Error("exit code 0")
		}
		for _, rec := range r.records(t) {
			if rec.Partial == "" {
				t.Error("the record does not say that it is partial")
			}
		}
		testwait.Until(t, "nothing is left on the server", func() bool {
			keys, err := redis.KeysWith(context.Background(), "")
			return err == nil && len(keys) == 0
		})
	})
}

// commands returns how many the server has executed.
func commands(t *testing.T, redis *servers.Redis) (n int) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(redis.URL(), "redis://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var text []byte
	buf := make([]byte, 4096)
	fmt.Fprint(c, "INFO stats\r\nQUIT\r\n")
	for {
		n, err := c.Read(buf)
		if text = append(text, buf[:n]...); err != nil {
			break
		}
	}
	_, after, _ := strings.Cut(string(text), "total_commands_processed:")
	fmt.Sscan(after, &n)
	return n
}

func TestSlurmRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts daemons")
	}
	fleettest.Slurm(t)
	t.Setenv(fleet.TokenVariable, "a token of the test's own") // should the nodes have names
	engine(t, "SLURM_PROCID", func(r *run, env []string) error {
		for _, pair := range env {
			if job, ok := strings.CutPrefix(pair, "SLURM_JOB_ID="); ok {
				return exec.Command("scancel", "--signal=INT", job).Run()
			}
		}
		return errors.New("no job")
	}, "srun", "--kill-on-bad-exit=1", "-N4", "-n4")
}

func TestOpenMPIRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	interrupt := func(r *run, _ []string) error { return r.cmds[0].Process.Signal(os.Interrupt) }
	engine(t, "OMPI_COMM_WORLD_RANK", interrupt, append(fleettest.OpenMPI(t), "-n", "4")...)
}

// TestLostRankOfFlags: when a rank is lost, the others end like rank 0, which leaves out the trials that remain.
func TestLostRankOfFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	redis := servertest.Redis(t, servers.Options{TCP: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := newRun(t)
	for i := range 3 {
		c := r.command(os.Args[0], "-rank", fmt.Sprint(i, "/3"), "-rendezvous", at, "-clients", "6", "-keys", "2", "-o", r.file,
			"-addr", redis.URL(), "-trials", "1000", "-duration", "50ms", "-warmup", "0s")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "a trial has ended", func() bool {
		info, err := os.Stat(r.file)
		return err == nil && info.Size() > 0
	})
	if err := r.cmds[2].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if codes := r.end(t); !slices.Equal(codes, []int{1, 1, -1}) {
		t.Errorf("exit codes %v", codes)
	}
	if list := r.records(t); len(list) == 0 || len(list) == 1000 {
		t.Errorf("%d records", len(list))
	}
	for i, want := range []string{"the remaining trials are left out: rank 2 on ", "rank 1: rank 0 has ended the run: rank 2 on "} {
		if text := r.err[i].String(); !strings.Contains(text, want) {
			t.Errorf("rank %d says %s, want %s", i, text, want)
		}
	}
}
