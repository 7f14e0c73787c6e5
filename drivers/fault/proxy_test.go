package fault_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bound is how long to wait at most for something that happens at once on an idle machine.
const bound = time.Minute

// quiet is how long silence must last to be believed. It can only err towards passing.
const quiet = 30 * time.Millisecond

// echo starts a server that echoes every line and sends each received line to the channel.
func echo(t *testing.T, network string) (target string, got <-chan string) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	listener, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	lines := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewReader(conn); ; {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					lines <- line
					io.WriteString(conn, line)
				}
			}()
		}
	}()
	if network == "unix" {
		return "unix://" + addr, lines
	}
	return listener.Addr().String(), lines
}

func newProxy(t *testing.T, target string) *fault.Proxy {
	t.Helper()
	p, err := fault.NewProxy(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

type conn struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func dial(t *testing.T, p *fault.Proxy) *conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return newConn(t, c)
}

func newConn(t *testing.T, c net.Conn) *conn { return &conn{c, t, bufio.NewReader(c)} }

func (c *conn) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c, line); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conn) expect(line string) {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(bound))
	if got, err := c.in.ReadString('\n'); got != line || err != nil {
		c.t.Fatalf("got %q, %v; want %q", got, err, line)
	}
}

func (c *conn) expectSilence() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(quiet))
	var timeout net.Error
	if b, err := c.in.Peek(1); !errors.As(err, &timeout) || !timeout.Timeout() {
		c.t.Fatalf("got %q, %v; want nothing", b, err)
	}
}

func (c *conn) expectEnd() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(bound))
	var timeout net.Error
	if b, err := c.in.Peek(1); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("got %q, %v; want a broken connection", b, err)
	}
}

// expectRefused accepts both ways in which a reset can reach the client: while it connects and just after.
func expectRefused(t *testing.T, p *fault.Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer c.Close()
	newConn(t, c).expectEnd()
}

func expectServed(t *testing.T, got <-chan string, want string) {
	t.Helper()
	select {
	case line := <-got:
		if line != want {
			t.Fatalf("the server got %q, want %q", line, want)
		}
	case <-time.After(bound):
		t.Fatalf("the server never got %q", want)
	}
}

func TestProxy(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, p *fault.Proxy, got <-chan string)
	}{
		{"passes an orderly end on", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c := dial(t, p)
			c.send("last\n")
			c.Conn.(*net.TCPConn).CloseWrite()
			c.expect("last\n")
			c.expectEnd()
		}},
		{"holds what was under way when it is cut", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c := dial(t, p)
			held := p.Hold(fault.Replies)
			c.send("a\n")
			expectServed(t, got, "a\n")
			testwait.Until(t, "a reply is held", held)
			p.Cut()
			c.expectEnd()
		}},
		{"delays without holding up", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			const delay = 50 * time.Millisecond
			c := dial(t, p)
			p.Delay(fault.Replies, delay)
			start := time.Now()
			for _, line := range []string{"a\n", "b\n", "c\n"} {
				c.send(line)
				expectServed(t, got, line) // a read of its own for each
			}
			c.expect("a\n")
			if took := time.Since(start); took < delay {
				t.Errorf("a delayed reply came after %v, want %v or more", took, delay)
			}
			c.expect("b\n")
			c.expect("c\n")
			p.Resume()
			c.send("d\n")
			c.expect("d\n")
		}},
		{"ends a long delay on Resume", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c := dial(t, p)
			p.Delay(fault.Replies, time.Hour)
			c.send("a\n")
			expectServed(t, got, "a\n")
			c.expectSilence()
			p.Resume()
			c.expect("a\n")
		}},
		{"cuts all and takes new ones", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			one, two := dial(t, p), dial(t, p)
			one.send("a\n")
			one.expect("a\n")
			two.send("b\n")
			two.expect("b\n")
			p.Cut()
			one.expectEnd()
			two.expectEnd()
			c := dial(t, p)
			c.send("c\n")
			c.expect("c\n")
		}},
		{"outage", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			old := dial(t, p)
			old.send("a\n")
			old.expect("a\n")
			restore := p.Outage()
			old.expectEnd()
			expectRefused(t, p)
			if n := p.Refused(); n != 1 {
				t.Errorf("it has refused %d connections, want 1", n)
			}
			restore()
			c := dial(t, p)
			c.send("b\n")
			c.expect("b\n")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target, got := echo(t, "tcp")
			test.run(t, newProxy(t, target), got)
		})
	}
}

func TestProxyWithoutTarget(t *testing.T) {
	target, _ := echo(t, "tcp")
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	expectRefused(t, newProxy(t, gone.Addr().String()))
	expectRefused(t, newProxy(t, "unix:///nowhere/at/all"))
	c := dial(t, newProxy(t, target))
	c.send("a\n")
	c.expect("a\n")
}

func TestCloseTwice(t *testing.T) {
	target, _ := echo(t, "tcp")
	p := newProxy(t, target) // its clean-up closes it again
	c := dial(t, p)
	c.send("a\n")
	c.expect("a\n")
	held := p.Hold(fault.Replies) // must not keep Close from returning
	c.send("b\n")
	testwait.Until(t, "a reply is held", held)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	c.expectEnd()
}

// Redirect leads to another server, and no connection stays with the first one.
func TestRedirect(t *testing.T) {
	first, old := echo(t, "tcp")
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			second, got := echo(t, network)
			p := newProxy(t, first)
			c := dial(t, p)
			c.send("a\n")
			expectServed(t, old, "a\n")
			c.expect("a\n")
			p.Redirect(second)
			c.expectEnd()
			c = dial(t, p)
			c.send("b\n")
			expectServed(t, got, "b\n")
			c.expect("b\n")
			if len(old) != 0 {
				t.Error("the first server hears of it")
			}
		})
	}
}
