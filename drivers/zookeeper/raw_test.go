// Looking at a server without the driver.
package zookeeper_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers/servers"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// raw returns a client of a server.
func raw(t *testing.T, z *servers.Server) *zk.Conn {
	t.Helper()
	addrs := []string{strings.TrimPrefix(z.URL(), "zookeeper://")}
	conn, events, err := zk.Connect(addrs, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return conn
}

// watching returns the number of watches on a server.
func watching(t *testing.T, z *servers.Server) int {
	conn, err := net.Dial("tcp", strings.TrimPrefix(z.URL(), "zookeeper://"))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer conn.Close()
	io.WriteString(conn, "mntr")
	text, _ := io.ReadAll(conn)
	_, rest, _ := strings.Cut(string(text), "zk_watch_count\t")
	count, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Errorf("the server does not tell its watches: %v", err)
	}
	return n
}
