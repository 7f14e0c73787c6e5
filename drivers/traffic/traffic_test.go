package traffic_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

// TestCommands counts commands that arrive in pieces of all sizes.
func TestCommands(t *testing.T) {
	const stream = "*1\r\n$4\r\nPING\r\n" + "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$13\r\n*1\r\n$4\r\nPING\n\r\n" + "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	for size := 1; size <= len(stream); size++ {
		count, n := traffic.Commands(), int64(0)
		for rest := stream; rest != ""; {
			piece := rest[:min(size, len(rest))]
			rest = rest[len(piece):]
			n += count([]byte(piece))
		}
		if n != 3 {
			t.Errorf("in pieces of %d bytes: %d commands, want 3", size, n)
		}
	}
}

// TestCounter counts what open and closed connections have sent.
func TestCounter(t *testing.T) {
	var counter traffic.Counter
	send := func(requests func([]byte) int64, writes ...string) net.Conn {
		here, there := net.Pipe()
		go io.Copy(io.Discard, there)
		conn := counter.Count(here, requests)
		t.Cleanup(func() { conn.Close(); there.Close() })
		for _, w := range writes {
			if _, err := conn.Write([]byte(w)); err != nil {
				t.Fatal(err)
			}
		}
		return conn
	}
	ping := "*1\r\n$4\r\nPING\r\n"
	first := send(traffic.Commands(), ping, strings.Repeat(ping, 3))
	send(nil, "a", "b")
	want := drivers.Sent{Requests: 6, Writes: 4}
	if got := counter.Sent(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	first.Close()
	first.Close()
	if got := counter.Sent(); got != want {
		t.Errorf("with one closed, twice: %+v, want %+v", got, want)
	}
}

// TestCountsNothing: a nil Counter leaves a connection as it is.
func TestCountsNothing(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	var none *traffic.Counter
	if conn := none.Count(here, nil); conn != here {
		t.Errorf("it wraps %v in %v", here, conn)
	}
}
