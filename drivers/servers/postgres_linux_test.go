package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// The kernel kills the server, although it runs as another user, when its parent is killed. The next sweep waits for
// its child processes, and leaves neither its directory nor its shared memory.
func TestPostgresDiesWithParent(t *testing.T) {
	if testing.Short() {
		t.Skip("a server that dies: make test-all")
	}
	needPostgres(t)
	root := canonical(t.TempDir())
	if os.Geteuid() == 0 { // the server's own user passes through it
		if err := errors.Join(os.Chmod(root, 0o711), os.Chmod(filepath.Dir(root), 0o711)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", root)
	root = tempRoot() // another one if the name is too long for sockets
	parent, line := startRole(t, "parent of postgres", "")
	var pid int
	var dir string
	if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
		t.Fatal(line, err)
	}
	memory := memoryOf(t, filepath.Join(dir, postgresData))
	if removed, err := sweep(root); err != nil || slices.Contains(removed, dir) {
		t.Errorf("swept %q under a living parent, %v", removed, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	testwait.Until(t, "the server is gone", func() bool {
		_, err := stampOf(pid)
		return err != nil
	})
	if removed, err := sweep(root); err != nil || !slices.Contains(removed, dir) {
		t.Errorf("swept %q, %v, want %s", removed, err, dir)
	}
	if n, err := memory.users(memory.uid); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the sweep leaves shared memory, which %d processes use: %v", n, err)
	}
}
