package fleettest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Host is a host that is none: a thread of this process with its own network, its own name and its own monotonic clock.
// Programs that the thread starts belong to the host.
type Host struct {
	Name, Addr string
	Ahead      time.Duration // of its monotonic clock, compared with that of this process
	thread     int
	work       chan func()
}

// Hosts makes a host for each of the clocks, and joins them by a bridge, which is one more host, with the clock of this
// process. A test that may not make them is skipped, and says so. They end with the test.
func Hosts(t testing.TB, ahead ...time.Duration) (bridge *Host, hosts []*Host) {
	t.Helper()
	need(t, "ip")
	bridge = newHost(t, "bridge", "10.77.0.254", 0)
	bridge.ip(t, "link", "add", "name", "bridge", "type", "bridge")
	bridge.up(t, "bridge")
	for i, d := range ahead {
		h := newHost(t, fmt.Sprintf("host%d", i), fmt.Sprintf("10.77.0.%d", i+1), d)
		bridge.ip(t, "link", "add", "name", h.Name, "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(h.thread))
		bridge.ip(t, "link", "set", h.Name, "master", "bridge", "up")
		h.up(t, "eth0")
		hosts = append(hosts, h)
	}
	return bridge, hosts
}

func newHost(t testing.TB, name, addr string, ahead time.Duration) *Host {
	t.Helper()
	h := &Host{Name: name, Addr: addr, Ahead: ahead, work: make(chan func())}
	entered := make(chan error)
	go h.live(entered)
	if err := <-entered; err != nil {
		t.Skipf("namespaces are not allowed here: %v", err)
	}
	t.Cleanup(func() { close(h.work) })
	return h
}

// live works for the host on a thread that is never used again.
func (h *Host) live(entered chan<- error) {
	runtime.LockOSThread()
	if h.thread = unix.Gettid(); h.thread == os.Getpid() { // it must not change what /proc/self shows
		go h.live(entered)
		h.Do(func() error { return nil }) // once the other one has begun
		runtime.UnlockOSThread()
		return
	}
	entered <- h.enter()
	for f := range h.work {
		f()
	}
}

func (h *Host) enter() error {
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWUTS); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(h.Name)); err != nil || h.Ahead == 0 {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWTIME); err != nil { // which is for children
		return err
	}
	offset := fmt.Sprintf("monotonic %d %d\n", h.Ahead/time.Second, h.Ahead%time.Second)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/timens_offsets", h.thread), []byte(offset), 0); err != nil {
		return err
	}
	mine, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time_for_children", h.thread))
	if err != nil {
		return err
	}
	child, err := exec.Command("readlink", "/proc/self/ns/time").Output()
	if err == nil && string(child) != mine+"\n" {
		err = fmt.Errorf("a program does not get the clock that is for it")
	}
	return err
}

// Do calls f on the thread of the host: sockets that f opens and programs that f starts belong to the host.
func (h *Host) Do(f func() error) error {
	done := make(chan error)
	h.work <- func() { done <- f() }
	return <-done
}

func (h *Host) ip(t testing.TB, args ...string) {
	t.Helper()
	if err := h.Do(func() error {
		out, err := exec.Command("ip", args...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("ip %q: %w: %s", args, err, out)
		}
		return err
	}); err != nil {
		t.Skipf("namespaces are not allowed here: %v", err)
	}
}

func (h *Host) up(t testing.TB, device string) {
	t.Helper()
	h.ip(t, "address", "add", h.Addr+"/24", "dev", device)
	h.ip(t, "link", "set", device, "up")
	h.ip(t, "link", "set", "lo", "up")
}

// Listen listens at a port of the host, 0 for any, until the test ends.
func (h *Host) Listen(t testing.TB, port int) net.Listener {
	t.Helper()
	var l net.Listener
	if err := h.Do(func() (err error) {
		l, err = net.Listen("tcp", fmt.Sprintf("%s:%d", h.Addr, port))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
