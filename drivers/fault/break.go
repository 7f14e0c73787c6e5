package fault

// Breakpoints: one request, or the reply to one, is stopped and then let through or cut.
//
// A request is a turn: the bytes that a client sends until it gets a reply. So one that arrives in several pieces is one
// request, and so are those of a pipeline that are sent before the first reply. What a client sends to open a connection
// counts as well, and some clients open one late: let them do their work until Requests grows by the same number each
// time. Keep-alives of Redis, ZooKeeper and HTTP/2 (gRPC) are no requests and no replies, unless they are encrypted; see
// keepAlive. Messages of a stream that keeps an etcd lease alive are.

import "slices"

// Break is a breakpoint on one request, or on the reply to it. When it is hit, it holds these bytes and all that follow
// them in the same direction of the same connection, until Go or Cut says what becomes of them. The first of these
// calls counts. One that comes before the hit is carried out with it. A Break is never hit if the connection of its
// request is cut before.
type Break struct {
	proxy *Proxy
	d     Direction
	at    int64 // the number of its request
	hit   chan struct{}

	// The rest is guarded by Proxy.mu.
	link    *link // of its request, once that has begun
	stopped bool  // it has been hit
	then    outcome
	held    int64
}

// outcome is what a Break does with the bytes that it holds.
type outcome int

const (
	undecided outcome = iota
	sendOn
	cutLink
)

// Requests returns the number of requests that have begun. The caller of a client that waits for its replies learns from
// two calls how many requests an operation takes.
func (p *Proxy) Requests() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// Break stops the n-th request from now on, over all connections; 1 is the next one. The server does not see it.
func (p *Proxy) Break(n int) *Break { return p.arm(Requests, n) }

// BreakReply lets the n-th request from now on through, and stops the first bytes that the server sends after it. A
// server that answers in pieces may still be at work then.
func (p *Proxy) BreakReply(n int) *Break { return p.arm(Replies, n) }

func (p *Proxy) arm(d Direction, n int) *Break {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &Break{proxy: p, d: d, at: p.requests + int64(max(n, 1)), hit: make(chan struct{})}
	p.breaks = append(p.breaks, b)
	return b
}

// Hit returns a channel that is closed when the Break has bytes to hold.
func (b *Break) Hit() <-chan struct{} { return b.hit }

// Held returns the number of bytes that the Break has held so far, whatever has become of them.
func (b *Break) Held() int64 {
	b.proxy.mu.Lock()
	defer b.proxy.mu.Unlock()
	return b.held
}

// Go sends the bytes on, also if the client has closed the connection meanwhile. Before the hit it disarms the Break.
func (b *Break) Go() { b.decide(sendOn) }

// Cut drops the bytes and cuts their connection at both ends.
func (b *Break) Cut() { b.decide(cutLink) }

func (b *Break) decide(then outcome) {
	b.proxy.change(func() {
		if b.then != undecided || !slices.Contains(b.proxy.breaks, b) {
			return
		}
		b.then = then
		if b.stopped || then == sendOn {
			b.finish()
		}
	})
}

// arrive takes note of a piece that is the next one to pass: it may begin a request, and hit a Break.
func (p *Proxy) arrive(l *link, d Direction, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open(l) || keepAlive(data) {
		return
	}
	if d == Requests && !l.asked {
		p.requests++
		for _, b := range p.breaks {
			if b.at == p.requests {
				b.link = l
			}
		}
	}
	l.asked = d == Requests
	for _, b := range slices.Clone(p.breaks) {
		if b.link == l && b.d == d && !b.stopped && p.open(l) { // another Break may have cut it
			b.stop()
		}
	}
}

// stop makes the Break hold what waits in its direction. The caller holds Proxy.mu.
func (b *Break) stop() {
	f := &b.link.flow[b.d]
	f.stops = append(f.stops, b)
	b.stopped, b.held = true, f.waiting
	close(b.hit)
	if b.then != undecided {
		b.finish()
	}
}

// finish ends the Break as it was decided. The caller holds Proxy.mu.
func (b *Break) finish() {
	p, isThis := b.proxy, func(other *Break) bool { return other == b }
	p.breaks = slices.DeleteFunc(p.breaks, isThis)
	if !b.stopped {
		return
	}
	f := &b.link.flow[b.d]
	f.stops = slices.DeleteFunc(f.stops, isThis)
	if b.then == cutLink {
		p.closeLink(b.link, reset)
	}
}
