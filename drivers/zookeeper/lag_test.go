// Members of an ensemble that answer reads before they know the latest changes.
package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// A client that was refused is granted the lock after its release, although the member still sees it held.
func TestTryOnLaggingMember(t *testing.T) {
	t.Parallel()
	grantedAfterRelease(t, func(t *testing.T, _ *ensemble, a drivers.Session, l *drivers.Lease) {
		for range 2 { // the second one looks before it changes anything
			if got, err := a.Try(t.Context(), l); got || err != nil {
				t.Fatalf("Try of a held key: %v, %v", got, err)
			}
		}
	})
}

// A client whose Wait has ended is granted the lock after its release, although the member still sees it held.
func TestPlaceOnLaggingMember(t *testing.T) {
	t.Parallel()
	grantedAfterRelease(t, func(t *testing.T, e *ensemble, a drivers.Session, l *drivers.Lease) {
		w, _ := drivers.As[drivers.Waiter](a)
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() { waited <- w.Wait(ctx, l) }()
		testwait.Until(t, "it watches the holder", func() bool { return e.answered(opExists, "/"+l.Key+"/") })
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Fatalf("Wait: %v", err)
		}
	})
}

// grantedAfterRelease lets a client of an ensemble ask for a lock that another client holds. Then the ensemble lags, the lock
// is released, and its next Try must be granted.
func grantedAfterRelease(t *testing.T, ask func(*testing.T, *ensemble, drivers.Session, *drivers.Lease)) {
	z := single.Get(t)
	for _, members := range []int{1, 2} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			l := &drivers.Lease{Key: "test:lag:" + strings.ReplaceAll(t.Name(), "/", ":"), TTL: long}
			lagging, a := lag(t, z, "sequential", members)
			b := client(t, open(t, drivers.Config{Addrs: z.URLs(), Clients: 1}), 0)
			held := hold(t, b, l.Key)
			ask(t, lagging, a, l)
			lagging.begin()
			free(t, b, held)
			if got, err := a.Try(t.Context(), l); !got || err != nil {
				t.Fatalf("Try of a key that another client has released: %v, %v", got, err)
			}
			free(t, a, l)
		})
	}
}

// A lock is released although the answer to its acquisition was lost, and the next member does not know of it.
func TestReleaseOnLaggingMember(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	for _, design := range []string{"sequential", "herd"} {
		for _, members := range []int{1, 2} {
			key := fmt.Sprint("test:lag:release:", design, members)
			lagging, a := lag(t, z, design, members)
			b := client(t, open(t, drivers.Config{Lock: design, Addrs: z.URLs(), Clients: 1}), 0)
			free(t, b, hold(t, b, key)) // sequential makes the key's container
			if got, err := a.Release(t.Context(), &drivers.Lease{Key: key, Owner: "nobody"}); got || err != nil {
				t.Fatalf("%s, %d members: Release of a free key: %v, %v", design, members, got, err)
			}
			lagging.beginWithLoss()
			l := &drivers.Lease{Key: key, TTL: long}
			if got, err := a.Try(t.Context(), l); got || err == nil || drivers.NoEffect(err) {
				t.Fatalf("%s, %d members: Try without an answer: %v, %v", design, members, got, err)
			}
			if _, err := a.Release(t.Context(), l); err != nil {
				t.Fatalf("%s, %d members: Release of an unknown outcome: %v", design, members, err)
			}
			free(t, b, hold(t, b, key))
		}
	}
}

// The answer to a release is lost, and another client acquires the key: a second release leaves that alone.
func TestReleaseAgain(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	for _, design := range []string{"sequential", "herd"} {
		key := "test:again:" + design
		lagging, a := lag(t, z, design, 1)
		b := client(t, open(t, drivers.Config{Lock: design, Addrs: z.URLs(), Clients: 1}), 0)
		l := hold(t, a, key)
		lagging.beginWithLoss()
		if owned, err := a.Release(t.Context(), l); owned || err == nil || drivers.NoEffect(err) {
			t.Fatalf("%s: Release without an answer: %v, %v", design, owned, err)
		}
		next := hold(t, b, key)
		if owned, err := a.Release(t.Context(), l); owned || err != nil {
			t.Errorf("%s: a second Release: %v, %v", design, owned, err)
		}
		free(t, b, next)
	}
}

