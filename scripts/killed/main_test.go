package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/scripts/bench"
)

// TestMain lets the test binary be lockbench.
func TestMain(m *testing.M) {
	bench.Itself()
	os.Exit(m.Run())
}

// TestKilled kills a few proofs, of which servers are the children.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("scripts/killed takes half a minute")
	}
	t.Setenv("TMPDIR", os.TempDir()) // restored at the end
	var out strings.Builder
	s := study{n: 4, within: 5 * time.Second, seed: 1, flags: []string{"-driver", "rueidis,postgres", "-each", "1s"}, out: &out}
	if err := s.run(t.Context()); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log(out.String())
}

// TestProcesses: a process that works for a directory is found by its environment alone.
func TestProcesses(t *testing.T) {
	tmp := t.TempDir()
	if list, err := processes(tmp); len(list) > 0 || err != nil {
		t.Fatalf("%q, %v", list, err)
	}
	cmd := exec.Command("cat") // until its input ends
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Its environment cannot be read before it executes, which Start does not wait for.
	said := make([]byte, 1)
	if _, err := in.Write(said); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(said); err != nil {
		t.Fatal(err)
	}
	if list, err := processes(tmp); len(list) != 1 || err != nil {
		t.Errorf("%q, %v", list, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if list, err := processes(tmp); len(list) > 0 || err != nil {
		t.Errorf("%q, %v", list, err)
	}
}
