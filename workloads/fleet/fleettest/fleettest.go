// Package fleettest starts engines that start fleets, for tests: a private Slurm of four nodes on this machine, and Open
// MPI. A test whose engine is not installed is skipped, and fails with CI=true.
package fleettest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nodes is how many nodes Slurm has, of four processors each.
const Nodes = 4

// need finds programs, also where only root's PATH leads.
func need(t testing.TB, programs ...string) {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("not installed: %v", err)
		}
	}
}

// OpenMPI returns the command that its arguments follow: -n 4 PROGRAM.
func OpenMPI(t testing.TB) []string {
	t.Helper()
	need(t, "mpirun.openmpi")
	return []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"}
}

// Slurm starts a Slurm and leads srun, sbatch and salloc of this process to it. Its first node has the name HOST of this
// machine, and the others are HOST-2 to HOST-4, which cannot be looked up. If HOST cannot either, the ranks of lockbench meet
// at a port of the loopback. Everything ends with the test.
func Slurm(t testing.TB) {
	t.Helper()
	need(t, "munged", "slurmctld", "slurmd", "sinfo", "srun")
	dir, err := os.MkdirTemp("", "slurm") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	if _, err := net.LookupHost(host); err != nil {
		t.Setenv("LOCKBENCH_RENDEZVOUS", net.JoinHostPort("127.0.0.1", freePort(t)))
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key)
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("munge.key", key)
	names := []string{host, host + "-2", host + "-3", host + "-4"}
	conf := strings.NewReplacer("$DIR", dir, "$HOST", host, "$USER", me.Username, "$PORT", freePort(t)).Replace(configuration)
	for _, name := range names {
		conf += fmt.Sprintf("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%s CPUs=4\n", name, host, freePort(t))
	}
	conf += "PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES State=UP\n"
	write("slurm.conf", []byte(conf))
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))

	in := func(name string) string { return filepath.Join(dir, name) }
	daemon(t, dir, "munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.socket"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("seed"))
	await(t, dir, func() bool { _, err := os.Stat(in("munge.socket")); return err == nil })
	daemon(t, dir, "slurmctld", "-D", "-i")
	for _, name := range names {
		if err := os.MkdirAll(in("spool/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		daemon(t, dir, "slurmd", "-D", "-N", name)
	}
	await(t, dir, func() bool {
		out, _ := exec.Command("sinfo", "--noheader", "--states=idle", "--format=%D").Output()
		return strings.TrimSpace(string(out)) == fmt.Sprint(Nodes)
	})
}

// configuration is that of a Slurm that needs nothing of the machine but ports.
const configuration = `ClusterName=test
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=$USER
SlurmdUser=$USER
AuthType=auth/munge
AuthInfo=socket=$DIR/munge.socket
CredType=cred/munge
StateSaveLocation=$DIR
SlurmdSpoolDir=$DIR/spool/%n
SlurmctldPidFile=$DIR/slurmctld.pid
SlurmdPidFile=$DIR/slurmd.%n.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
ReturnToService=2
`

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// daemon starts a program that the test's end ends.
func daemon(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	log, err := os.CreateTemp(dir, name+"-*.out")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
}

// await waits until something is so, for a minute.
func await(t testing.TB, dir string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			logs, _ := filepath.Glob(filepath.Join(dir, "*.out"))
			for _, name := range logs {
				text, _ := os.ReadFile(name)
				t.Logf("%s: %s", filepath.Base(name), text)
			}
			t.Fatal("Slurm does not come up")
		}
	}
}
