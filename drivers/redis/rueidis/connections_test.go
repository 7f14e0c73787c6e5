package rueidis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The library's client takes a context that is over for a broken connection, even after it was closed, and would answer
// the next command over a new one.
func TestClosedStaysClosed(t *testing.T) {
	target, err := redis.ParseTarget(servertest.Embedded(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), redis.Options{Target: target, Config: drivers.Config{Embedded: true, Conns: 1}})
	if err != nil {
		t.Fatal(err)
	}
	ping, wait := []string{"PING"}, []string{"WAIT", "0", "0"}
	if _, err, _, _ := c.(redis.Waiter).DoWait(t.Context(), ping, 0, wait); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{over, t.Context(), t.Context()} {
		if _, err, _, _ := c.(redis.Waiter).DoWait(ctx, ping, 0, wait); !errors.Is(err, redis.Closed) {
			t.Errorf("a closed client answers %v", err)
		}
	}
}

// What is being dialled while its owner closes is closed too, and nothing is dialled later.
func TestConnectionsClosedWhileDialling(t *testing.T) {
	connections := &Connections{open: map[*connection]struct{}{}}
	var ends []net.Conn
	closing := false
	dial := connections.owning(func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		ends = append(ends, theirs)
		if closing {
			connections.Close()
		}
		return ours, nil
	})
	first, err := dial(t.Context(), "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := dial(t.Context(), "", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if gone.Close(); len(connections.open) != 1 {
		t.Errorf("%d connections are taken for open, and one is", len(connections.open))
	}
	closing = true
	for range 2 {
		if conn, err := dial(t.Context(), "", nil, nil); conn != nil || err != rueidis.ErrClosing {
			t.Errorf("dialled %v, %v", conn, err)
		}
	}
	if len(ends) != 3 {
		t.Errorf("%d connections were dialled, the last of them after the end", len(ends))
	}
	first.Close() // again, without effect
	for i, end := range ends {
		end.SetReadDeadline(time.Now())
		if _, err := end.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("connection %d is open: %v", i, err)
		}
	}
}

// Commands about keys use all configured connections: the library sends commands without a known key over the first.
func TestCommandsShareTheConnections(t *testing.T) {
	const conns = 4
	target, err := redis.ParseTarget(servertest.Redis(t, servers.Options{}).URL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), redis.Options{Target: target, Config: drivers.Config{Conns: conns}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 200 { // it would take 10^25 runs for chance to leave one of them out
		if _, err := c.Do(t.Context(), []string{"SET", fmt.Sprint("k", i), "v"}, 1); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := c.Do(t.Context(), []string{"CLIENT", "LIST"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	list, err := reply.AsText()
	if err != nil {
		t.Fatal(err)
	}
	if used := strings.Count(list, " cmd=set ") + strings.Count(list, " cmd=client|list "); used != conns {
		t.Errorf("%d connections of %d have carried commands:\n%s", used, conns, list)
	}
}
