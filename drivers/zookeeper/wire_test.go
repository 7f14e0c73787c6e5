package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// A request that was made on an earlier connection must not use the present one; what the library sends by itself may.
func TestWireKeepsOldRequestsBack(t *testing.T) {
	packet := func(xid, op int32) []byte {
		b := binary.BigEndian.AppendUint32(nil, 8)
		b = binary.BigEndian.AppendUint32(b, uint32(xid))
		return binary.BigEndian.AppendUint32(b, uint32(op))
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		for b := make([]byte, 64); ; {
			if _, err := theirs.Read(b); err != nil {
				return
			}
		}
	}()
	defer theirs.Close()
	c := &conn{tally: new(tally), changed: make(chan struct{})}
	w := &wire{Conn: c.tally.sent.Count(ours, requests), below: ours, c: c, open: true}
	e := entry{generation: c.generation}
	c.current = 1
	for _, connection := range []string{"its own", "a later one"} {
		for name, tt := range map[string]struct {
			xid, op int32
			ours    bool
		}{
			"create": {7, 1, true}, "delete": {8, 2, true}, "multi": {9, 14, true}, "createContainer": {10, 19, true},
			"ping": {-2, 11, false}, "setAuth": {-4, 100, false}, "setWatches": {11, 101, false}, "close": {12, -11, false},
		} {
			_, err := w.Write(packet(tt.xid, tt.op))
			if kept := errors.Is(err, errNotSent); kept != (tt.ours && connection == "a later one") {
				t.Errorf("%s on %s: kept back %v", name, connection, kept)
			}
		}
		c.to = &endpoint{servers: []string{"a"}}
		c.begin()
	}
	c.done(e)
	if _, err := w.Write(packet(13, 1)); err != nil {
		t.Errorf("when the old request has ended: %v", err)
	}
	if sent := c.tally.sent.Sent(); sent.Writes-sent.Requests != 2 {
		t.Errorf("%+v, want 2 pings among them", sent)
	}
}

// Only what certainly has not happened has no effect.
func TestErrorClasses(t *testing.T) {
	for _, tt := range []struct {
		err     error
		class   drivers.Class
		refused bool
	}{
		{&unconnected{}, drivers.ClassConnect, true},
		{&unconnected{errHandshake}, drivers.ClassConnect, true},
		{errNotSent, drivers.ClassConnect, true},
		{errEarlier, drivers.ClassConnect, true},
		{errNoReply, drivers.ClassTimeout, false},
		{errClosed, drivers.ClassClosed, false},
		{context.Canceled, drivers.ClassCanceled, false},
		{context.DeadlineExceeded, drivers.ClassTimeout, false},
	} {
		err := opTry.fail(tt.err)
		if class := drivers.ClassOf(err); class != tt.class || drivers.NoEffect(err) != tt.refused {
			t.Errorf("%v: class %s, refused %v", err, class, drivers.NoEffect(err))
		}
		if err := opTry.halfway(tt.err); drivers.NoEffect(err) {
			t.Errorf("%v is halfway and refused", err)
		}
		if !errors.Is(err, tt.err) {
			t.Errorf("%v has lost its cause", err)
		}
	}
	// With a server that does not greet, the attempt times out; one that hangs up does not.
	if !drivers.TimedOut(opClean.fail(&unconnected{errSilence})) || drivers.TimedOut(opClean.fail(&unconnected{errHandshake})) {
		t.Error("a silent server is not told from one that hangs up")
	}
	if opTry.fail(nil) != nil || opTry.halfway(nil) != nil {
		t.Error("no error is one")
	}
}

// Every key has its own node, one level below the chroot.
func TestNode(t *testing.T) {
	s := &service{chroot: "/a"}
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
