package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// workers returns the processes that work below a directory, and whether one of them makes the first files of a server.
func workers(dir string) (list []int, makes bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, file := range files {
		if cwd, err := os.Readlink(file); err != nil || !strings.HasPrefix(cwd, dir+"/") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		list = append(list, pid)
		makes = makes || strings.Contains(string(line), "\x00--bootstrap") || strings.Contains(string(line), "\x00--initialize")
	}
	return list, makes
}

// What makes the first files of a server is a script, and what it has started. All of it ends with the start that is given up.
func TestMySQLGivenUp(t *testing.T) {
	need(t, FindMySQL)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := StartMySQL(ctx, MySQLOptions{})
		failed <- err
	}()
	testwait.Until(t, "the first files are being made", func() bool {
		_, makes := workers(root)
		return makes
	})
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the start that was given up fails with %v", err)
	}
	testwait.Until(t, "all that it has started is gone", func() bool {
		list, _ := workers(root)
		return len(list) == 0
	})
}

// If lockbench is killed meanwhile, the next sweep ends what is left of it.
func TestMySQLInstallationDiesWithASweep(t *testing.T) {
	need(t, FindMySQL)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	parent, _ := startRole(t, "parent of mysql", "")
	testwait.Until(t, "the first files are being made", func() bool {
		_, makes := workers(root)
		return makes
	})
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	removed, err := sweep(root)
	if err != nil || len(removed) != 1 {
		t.Errorf("swept %q, %v, want one directory", removed, err)
	}
	if list, _ := workers(root); len(list) > 0 {
		t.Errorf("processes %v are left after the sweep", list)
	}
}
