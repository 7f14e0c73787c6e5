package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// staleDir makes the directory of a process that has died.
func staleDir(t *testing.T, root string) string {
	t.Helper()
	d, err := newTempDir(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.file("server.log"), []byte("…"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.lock.Close(); err != nil {
		t.Fatal(err)
	}
	return d.path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestSweepTakesOnlyStaleDirectories(t *testing.T) {
	root := canonical(t.TempDir())
	live, err := newTempDir(root)
	if err != nil {
		t.Fatal(err)
	}
	stale := staleDir(t, root)
	halfRemoved := filepath.Join(root, dirPrefix+"1")
	dead := exec.Command(os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	halfMade := filepath.Join(root, fmt.Sprintf("%s%d-5", newPrefix, dead.Process.Pid))
	keep := []string{
		live.path,
		filepath.Join(root, newPrefix+"2"), // an earlier version makes it
		filepath.Join(root, fmt.Sprintf("%s%d-2", newPrefix, os.Getpid())), // being made
		filepath.Join(root, dirPrefix+"notes"),                             // not one of lockbench's names
		filepath.Join(root, dirPrefix+"3"),                                 // no lock and not empty: unknown owner
		filepath.Join(root, dirPrefix+"3", "thesis.tex"),                   //
		filepath.Join(root, "lockbench-results"),
	}
	for _, dir := range append(keep[1:], halfRemoved, halfMade) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(halfMade, lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// A link to a stale directory elsewhere must not be followed.
	elsewhere := staleDir(t, canonical(t.TempDir()))
	link := filepath.Join(root, dirPrefix+"4")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	keep = append(keep, link, filepath.Join(elsewhere, "server.log"))

	if os.Geteuid() == 0 { // only root can make another user's directory
		foreign := staleDir(t, root)
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		keep = append(keep, foreign)
	}

	removed, err := sweep(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{stale, halfRemoved, halfMade}
	slices.Sort(want)
	slices.Sort(removed)
	if !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
	for _, path := range want {
		if exists(path) {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range keep {
		if !exists(path) {
			t.Errorf("%s is gone", path)
		}
	}
	if err := live.remove(); err != nil {
		t.Fatal(err)
	}
	if exists(live.path) {
		t.Errorf("%s is left", live.path)
	}
}

// A sweep kills the server that a dead parent left, and no other process that has got its number since.
func TestSweepKillsOnlyTheServer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		record func(pid int, stamp string) string
		inside bool // the process works in the directory
		killed bool
	}{
		{"the server", func(pid int, stamp string) string { return fmt.Sprintf("%d %s\n", pid, stamp) }, true, true},
		{"number used again", func(pid int, stamp string) string { return fmt.Sprintf("%d %s0\n", pid, stamp) }, true, false},
		{"works elsewhere", func(pid int, stamp string) string { return fmt.Sprintf("%d %s\n", pid, stamp) }, false, false},
		{"garbage", func(pid int, stamp string) string { return fmt.Sprintf("%d", pid) }, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := canonical(t.TempDir())
			dir := staleDir(t, root)
			cwd := root
			if tt.inside {
				cwd = dir
			}
			cmd, _ := startRole(t, "idler", cwd)
			stamp, err := stampOf(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			text := tt.record(cmd.Process.Pid, stamp)
			if err := os.WriteFile(filepath.Join(dir, pidFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if removed, err := sweep(root); err != nil || !slices.Equal(removed, []string{dir}) {
				t.Errorf("removed %q, %v", removed, err)
			}
			if _, err := stampOf(cmd.Process.Pid); (err != nil) != tt.killed {
				t.Errorf("killed: %t, want %t", err != nil, tt.killed)
			}
		})
	}
}

// Two sweeps may open the same lock file; the slower one then gets a lock on a file that no longer exists, and the name
// may belong to another process by then.
func TestLockOfRemovedFileDoesNotCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), lockFile)
	for _, recreate := range []bool{false, true} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if !stillAt(f, path) {
			t.Error("the file is there, yet does not count")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if recreate {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if stillAt(f, path) {
			t.Errorf("a removed file counts (another one in its place: %t)", recreate)
		}
	}
}

// Processes that start at the same time must not sweep each other's new directories. Locks belong to open files, so
// goroutines stand for processes here.
func TestSweepWhileOthersStart(t *testing.T) {
	root := canonical(t.TempDir())
	for range 20 {
		staleDir(t, root)
	}
	var starters, sweepers sync.WaitGroup
	stop := make(chan struct{})
	var mu sync.Mutex
	swept := map[string]int{}
	for range 3 {
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				removed, err := sweep(root)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, path := range removed {
					swept[path]++
				}
				mu.Unlock()
			}
		})
	}
	for range 4 {
		starters.Go(func() {
			for range 50 {
				d, err := newTempDir(root)
				if err != nil {
					t.Error(err)
					continue
				}
				if err := os.WriteFile(d.file("redis.conf"), nil, 0o600); err != nil {
					t.Error(err) // swept too early
				}
				if err := d.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starters.Wait()
	close(stop)
	sweepers.Wait()
	if _, err := sweep(root); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	for path, times := range swept {
		if times > 1 {
			t.Errorf("%s was swept %d times", path, times)
		}
	}
}

// If two goroutines remove a directory, one of them reports it.
func TestRemoveDirOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	for _, files := range [][]string{{lockFile}, {lockFile, "redis.conf"}, nil} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []bool{true, false} {
			if removed, err := removeDir(path); removed != want || err != nil {
				t.Errorf("%q: removed %v, %v, want %v", files, removed, err, want)
			}
		}
	}
}

func TestTempRootIsShortEnoughForSockets(t *testing.T) {
	short := canonical(t.TempDir())
	long := filepath.Join(short, strings.Repeat("x", maxSocketPath-len(short)))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for tmp, want := range map[string]string{short: short, long: canonical("/tmp")} {
		t.Setenv("TMPDIR", tmp)
		if got := tempRoot(); got != want {
			t.Errorf("TMPDIR=%s: %s, want %s", tmp, got, want)
		}
	}
}

func TestPrivateDirectoryIsPrivate(t *testing.T) {
	d, err := newTempDir(canonical(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(d.path)
	if err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if err := d.remove(); err != nil {
		t.Error(err)
	}
	if _, err := newTempDir(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that does not exist: %v", err)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add("1234 boot:5678\n")
	f.Add("-1 x\n")
	f.Add("1 x")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		pid, stamp, ok := parseRecord(text)
		if ok && (pid <= 1 || stamp == "") {
			t.Errorf("%q gives process %d with the stamp %q", text, pid, stamp)
		}
		if !ok && pid != 0 {
			t.Errorf("%q is refused, yet gives process %d", text, pid)
		}
	})
}
