package simtest

// The network: what happens to a message between a client and a node.

import "time"

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
