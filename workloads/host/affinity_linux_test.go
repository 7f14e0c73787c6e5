package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMove moves all threads of this process to one of its cores, and back.
func TestMove(t *testing.T) {
	all, err := Cores()
	if err != nil || len(all) == 0 || !slices.IsSorted(all) {
		t.Fatalf("cores %v: %v", all, err)
	}
	one := all[len(all)-1:]
	if err := Move(os.Getpid(), one); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := Move(os.Getpid(), all); err != nil {
			t.Error(err)
		}
		if back, err := Cores(); err != nil || !slices.Equal(back, all) {
			t.Errorf("moved back to %v: %v", back, err)
		}
	}()
	threads, _ := filepath.Glob("/proc/self/task/[0-9]*")
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(id, &set); err == nil && (set.Count() != 1 || !set.IsSet(one[0])) {
			t.Errorf("thread %d may run on %d cores", id, set.Count())
		}
	}
	if got, err := Cores(); err != nil || !slices.Equal(got, one) {
		t.Errorf("a new reading has %v: %v", got, err)
	}
}

func TestMoveErrors(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	if err := Move(child.Process.Pid, []int{0}); err != nil { // it is gone
		t.Error(err)
	}
	if err := Move(os.Getpid(), nil); err == nil {
		t.Error("moved to no core at all")
	}
}
