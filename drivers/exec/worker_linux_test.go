package exec

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
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

// A worker ends when its standard input does, whatever the system does for the children of the dead.
func TestWorkerEndsWithItsInput(t *testing.T) {
	cmd := exec.Command(os.Args[0], Argument)
	cmd.Stdin = strings.NewReader(opening)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"traits"`) {
		t.Errorf("%q, %v", out, err)
	}
}

// A worker may have an adapter: that one is stopped and killed with it.
func TestWorkerWithAnAdapter(t *testing.T) {
	w := start(t, Options{Driver: "exec:" + strconv.Quote(os.Args[0]) + " " + Argument + " memory"})
	held(t, w.Session(), &drivers.Lease{Key: "k", TTL: time.Minute})
	children := spawn.Children(w.process.PID())
	if len(children) != 1 {
		t.Fatalf("the worker has the children %v", children)
	}
	if _, err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	if fields, err := spawn.Stat(children[0]); err != nil || string(fields[0]) != "T" {
		t.Errorf("the state of the adapter of a stopped worker is %s, %v", fields, err)
	}
	if _, err := w.Kill(); err != nil {
		t.Error(err)
	}
	testwait.Until(t, "the adapter is gone", func() bool { return ended(children[0]) })
}

// Where clients crash, each has a process, which a crash kills; another one is in its place afterwards.
func TestCrashKills(t *testing.T) {
	d := *adapterOf(t, "null").(*adapter)
	d.hello = &hello{Designs: []design{{Name: "none"}}} // which says nothing of crashes
	svc, err := d.Open(t.Context(), drivers.Config{Clients: 3, Crashes: true})
	if err != nil {
		t.Fatal(err)
	}
	s := svc.(*service)
	var sessions []drivers.Session
	for id := range 3 {
		session, err := s.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
	}
	before, pid := s.CPU(), s.process(1).process.PID()
	if len(before) != 3 || slices.Min(before) <= 0 {
		t.Errorf("3 clients have used %v of CPU time", before)
	}
	sessions[1].(drivers.Crasher).Crash()
	if !ended(pid) {
		t.Error("a crash has left the process")
	}
	if _, err := sessions[1].Try(t.Context(), &drivers.Lease{Key: "k"}); drivers.ClassOf(err) != drivers.ClassClosed {
		t.Errorf("Try of a dead client: %v", err)
	}
	if err := s.Broken(); err != nil {
		t.Errorf("after a crash that was asked for: %v", err)
	}
	if sessions[1], err = s.Session(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, session := range sessions {
		held(t, session, &drivers.Lease{Key: "k", TTL: time.Minute})
	}
	if after := s.CPU(); after[1] <= before[1] {
		t.Errorf("a process and the one before it have used %v, which had used %v", after[1], before[1])
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A process that has ended is the end of the service, whoever has noticed.
func TestBroken(t *testing.T) {
	svc, err := adapterOf(t, "null").Open(t.Context(), drivers.Config{Clients: 2, Lockers: 2})
	if err != nil {
		t.Fatal(err)
	}
	s := svc.(*service)
	if err := s.Broken(); err != nil {
		t.Error(err)
	}
	if err := s.process(1).process.Kill(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "it is broken", func() bool { return s.Broken() != nil })
	if err := s.Broken(); !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
	_ = s.Close()
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
	server := servertest.Redis(t, servers.Options{Password: "hunter2"})
	w := start(t, Options{Driver: "rueidis", Config: drivers.Config{Lock: "set-nx", Addrs: []string{server.URL()}, Password: "hunter2"}})
	for _, file := range []string{"cmdline", "environ"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", w.process.PID(), file))
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
