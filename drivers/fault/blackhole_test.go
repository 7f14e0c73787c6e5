package fault_test

import (
	"net"
	"testing"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func until(t *testing.T, what string, of func() int64, want int64) {
	t.Helper()
	testwait.Until(t, what, func() bool { return of() == want })
}

// pair returns both ends of a connection through a proxy.
func pair(t *testing.T) (p *fault.Proxy, client, server *conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p = newProxy(t, listener.Addr().String())
	client = dial(t, p)
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	server = newConn(t, accepted)
	client.send("a\n")
	server.expect("a\n")
	server.send("b\n")
	client.expect("b\n")
	return p, client, server
}

func TestBlackHole(t *testing.T) {
	dropped := func(p *fault.Proxy, d fault.Direction) func() int64 {
		return func() int64 { return p.Bytes(d).Dropped }
	}
	for _, test := range []struct {
		name string
		run  func(t *testing.T, p *fault.Proxy, client, server *conn)
	}{
		{"is cut", func(t *testing.T, p *fault.Proxy, client, server *conn) {
			client.Close()
			p.Cut()
			server.expectEnd()
		}},
		{"is as silent to new connections", func(t *testing.T, p *fault.Proxy, client, server *conn) {
			late := dial(t, p)
			late.send("c\n")
			until(t, "a request is lost", dropped(p, fault.Requests), 2)
			late.expectSilence()
			p.Resume()
			late.expectEnd()
		}},
		{"drops what a break holds", func(t *testing.T, p *fault.Proxy, client, server *conn) {
			p.Resume()
			b := p.Break(1)
			client.send("c\n")
			expectHit(t, b)
			p.BlackHole()
			until(t, "a request is lost", dropped(p, fault.Requests), 2)
			b.Go()
			server.expectSilence()
		}},
		{"is closed", func(t *testing.T, p *fault.Proxy, client, server *conn) {
			client.Close()
			testwait.Ends(t, "Close", func() { p.Close() })
			server.expectEnd()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, client, server := pair(t)
			p.BlackHole()
			test.run(t, p, client, server)
		})
	}
}
