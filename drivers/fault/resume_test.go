package fault_test

import (
	"net"
	"strings"
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
		stops string // a "request" or a "reply", which is "lost" or "held"
	}{
		{"hold requests", func(p *fault.Proxy) { _ = p.Hold(fault.Requests) }, "request held"},
		{"hold replies", func(p *fault.Proxy) { _ = p.Hold(fault.Replies) }, "reply held"},
		{"drop requests", func(p *fault.Proxy) { _ = p.Drop(fault.Requests) }, "request lost"},
		{"drop replies", func(p *fault.Proxy) { _ = p.Drop(fault.Replies) }, "reply lost"},
		{"mute", func(p *fault.Proxy) { p.Mute() }, "reply lost"},
		{"silence", (*fault.Proxy).Silence, "reply lost"},
		{"black hole", (*fault.Proxy).BlackHole, "request lost"},
		{"break", func(p *fault.Proxy) { p.Break(1) }, "request held"},
		{"break the reply", func(p *fault.Proxy) { p.BreakReply(1) }, "reply held"},
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
			what, how, _ := strings.Cut(test.stops, " ")
			stopped := func(d fault.Direction) func() bool {
				return func() bool { return how == "lost" && p.Bytes(d).Dropped > 0 || how == "held" && p.Bytes(d).Held > 0 }
			}
			client.send("c\n")
			if what == "request" {
				testwait.Until(t, "the request is "+how, stopped(fault.Requests))
				server.expectSilence()
			} else {
				server.expect("c\n")
				server.send("d\n")
				testwait.Until(t, "the reply is "+how, stopped(fault.Replies))
				client.expectSilence()
			}
			p.Resume()
			if how == "lost" {
				client.expectEnd()
				server.expectEnd()
				return
			}
			if what == "request" {
				server.expect("c\n")
				server.send("d\n")
			}
			client.expect("d\n")
		})
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
		{"black hole of requests", (*fault.Proxy).BlackHole, fault.Requests},
		{"black hole of replies", (*fault.Proxy).BlackHole, fault.Replies},
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
