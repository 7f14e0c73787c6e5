package simtest

// The network: what happens to a message between a client and a node, and to the bytes of a client library.

import (
	"fmt"
	"net"
	"time"
)

// Network is how messages travel.
type Network struct {
	Delay   time.Duration // of a message, at most; at random up to that
	Loss    float64       // the share of messages that are lost
	Repeat  float64       // the share of requests that arrive twice
	Reorder bool          // a message may overtake another one of its connection
}

// link is one direction of a connection.
type link struct {
	*Actor
	requests bool          // towards the node
	last     time.Duration // when the last message arrives
	cut      time.Duration // until when all messages are lost
}

// carry lets a message arrive, unless it is lost, and reports whether it is not.
func (k *link) carry(what string, arrive func()) bool {
	now, net := k.w.Now(), k.w.Network
	k.mu.Lock()
	lost := k.random.Float64() < net.Loss
	twice := k.random.Float64() < net.Repeat && k.requests
	first, second := k.delay(), k.delay()
	if lost || now < k.cut {
		k.mu.Unlock()
		k.Log("%s is lost", what)
		return false
	}
	k.deliver(now, first, arrive)
	if twice {
		k.deliver(now, first+second, arrive)
	}
	k.mu.Unlock()
	if twice {
		k.Log("%s will arrive twice", what)
		k.w.Count("repeated")
	}
	return true
}

func (k *link) delay() time.Duration {
	return time.Duration(k.random.Int64N(max(1, int64(k.w.Network.Delay))))
}

// deliver plans the arrival of a message that was sent now.
func (k *link) deliver(now, delay time.Duration, arrive func()) {
	at := now + delay
	if !k.w.Network.Reorder {
		at = max(at, k.last)
	}
	at = k.instant(at + 1)
	k.last = at
	time.AfterFunc(at-now, arrive)
}

// conn is a connection between a client and a node.
type conn struct {
	service *service
	peer    int
	out     *link
	back    *link
}

// dial connects a peer to the node of a service: a client, or a subscription.
func dial(s *service, peer int, name string) *conn {
	n := s.node
	number := 2 * (n.index*peers + peer)
	c := &conn{
		service: s, peer: peer,
		out:  &link{Actor: newActor(n.w, number, "%s>%s", name, n.name), requests: true},
		back: &link{Actor: newActor(n.w, number+1, "%s>%s", n.name, name)},
	}
	n.connect(c)
	return c
}

// cutFor loses all messages of the connection for d.
func (c *conn) cutFor(d time.Duration) {
	for _, k := range []*link{c.out, c.back} {
		k.mu.Lock()
		k.cut = k.w.Now() + d
		k.mu.Unlock()
	}
}

// Connect returns the end of a client's connection to a server, whose own end is server. What is written at one end
// arrives at the other in the same order, after a delay. Nothing is lost.
func (w *World) Connect(id int, server net.Conn) net.Conn {
	near, far := net.Pipe()
	name := fmt.Sprintf("c%d", id)
	out := &link{Actor: newActor(w, 2*id, "%s>server", name)}
	back := &link{Actor: newActor(w, 2*id+1, "server>%s", name)}
	go out.stream(far, server)
	go back.stream(server, far)
	return near
}

// chunk is what was written at once.
type chunk struct {
	at    time.Duration // when it arrives
	bytes []byte        // empty at the end
}

// stream carries bytes until one of the ends is closed.
func (k *link) stream(from, to net.Conn) {
	flight := make(chan chunk, 1024)
	go func() {
		for c := range flight {
			time.Sleep(c.at - k.w.Now())
			if len(c.bytes) == 0 {
				break
			}
			k.Log("%d bytes", len(c.bytes))
			if _, err := to.Write(c.bytes); err != nil {
				break
			}
		}
		to.Close()
		from.Close()
		for range flight { // until the other goroutine has noticed
		}
	}()
	defer close(flight)
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		k.mu.Lock()
		at := k.instant(max(k.w.Now()+k.delay(), k.last) + 1)
		k.last = at
		k.mu.Unlock()
		flight <- chunk{at, append([]byte(nil), buffer[:n]...)}
		if err != nil {
			return
		}
	}
}
