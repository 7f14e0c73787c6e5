package fault_test

import (
	"net"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// When a fault is over, a connection that has lost nothing works, and one that has is cut. No connection stays dead.
func TestResume(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault func(p *fault.Proxy)
		loses string // "request" or "reply"; empty: nothing
	}{
		{"hold requests", func(p *fault.Proxy) { _ = p.Hold(fault.Requests) }, ""},
		{"hold replies", func(p *fault.Proxy) { _ = p.Hold(fault.Replies) }, ""},
		{"drop requests", func(p *fault.Proxy) { _ = p.Drop(fault.Requests) }, "request"},
		{"drop replies", func(p *fault.Proxy) { _ = p.Drop(fault.Replies) }, "reply"},
		{"mute", func(p *fault.Proxy) { p.Mute() }, "reply"},
		{"silence", (*fault.Proxy).Silence, "reply"},
		{"black hole", (*fault.Proxy).BlackHole, "request"},
		{"break", func(p *fault.Proxy) { p.Break(1) }, ""},
		{"break and lose", func(p *fault.Proxy) { p.Break(1).Lose() }, "request"},
		{"break the reply and lose it", func(p *fault.Proxy) { p.BreakReply(1).Lose() }, "reply"},
	} {
		t.Run(test.name+"/idle", func(t *testing.T) {
			p, client, server := pair(t)
			test.fault(p)
			p.Resume()
			client.send("c\n")
			server.expect("c\n")
			server.send("d\n")
			client.expect("d\n")
		})
		t.Run(test.name+"/busy", func(t *testing.T) {
			p, client, server := pair(t)
			test.fault(p)
			lost := func(d fault.Direction) func() bool { return func() bool { return p.Bytes(d).Dropped > 0 } }
			client.send("c\n")
			switch test.loses {
			case "request":
				testwait.Until(t, "the request is lost", lost(fault.Requests))
			case "reply":
				server.expect("c\n")
				server.send("d\n")
				testwait.Until(t, "the reply is lost", lost(fault.Replies))
			}
			p.Resume()
			if test.loses != "" {
				client.expectEnd()
				server.expectEnd()
				return
			}
			server.expect("c\n")
			server.send("d\n")
			client.expect("d\n")
		})
	}
}

// Lose has lost what the Break held, even if Resume comes before the proxy has looked at it again.
func TestLoseThenResume(t *testing.T) {
	for range 100 {
		p, client, server := pair(t)
		b := p.Break(1)
		client.send("c\n")
		expectHit(t, b)
		b.Lose()
		p.Resume()
		client.expectEnd()
		server.expectEnd()
		p.Close()
	}
}

// The news that an end has closed its connection, or is gone, waits like its bytes.
func TestEndsAreHeld(t *testing.T) {
	reset := func(c *conn) {
		c.Conn.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	for _, test := range []struct {
		name  string
		fault func(p *fault.Proxy)
		held  fault.Direction
	}{
		{"hold requests", func(p *fault.Proxy) { _ = p.Hold(fault.Requests) }, fault.Requests},
		{"hold replies", func(p *fault.Proxy) { _ = p.Hold(fault.Replies) }, fault.Replies},
		{"drop requests", func(p *fault.Proxy) { _ = p.Drop(fault.Requests) }, fault.Requests},
		{"drop replies", func(p *fault.Proxy) { _ = p.Drop(fault.Replies) }, fault.Replies},
		{"silence", (*fault.Proxy).Silence, fault.Replies},
		{"delay requests", func(p *fault.Proxy) { p.Delay(fault.Requests, time.Hour) }, fault.Requests},
		{"delay replies", func(p *fault.Proxy) { p.Delay(fault.Replies, time.Hour) }, fault.Replies},
	} {
		for end, ends := range map[string]func(c *conn){"close": func(c *conn) { c.Close() }, "reset": reset} {
			t.Run(test.name+"/"+end, func(t *testing.T) {
				p, client, server := pair(t)
				test.fault(p)
				from, to := client, server
				if test.held == fault.Replies {
					from, to = server, client
				}
				ends(from)
				to.expectSilence()
				to.send("c\n") // to nobody
				to.expectSilence()
				p.Resume()
				to.expectEnd()
			})
		}
	}
}

// A server that is not there is not told during a fault.
func TestNoServerBehindAFault(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for name, fault := range map[string]func(p *fault.Proxy){
		"hold":       func(p *fault.Proxy) { _ = p.Hold(fault.Replies) },
		"black hole": (*fault.Proxy).BlackHole,
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, gone.Addr().String())
			fault(p)
			c := dial(t, p)
			c.expectSilence()
			p.Resume()
			c.expectEnd()
		})
	}
}
