package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers/spawn"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// gone reports whether a process has ended.
func gone(pid int) bool {
	fields, err := spawn.Stat(pid)
	return err != nil || strings.Contains("ZX", string(fields[0]))
}

// The kernel kills a server, also one that runs as another user, when its parent is killed, and the next sweep removes
// what is left: the directory, and shared memory.
func TestServerDiesWithParent(t *testing.T) {
	for name, find := range map[string]func() (string, error){"redis": redisProgram.locate, "postgres": findPostgres} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "redis" {
				t.Skip("another server that dies: make test-all")
			}
			need(t, find)
			t.Setenv("TMPDIR", canonical(t.TempDir()))
			parent, line := startRole(t, name)
			var pid int
			var dir string
			if _, err := fmt.Sscan(line, &pid, &dir); err != nil {
				t.Fatal(line, err)
			}
			var memory string
			if name == "postgres" {
				memory = memoryOf(t, dir)
			}
			if sweep(); !exists(dir) || gone(pid) {
				t.Error("swept under a living parent")
			}
			_ = parent.Process.Kill()
			_ = parent.Wait()
			testwait.Until(t, "the server is gone", func() bool { return gone(pid) })
			testwait.Until(t, "its directory is swept", func() bool { sweep(); return !exists(dir) })
			testwait.Until(t, "its shared memory is free", func() bool { return !inUse(t, memory) })
		})
	}
}

// Pdeathsig is tied to the thread that starts a child. A server must outlive the thread of the goroutine that started
// it. It is in a group of its own, which the terminal's Ctrl-C does not reach.
func TestServerOutlivesThread(t *testing.T) {
	need(t, redisProgram.locate)
	var r *Redis
	var err error
	tid := onDyingThread(func() { r, err = StartRedis(t.Context(), Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	testwait.Until(t, "the thread has ended", func() bool { return !exists(fmt.Sprintf("/proc/self/task/%d", tid)) })
	if err := ping(t.Context(), r.login, r.PID()); err != nil {
		t.Error(err)
	}
	if group, err := syscall.Getpgid(r.PID()); err != nil || group != r.PID() {
		t.Errorf("process %d is in group %d, %v", r.PID(), group, err)
	}
}

// onDyingThread calls f on an OS thread that ends soon after, and returns the thread's id. The main thread would
// not end; a goroutine that finds itself on it keeps it busy and leaves the call to another one.
func onDyingThread(f func()) (tid int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if tid = unix.Gettid(); tid == os.Getpid() {
			tid = onDyingThread(f)
			return
		}
		f()
	}()
	<-done
	return tid
}

// While a killed server is away, its port is not given to a process that asks for any free port.
func TestPortStaysReserved(t *testing.T) {
	p, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer p.free()
	// By number and without SO_REUSEADDR, the port is taken.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: p.number}); err != unix.EADDRINUSE {
		t.Errorf("bind to a reserved port: %v, want %v", err, unix.EADDRINUSE)
	}
}

// A process has stopped when Signal returns from SIGSTOP, however many threads it has and however busy they are.
func TestStopIsAwaited(t *testing.T) {
	t.Parallel()
	r := startTest(t, Options{})
	for range 50 {
		if err := r.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if stopped, _ := r.current().Stopped(); !stopped {
			t.Fatal("Signal(SIGSTOP) has returned and the server runs")
		}
		if err := r.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the server goes on", func() bool {
			stopped, _ := r.current().Stopped()
			return !stopped
		})
	}
}

// What makes the first files of MariaDB is a script, and what it has started. All of it ends with the start that is given up.
func TestMySQLGivenUp(t *testing.T) {
	need(t, mysqlProgram.locate)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	working := func(word string) (found bool) {
		files, _ := filepath.Glob("/proc/[0-9]*/cwd")
		for _, file := range files {
			if cwd, err := os.Readlink(file); err == nil && strings.HasPrefix(cwd, root+"/") {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
				found = found || strings.Contains(string(line), word)
			}
		}
		return found
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := StartMySQL(ctx, Options{})
		failed <- err
	}()
	testwait.Until(t, "the first files are being made", func() bool { return working("\x00--bootstrap") || working("\x00--initialize") })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the start that was given up fails with %v", err)
	}
	testwait.Until(t, "all that it has started is gone", func() bool { return !working("") })
}
