package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// roleVar makes the test binary play another process.
const roleVar = "LOCKBENCH_SPAWN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		goleak.VerifyTestMain(m)
	case "parent", "parent of a stopped child": // prints the number of its child and waits for its death
		p, _, err := child("idler")
		if err == nil && role != "parent" {
			err = p.Signal(syscall.SIGSTOP)
		}
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		idle()
	case "family": // prints the number of a child that is in its group
		cmd := play("idler")
		if err := cmd.Start(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(cmd.Process.Pid)
		idle()
	case "idler":
		fmt.Println(os.Getpid())
		idle()
	}
}

// idle waits for the death of the process. In a select without cases the runtime would end it, since nothing could go on.
func idle() {
	for {
		_ = syscall.Pause()
	}
}

// play returns the command of the test binary in a role.
func play(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	return cmd
}

// child starts the test binary in a role and returns the number in its first line.
func child(role string) (p *Process, number int, err error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, 0, err
	}
	defer out.Close()
	cmd := play(role)
	cmd.Stdout = in
	p, err = Start(cmd)
	in.Close()
	if err != nil {
		return nil, 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		number, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("role %s: %q: %w", role, line, err), p.Kill())
	}
	return p, number, nil
}

// ended reports whether a process is gone or waits to be reaped.
func ended(pid int) bool {
	fields, err := Stat(pid)
	return err != nil || strings.Contains("ZX", string(fields[0]))
}

func TestChildDiesWithParent(t *testing.T) {
	for _, role := range []string{"parent", "parent of a stopped child"} {
		parent, pid, err := child(role)
		if err != nil {
			t.Fatal(err)
		}
		if fields, err := Stat(pid); err != nil || (string(fields[0]) == "T") != (role != "parent") {
			t.Errorf("%s: the child's state is %s, %v", role, fields, err)
		}
		if err := parent.Kill(); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the child is gone", func() bool { return ended(pid) })
	}
}

// A signal to the group reaches what the child has started, and one to the process does not.
func TestGroup(t *testing.T) {
	p, grandchild, err := child("family")
	if err != nil {
		t.Fatal(err)
	}
	defer p.KillGroup()
	if err := p.Signal(syscall.SIGSTOP); err != nil || !threadsStopped(p.PID()) {
		t.Errorf("the child goes on: %v", err)
	}
	if stopped, known := p.Stopped(); stopped || !known || threadsStopped(grandchild) {
		t.Errorf("stopping the child has stopped what it has started: %t, %t", stopped, known)
	}
	if err := p.StopGroup(); err != nil || !threadsStopped(grandchild) {
		t.Errorf("the grandchild goes on: %v", err)
	}
	if stopped, known := p.Stopped(); !stopped || !known || p.Letter() != "T" {
		t.Errorf("a stopped group: %t, %t, %s", stopped, known, p.Letter())
	}
	if err := p.ContinueGroup(); err != nil {
		t.Error(err)
	}
	testwait.Until(t, "the group goes on", func() bool { return !threadsStopped(p.PID()) && !threadsStopped(grandchild) })
	if err := p.KillGroup(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the grandchild is gone", func() bool { return ended(grandchild) })
}

func TestEnds(t *testing.T) {
	p, pid, err := child("idler")
	if err != nil {
		t.Fatal(err)
	}
	if p.PID() != pid || p.Gone() {
		t.Errorf("process %d, gone %t, want %d", p.PID(), p.Gone(), pid)
	}
	for range 2 {
		if err := errors.Join(p.Kill(), p.KillGroup()); err != nil {
			t.Error(err)
		}
	}
	status, ok := p.State().Sys().(syscall.WaitStatus)
	if !p.Gone() || p.Wait() == nil || !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("gone %t: %v", p.Gone(), p.State())
	}
	for _, err := range []error{p.Signal(syscall.SIGSTOP), p.StopGroup(), p.ContinueGroup()} {
		if !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("a signal to a process that is gone: %v", err)
		}
	}
	if _, err := Start(exec.Command("/nonexistent")); err == nil {
		t.Error("a program that does not exist has been started")
	}
}

// What the child has started ends with it, however it ends.
func TestGroupEndsWithItsLeader(t *testing.T) {
	p, grandchild, err := child("family")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	testwait.Until(t, "the grandchild is gone", func() bool { return ended(grandchild) })
}