// The operations of the protocol that the members tell apart.
const (
	opCreate, opDelete, opExists, opGetData, opSetData = 1, 2, 3, 4, 5
	opChildren2, opMulti, opCreateContainer            = 12, 14, 19
)

// ensemble stands for the members of an ensemble. When they lag, they answer each read as the last time, until they
// have answered a change on the same connection. Sync does not help, as it may not on a leader.
type ensemble struct {
	server string

	mu      sync.Mutex
	lags    bool
	lose    bool             // the next answer to a change, with its connection; then they lag
	answers map[asked][]byte // the last answer to each read
}

// asked is the operation of a request, and the path of a read.
type asked struct {
	op   int32
	path string
}

// lag returns a client of an ensemble, which does not lag yet.
func lag(t *testing.T, z *servers.Group[*servers.Server], design string, members int) (*ensemble, drivers.Session) {
	e := &ensemble{server: strings.TrimPrefix(z.URLs()[0], "zookeeper://"), answers: map[asked][]byte{}}
	cfg := drivers.Config{Lock: design, Topology: drivers.TopologyEnsemble, Clients: 1, TTL: 20 * time.Second}
	for range members {
		cfg.Addrs = append(cfg.Addrs, listener(t, e.serve))
	}
	return e, client(t, open(t, cfg), 0)
}

// begin makes the members lag.
func (e *ensemble) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lags = true
}

// beginWithLoss makes the members lag from the next change on, and loses the answer to that.
func (e *ensemble) beginWithLoss() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lose = true
}

// answered reports whether a read of a path with that prefix has been answered.
func (e *ensemble) answered(op int32, prefix string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range e.answers {
		if r.op == op && strings.HasPrefix(r.path, prefix) {
			return true
		}
	}
	return false
}

// serve is one connection to a member.
func (e *ensemble) serve(client net.Conn) {
	server, err := net.Dial("tcp", e.server)
	if err != nil {
		return
	}
	m := &member{ensemble: e, client: client, server: server, pending: map[uint32]asked{}}
	var both sync.WaitGroup
	both.Go(func() {
		defer client.Close()
		forward(server, m.reply)
	})
	forward(client, m.request)
	server.Close()
	both.Wait()
}

// member is one connection.
type member struct {
	*ensemble
	client, server net.Conn
	pending        map[uint32]asked // by xid
	current        bool             // it has caught up
}

// forward passes one frame after the other to pass, until that fails. The first one is a greeting.
func forward(from net.Conn, pass func(frame []byte, greeting bool) error) {
	for greeting := true; ; greeting = false {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(frame)
		if size > 1<<20 { // one of the commands of four letters
			return
		}
		frame = append(frame, make([]byte, size)...)
		if _, err := io.ReadFull(from, frame[4:]); err != nil {
			return
		}
		if err := pass(frame, greeting); err != nil {
			return
		}
	}
}

// request answers a read if the member lags, and forwards anything else.
func (m *member) request(frame []byte, greeting bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !greeting {
		r := asked{op: int32(binary.BigEndian.Uint32(frame[8:]))}
		switch r.op {
		case opExists, opGetData, opChildren2:
			r.path = string(frame[16:][:binary.BigEndian.Uint32(frame[12:])])
		}
		if last, ok := m.answers[r]; ok && m.lags && !m.current {
			_, err := m.client.Write(slices.Concat(last[:4], frame[4:8], last[8:]))
			return err
		}
		m.pending[binary.BigEndian.Uint32(frame[4:])] = r
	}
	_, err := m.server.Write(frame)
	return err
}

// reply forwards an answer, unless it is to be lost.
func (m *member) reply(frame []byte, greeting bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !greeting {
		xid := binary.BigEndian.Uint32(frame[4:])
		switch r := m.pending[xid]; r.op {
		case opExists, opGetData, opChildren2:
			m.answers[r] = frame
		case opCreate, opDelete, opSetData, opMulti, opCreateContainer:
			if m.lose {
				m.lose, m.lags = false, true
				return net.ErrClosed
			}
			m.current = m.lags
		}
		delete(m.pending, xid)
	}
	_, err := m.client.Write(frame)
	return err
}
