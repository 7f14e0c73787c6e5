package servers

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockbench/lockbench/drivers/spawn"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// The kernel kills the server when its parent is killed, and the next sweep removes what is left.
func TestServerDiesWithParent(t *testing.T) {
	needRedis(t)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	parent, line := startRole(t, "parent", "")
	var pid int
	var dir, address string
	if _, err := fmt.Sscan(line, &pid, &dir, &address); err != nil {
		t.Fatal(line, err)
	}
	if !strings.HasPrefix(dir, root) {
		t.Fatalf("the server lives in %s, outside of %s", dir, root)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if err := ping(t.Context(), login{network: "unix", address: u.Path}, pid); err != nil {
		t.Fatal(err)
	}
	if removed, err := sweep(root); err != nil || removed != nil {
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
	if removed, err := sweep(root); err != nil || !slices.Equal(removed, []string{dir}) {
		t.Errorf("swept %q, %v, want %s", removed, err, dir)
	}
}

// Pdeathsig is tied to the thread that starts a child. A server must outlive the thread of the goroutine that started
// it.
func TestServerOutlivesThread(t *testing.T) {
	needRedis(t)
	var r *Redis
	var err error
	tid := onDyingThread(func() { r, err = StartRedis(t.Context(), RedisOptions{}) })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	testwait.Until(t, "the thread has ended", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
		return err != nil
	})
	if err := ping(t.Context(), loginTo(t, r, "", ""), r.PID()); err != nil {
		t.Error(err)
	}
	if r.PID() == 0 {
		t.Error("the server died with the thread")
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

// The terminal's Ctrl-C goes to the foreground process group, which the server must not be in.
func TestServerHasItsOwnProcessGroup(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{})
	group, err := syscall.Getpgid(r.PID())
	if err != nil || group != r.PID() {
		t.Errorf("process %d is in group %d, %v", r.PID(), group, err)
	}
}

// While a killed server is away, its port is not given to a process that asks for any free port.
func TestPortStaysReserved(t *testing.T) {
	t.Parallel()
	p, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	q, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if p.number == q.number || p.number == 0 {
		t.Errorf("the same port twice: %d, %d", p.number, q.number)
	}
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

// The CPU time of a process with one thread is known to the nanosecond, not in ticks of 10 ms, of which a backend may
// use none.
func TestCPUOfShortWork(t *testing.T) {
	for _, sh := range []string{"/bin/sh", "/usr/bin/sh"} {
		if _, err := os.Stat(sh); err != nil {
			continue
		}
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd := exec.Command(sh, "-c", "sleep 60 & echo; wait")
		cmd.Stdout = in
		p, err := spawn.Start(cmd)
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer p.KillGroup()
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat("/proc/self/schedstat"); err != nil {
			t.Skip("the kernel keeps no schedstat")
		}
		if cpu := spawn.CPU(p.PID()); cpu <= 0 || cpu%(10*time.Millisecond) == 0 {
			t.Errorf("a shell that has just started has used %v", cpu)
		}
		return
	}
	t.Skip("no shell")
}

// A process has stopped when Signal returns from SIGSTOP, however many threads it has and however busy they are.
func TestStopIsAwaited(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{})
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
