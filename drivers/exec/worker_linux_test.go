package exec

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/spawn"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// ended reports whether a process is gone or waits to be reaped.
func ended(pid int) bool {
	fields, err := spawn.Stat(pid)
	return err != nil || strings.Contains("ZX", string(fields[0]))
}

// A worker ends when its parent is killed, also when it is stopped.
func TestWorkerDiesWithParent(t *testing.T) {
	for _, how := range []string{"running", "stopped"} {
		cmd := exec.Command(os.Args[0], "parent", how)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		pid, failed := strconv.Atoi(strings.TrimSpace(line))
		if err == nil {
			err = failed
		}
		if err == nil && ended(pid) {
			t.Errorf("%s: the worker has ended before its parent", how)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err != nil {
			t.Fatalf("%s: %q: %v", how, line, err)
		}
		testwait.Until(t, "the worker is gone", func() bool { return ended(pid) })
	}
}

// A worker ends when its standard input does, whatever the system does for the children of the dead.
func TestWorkerEndsWithItsInput(t *testing.T) {
	cmd := exec.Command(os.Args[0], Argument)
	cmd.Stdin = strings.NewReader(opening)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"traits"`) {
		t.Errorf("%q, %v", out, err)
	}
}

// A worker may be started by a shell script: signals are for both.
func TestWorkerOfAScript(t *testing.T) {
	w := start(t, Options{Argv: []string{"sh", "-c", os.Args[0] + " " + Argument + "; exit $?"}, Driver: "memory"})
	children := spawn.Children(w.PID())
	if len(children) != 1 {
		t.Fatalf("the shell has the children %v", children)
	}
	state := func() string {
		fields, err := spawn.Stat(children[0])
		if err != nil {
			return err.Error()
		}
		return string(fields[0])
	}
	if _, err := w.Stop(); err != nil || state() != "T" {
		t.Errorf("stopped: %v, and the worker's state is %s", err, state())
	}
	if _, err := w.Continue(t.Context()); err != nil {
		t.Error(err)
	}
	if d, err := w.Kill(); err != nil || d.State != "signal: killed" {
		t.Errorf("%+v, %v", d, err)
	}
	testwait.Until(t, "the worker is gone", func() bool { return ended(children[0]) })
}

// A worker in another language is a lock client like any other.
func TestForeignWorker(t *testing.T) {
	o := Options{Argv: []string{"sh", "testdata/mkdir.sh", t.TempDir()}, Driver: "mkdir"}
	a, b := start(t, o), start(t, o)
	if a.Traits() != (drivers.Traits{Exclusive: true}) {
		t.Errorf("it claims %+v", a.Traits())
	}
	l := &drivers.Lease{Key: "k"}
	next := *l
	held(t, a.Session(), l)
	if ok, err := b.Session().Try(t.Context(), &next); ok || err != nil {
		t.Errorf("Try of a lock that is held: %v, %v", ok, err)
	}
	if err := a.Write(t.Context(), l, time.Second); err == nil || !strings.HasSuffix(err.Error(), "this worker does not know it") {
		t.Errorf("Write: %v", err)
	}
	if _, err := a.Kill(); err != nil {
		t.Error(err)
	}
	if ok, err := b.Session().Try(t.Context(), &next); ok || err != nil {
		t.Errorf("Try of a dead worker's lock: %v, %v", ok, err)
	}
	for _, want := range []bool{true, false} {
		if owned, err := b.Session().Release(t.Context(), &next); owned != want || err != nil {
			t.Errorf("Release: %v, %v, want %v", owned, err, want)
		}
	}
}

// What a worker is told of addresses cannot be read by others: it is neither in its arguments nor in its environment.
func TestArgumentsAreNotSecret(t *testing.T) {
	server := servertest.Redis(t, servers.RedisOptions{Password: "hunter2"})
	w := start(t, Options{Driver: "rueidis", Config: drivers.Config{Lock: "set-nx", Addrs: []string{server.URL()}, Password: "hunter2"}})
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.PID(), file))
		if err != nil || len(text) == 0 {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		for _, secret := range []string{"hunter2", strings.TrimPrefix(server.URL(), "unix://")} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %s", file, secret)
			}
		}
	}
}
