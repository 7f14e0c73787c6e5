package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// SingleServer is the server that the tests of both packages share.
var SingleServer = servertest.ShareZooKeeper()

// herdOn returns a client of the design herd.
func herdOn(t *testing.T, addr string) *herdSession {
	t.Helper()
	svc := drivertest.Open(t, driver{}, drivers.Config{Lock: "herd", Addrs: []string{addr}, Clients: 1, TTL: time.Second})
	return drivertest.SessionOf[*herdSession](t, svc, 0)
}

// A request that waits in the library is not sent when the session has ended: a deletion would delete the node of the
// same name that is the next holder's.
func TestNoRequestOutlivesItsSession(t *testing.T) {
	t.Parallel()
	z := SingleServer.Get(t)
	proxy := drivertest.Through(t, z.URLs()...)[0]
	s, other := herdOn(t, proxy.Addr()), herdOn(t, z.URLs()[0])
	l, next := &drivers.Lease{Key: "test:outlive"}, &drivers.Lease{Key: "test:outlive"}
	if held, err := s.Try(t.Context(), l); !held || err != nil {
		t.Fatalf("Try of a free key: %v, %v", held, err)
	}
	c := s.present
	restore := proxy.Outage()
	testwait.Until(t, "the connection is gone", func() bool { return !c.connected() })
	deleted := make(chan error)
	go func() { deleted <- c.zk.Delete("/test:outlive", -1) }()
	testwait.Until(t, "the session ends and the next client is granted the key", func() bool {
		held, err := other.Try(t.Context(), next)
		return held && err == nil
	})
	restore()
	if err := <-deleted; err == nil {
		t.Error("a request was sent in a later session")
	}
	testwait.Until(t, "the client has a later session", func() bool {
		held, err := s.Try(t.Context(), &drivers.Lease{Key: "test:later"})
		return held && err == nil
	})
	if removed, err := s.Release(t.Context(), l); removed || err != nil || s.Ended() == nil {
		t.Errorf("Release of what ended with its session: %v, %v, because of %v", removed, err, s.Ended())
	}
	if owned, err := other.Release(t.Context(), next); !owned || err != nil {
		t.Errorf("Release of the next holder: %v, %v", owned, err)
	}
}

// A request that was made on an earlier connection must not use the present one; what the library sends by itself may.
func TestWireKeepsOldRequestsBack(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	defer ours.Close()
	go io.Copy(io.Discard, theirs)
	earlier := &wire{asked: 1}
	c := &conn{next: make(chan struct{}), wire: earlier}
	w := &wire{Conn: ours, c: c, open: true}
	for _, stale := range []int{0, 1, 0} {
		c.stale = stale
		for name, op := range map[string]struct {
			xid, op int32
			ours    bool
		}{
			"create": {7, 1, true}, "delete": {8, 2, true}, "multi": {9, 14, true}, "createContainer": {10, 19, true},
			"ping": {-2, 11, false}, "setAuth": {-4, 100, false}, "setWatches": {11, 101, false}, "close": {12, -11, false},
		} {
			packet := binary.BigEndian.AppendUint32(nil, 8)
			packet = binary.BigEndian.AppendUint32(packet, uint32(op.xid))
			packet = binary.BigEndian.AppendUint32(packet, uint32(op.op))
			if _, err := w.Write(packet); errors.Is(err, errNotSent) != (op.ours && stale > 0) {
				t.Errorf("%s, with %d stale requests: %v", name, stale, err)
			}
		}
		if c.wire = w; stale > 0 {
			next := c.next
			if c.done(earlier); c.stale > 0 {
				t.Error("a stale request that is done remains stale")
			}
			<-next
		}
	}
}

// A node of an earlier session of the client is not deleted, even with the right owner: when the deletion arrives, that
// session has ended, and the next holder's node has the same name.
func TestHerdLeavesEarlierSessionsAlone(t *testing.T) {
	t.Parallel()
	z := SingleServer.Get(t)
	s, other := herdOn(t, z.URLs()[0]), herdOn(t, z.URLs()[0])
	for _, earlier := range []bool{true, false} {
		l := &drivers.Lease{Key: "test:earlier"}
		if held, err := other.Try(t.Context(), l); !held || err != nil {
			t.Fatalf("Try of a free key: %v, %v", held, err)
		}
		s.present.past = nil
		if earlier {
			s.present.past = []int64{other.present.id}
		}
		if removed, err := s.Release(t.Context(), l); removed == earlier || err != nil {
			t.Errorf("Release of a node, of an earlier session %t: %v, %v", earlier, removed, err)
		}
		if owned, err := other.Release(t.Context(), l); owned != earlier || err != nil {
			t.Errorf("the node, of an earlier session %t: %v, %v", earlier, owned, err)
		}
	}
}

// Only what certainly has not happened has no effect.
func TestErrorClasses(t *testing.T) {
	unconnected := func(reason error) error { return fmt.Errorf("%w: %w", errUnconnected, reason) }
	for _, tt := range []struct {
		err     error
		class   drivers.Class
		refused bool
	}{
		{errUnconnected, drivers.ClassConnect, true},
		{unconnected(errHungUp), drivers.ClassConnect, true},
		{errNotSent, drivers.ClassConnect, true},
		{errEarlier, drivers.ClassConnect, true},
		{errNoReply, drivers.ClassTimeout, false},
		{errClosed, drivers.ClassClosed, false},
		{zk.ErrConnectionClosed, drivers.ClassClosed, false},
		{context.Canceled, drivers.ClassCanceled, false},
		{context.DeadlineExceeded, drivers.ClassTimeout, false},
	} {
		err := fail("try", tt.err)
		if class := drivers.ClassOf(err); class != tt.class || drivers.NoEffect(err) != tt.refused {
			t.Errorf("%v: class %s, refused %v", err, class, drivers.NoEffect(err))
		}
		if err := halfway("try", tt.err); drivers.NoEffect(err) {
			t.Errorf("%v is halfway and refused", err)
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%v has lost its cause", err)
		}
	}
	// With a server that does not greet, the attempt times out; one that hangs up does not.
	if !drivers.TimedOut(fail("clean", unconnected(errSilence))) || drivers.TimedOut(fail("clean", unconnected(errHungUp))) {
		t.Error("a silent server is not told from one that hangs up")
	}
	if fail("try", nil) != nil || halfway("try", nil) != nil {
		t.Error("no error is one")
	}
	for code, want := range map[int]drivers.Class{-119: drivers.ClassReadOnly, -125: drivers.ClassFull, -99: drivers.ClassOther} {
		err := fail("try", fmt.Errorf("unknown error: %d", code)) // as the library does
		if drivers.ClassOf(err) != want || strings.Contains(err.Error(), fmt.Sprint(code)) != (want == drivers.ClassOther) {
			t.Errorf("code %d: class %s, %v", code, drivers.ClassOf(err), err)
		}
	}
}

// Every key has its own node, one level below the chroot.
func TestNode(t *testing.T) {
	s := &service{to: &endpoint{chroot: "/a"}}
	seen := map[string]string{}
	for key, want := range map[string]string{
		"run:key-1": "/a/run:key-1", "a/b": "/a/a%2Fb", "a%2Fb": "/a/a%252Fb", ".": "/a/%2E", "..": "/a/%2E%2E",
		"ä\x00\xff": "/a/%C3%A4%00%FF",
	} {
		got := s.node(key)
		if got != want {
			t.Errorf("%q is %s, want %s", key, got, want)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q have one node", key, other)
		}
		seen[got] = key
	}
}
