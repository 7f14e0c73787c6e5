package servers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	if err := errors.Join(os.WriteFile(d.file(logFile), []byte("…"), 0o600), d.lock.Close()); err != nil {
		t.Fatal(err)
	}
	return d.path
}

func TestSweepTakesOnlyStaleDirectories(t *testing.T) {
	root, far := canonical(t.TempDir()), canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	live, err := newTempDir(root)
	if err != nil {
		t.Fatal(err)
	}
	stale := []string{staleDir(t, root)}
	if memory := memoryRoot(0); memory != "" {
		stale = append(stale, staleDir(t, memory))
	}
	elsewhere := staleDir(t, far)
	link, unlocked := filepath.Join(root, dirPrefix+"4"), filepath.Join(root, dirPrefix+"notes")
	if err := errors.Join(os.Symlink(elsewhere, link), os.Mkdir(unlocked, 0o700)); err != nil {
		t.Fatal(err)
	}
	keep := []string{live.path, link, filepath.Join(elsewhere, logFile), unlocked}
	if os.Geteuid() == 0 { // only root can make another user's directory
		foreign := staleDir(t, root)
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		keep = append(keep, foreign)
	}
	sweep()
	for _, path := range stale {
		if exists(path) {
			t.Errorf("%s is left", path)
		}
	}
	for _, path := range keep {
		if !exists(path) {
			t.Errorf("%s is gone", path)
		}
	}
	if fi, err := os.Stat(live.path); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if err := live.remove(); err != nil || exists(live.path) {
		t.Errorf("%s is left: %v", live.path, err)
	}
	if _, err := newTempDir(filepath.Join(root, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that does not exist: %v", err)
	}
}

// Processes that start at the same time must not sweep each other's new directories. Locks belong to open files, so
// goroutines stand for processes here.
func TestSweepWhileOthersStart(t *testing.T) {
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	for range 20 {
		staleDir(t, root)
	}
	var starters, sweepers sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					sweep()
				}
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
				// An error of the first says that it was swept too early.
				if err := errors.Join(os.WriteFile(d.file("redis.conf"), nil, 0o600), d.remove()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starters.Wait()
	close(stop)
	sweepers.Wait()
	sweep()
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
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
