package fault_test

import (
	"testing"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

func expectHit(t *testing.T, b *fault.Break) {
	t.Helper()
	testwait.Ends(t, "the break is hit", func() { <-b.Hit() })
}

func isHit(b *fault.Break) bool {
	select {
	case <-b.Hit():
		return true
	default:
		return false
	}
}

func TestBreak(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, p *fault.Proxy, got <-chan string)
	}{
		{"holds a request that comes in two pieces", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, b := dial(t, p), p.Break(1)
			c.send("he")
			expectHit(t, b)
			until(t, "a piece is held", b.Held, 2)
			c.send("llo\n")
			until(t, "both pieces are held", b.Held, 6)
			c.expectSilence()
			if len(got) != 0 {
				t.Fatal("the server got a held request")
			}
			b.Go()
			c.expect("hello\n")
			if n := b.Held(); n != 6 {
				t.Errorf("%d bytes were held, want 6", n)
			}
		}},
		{"counts requests and not their pieces", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c := dial(t, p)
			c.send("he")
			until(t, "a piece has passed", func() int64 { return p.Bytes(fault.Requests).Passed }, 2)
			c.send("llo\n")
			c.expect("hello\n")
			c.send("a\n")
			c.expect("a\n")
			if n := p.Requests(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		}},
		{"counts over all connections and stops one", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			one, two, b := dial(t, p), dial(t, p), p.Break(3)
			one.send("a\n")
			one.expect("a\n")
			two.send("b\n")
			two.expect("b\n")
			two.send("c\n")
			expectHit(t, b)
			one.send("d\n")
			one.expect("d\n")
			new := dial(t, p)
			new.send("e\n")
			new.expect("e\n")
			b.Go()
			two.expect("c\n")
			if n := p.Requests(); n != 5 {
				t.Errorf("%d requests, want 5", n)
			}
		}},
		{"is disarmed", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, b := dial(t, p), p.Break(1)
			b.Go()
			c.send("a\n")
			c.expect("a\n")
			b.Cut()
			c.send("b\n")
			c.expect("b\n")
			if isHit(b) || b.Held() != 0 {
				t.Error("it is hit")
			}
		}},
		{"cuts a request off", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, other, b := dial(t, p), dial(t, p), p.Break(1)
			c.send("a\n")
			expectHit(t, b)
			b.Cut()
			b.Go() // too late
			c.expectEnd()
			other.send("b\n")
			other.expect("b\n")
			expectServed(t, got, "b\n")
			if n := p.Bytes(fault.Requests); n.Dropped != 2 || n.Passed != 2 || n.Held != 0 {
				t.Errorf("bytes of requests: %+v", n)
			}
		}},
		{"holds a reply", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, other, b := dial(t, p), dial(t, p), p.BreakReply(2)
			c.send("a\n")
			c.expect("a\n")
			c.send("bc\n")
			expectHit(t, b)
			expectServed(t, got, "a\n")
			expectServed(t, got, "bc\n")
			if n := b.Held(); n != 3 {
				t.Errorf("%d bytes are held, want 3", n)
			}
			other.send("d\n")
			other.expect("d\n")
			c.expectSilence()
			b.Go()
			c.expect("bc\n")
		}},
		{"cuts a reply off", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, b := dial(t, p), p.BreakReply(2)
			b.Cut()
			b.Go() // too late
			c.send("a\n")
			c.expect("a\n")
			c.send("b\n")
			c.expectEnd()
			expectHit(t, b)
			expectServed(t, got, "a\n")
			expectServed(t, got, "b\n")
			if n := p.Bytes(fault.Replies); n.Dropped != 2 || n.Passed != 2 || b.Held() != 2 {
				t.Errorf("bytes of replies: %+v; %d held", n, b.Held())
			}
		}},
		{"ends with its connection", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, b, reply := dial(t, p), p.Break(1), p.BreakReply(1)
			c.send("a\n")
			expectHit(t, b)
			p.Cut()
			c.expectEnd()
			b.Go()
			c = dial(t, p)
			c.send("b\n")
			c.expect("b\n")
			if n := p.Bytes(fault.Requests); n.Dropped != 2 || b.Held() != 2 || isHit(reply) {
				t.Errorf("bytes of requests: %+v; %d held", n, b.Held())
			}
		}},
		{"stops a request and its reply", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, one, two, reply := dial(t, p), p.Break(1), p.Break(1), p.BreakReply(1)
			c.send("a\n")
			expectHit(t, one)
			expectHit(t, two)
			one.Go()
			c.expectSilence()
			if len(got) != 0 || isHit(reply) {
				t.Fatal("one of two breaks held nothing")
			}
			two.Go()
			expectHit(t, reply)
			reply.Go()
			c.expect("a\n")
		}},
		{"does not mistake keep-alives", func(t *testing.T, p *fault.Proxy, got <-chan string) {
			c, b := dial(t, p), p.BreakReply(1)
			const pong = "+PONG\r\n"
			c.send("*1\r\n$4\r\nPING\r\n")
			for _, line := range []string{"*1\r\n", "$4\r\n", "PING\r\n"} {
				c.expect(line)
			}
			if p.Requests() != 0 || isHit(b) {
				t.Error("a PING is counted")
			}
			c.send("a\n")
			expectHit(t, b)
			b.Go()
			c.expect("a\n")
			c.send(pong) // any bytes that look like an answer
			c.expect(pong)
			if n := p.Requests(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target, got := echo(t, "tcp")
			test.run(t, newProxy(t, target), got)
		})
	}
}
