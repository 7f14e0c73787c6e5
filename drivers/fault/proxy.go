// Package fault breaks the path between a client and a server on purpose: Proxy does it on the network for any service,
// Driver inside the process for drivers without a network. It is for tests, and for scenarios that show what a design
// does when it does not receive the answer.
package fault

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Direction is one of the two streams of a connection.
type Direction int

const (
	Requests Direction = iota // from the client to the server
	Replies                   // from the server to the client
)

// Proxy listens on a loopback port and forwards every connection to a target. Its faults apply to all connections,
// present and future, until Resume; those of a Break apply to one connection.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	to       target
	way      [2]way
	refuse   bool
	hole     bool
	closed   bool
	links    map[*link]struct{}
	changed  chan struct{} // closed and replaced whenever bytes that wait may have to go on
	requests int64         // begun so far
	refused  int64         // connections so far, by Outage
	breaks   []*Break      // neither disarmed nor decided
	bytes    [2]Bytes
	watch    func(Passage)
}

// Passage is a piece of a stream on its way through the proxy.
type Passage struct {
	Link       any // which connection
	Direction  Direction
	Data       []byte    // not to be kept
	Came, Went time.Time // just after it was read, and just before it is sent on
}

// target is where a proxy leads, as net.Dial has it.
type target struct{ network, address string }

// way is the state of one direction.
type way struct {
	hold, drop bool
	delay      time.Duration
}

// Bytes counts the bytes of one direction, of all connections since the proxy was started.
type Bytes struct {
	Passed  int64 // sent on
	Dropped int64 // read and lost: by Drop, BlackHole or Silence, or because the connection was cut
	Held    int64 // read and still in the proxy: held or delayed, or just passing
}

// link is one forwarded connection.
type link struct {
	ends  [2]net.Conn   // client, server; the latter is nil, and guarded by Proxy.mu, until it is connected
	cut   chan struct{} // closed with the connections
	ended atomic.Int32  // directions that came to an orderly end

	// The rest is guarded by Proxy.mu.
	asked  bool // a request has begun, and no reply to it
	broken bool // a stream has a gap: it is cut when its faults are over
	flow   [2]flow
}

// flow is the state of one direction of a link.
type flow struct {
	waiting int64    // bytes that were read, and neither sent on nor dropped
	stops   []*Break // that hold them
	silent  bool     // Silence drops them
}

// NewProxy starts a proxy to an address, which is host:port or unix:///path.
func NewProxy(to string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault: proxy: %w", err)
	}
	p := &Proxy{
		to: targetOf(to), listener: listener,
		links: map[*link]struct{}{}, changed: make(chan struct{}),
	}
	p.running.Go(p.accept)
	return p, nil
}

func targetOf(addr string) target {
	if path, unix := strings.CutPrefix(addr, "unix://"); unix {
		return target{"unix", path}
	}
	return target{"tcp", addr}
}

// Addr returns the host:port that clients connect to instead of the target.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Watch has f see all that the proxy sends on, each stream in its order, from one goroutine a stream. Call it before anybody connects.
func (p *Proxy) Watch(f func(Passage)) { p.change(func() { p.watch = f }) }

// Hold keeps the bytes of a direction back until Resume; none are lost. hit reports whether it holds any. Wait for that
// before Resume: bytes that have been sent, and even had their effect, may not have reached the proxy yet. The news that a
// sender has closed its connection or is gone is held back as well.
func (p *Proxy) Hold(d Direction) (hit func() bool) {
	p.change(func() { p.way[d].hold = true })
	return func() bool { return p.Bytes(d).Held > 0 }
}

// Drop drops the bytes of a direction, and holds back the news that a sender has closed its connection or is gone. hit reports
// whether any bytes were lost since. Wait for that before Resume, as with Hold.
func (p *Proxy) Drop(d Direction) (hit func() bool) {
	var before int64
	p.change(func() { p.way[d].drop, before = true, p.bytes[d].Dropped })
	return func() bool { return p.Bytes(d).Dropped > before }
}

// Delay makes every byte and every end of a direction arrive that much later. It adds latency but does not reduce bandwidth.
func (p *Proxy) Delay(d Direction, by time.Duration) { p.change(func() { p.way[d].delay = by }) }

// BlackHole is Drop of both directions: both ends believe in a connection that is half open. New connections are made, and
// are as silent. The kernel's keep-alive probes are answered, so that an end gives up only by a time-out of its own.
func (p *Proxy) BlackHole() { p.change(func() { p.hole = true }) }

// Silence is Drop of the replies for the connections that there are. New ones work: it is as if what is between had forgotten
// the old ones.
func (p *Proxy) Silence() {
	p.change(func() {
		for l := range p.links {
			l.flow[Replies].silent = true
		}
	})
}

// Resume ends every fault, and forgets every Break. Bytes and ends of connections that were held are sent on. A connection that
// has lost bytes is cut: TCP would have sent them again, and no stream goes on behind a gap. All others work as before.
func (p *Proxy) Resume() {
	p.change(func() {
		p.way, p.refuse, p.hole = [2]way{}, false, false
		for _, b := range slices.Clone(p.breaks) {
			b.then = sendOn
			b.finish()
		}
		for l := range p.links {
			if l.broken {
				p.closeLink(l, reset)
			}
			l.flow[Replies].silent = false
		}
	})
}

// Cut breaks every connection. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// cut is Cut. The caller holds p.mu.
func (p *Proxy) cut() {
	for l := range p.links {
		p.closeLink(l, reset)
	}
}

// Redirect cuts every connection, and makes new ones lead to another address.
func (p *Proxy) Redirect(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = targetOf(to)
	p.cut()
}

// Bytes returns what has become of the bytes of a direction: it shows that a fault has had an effect.
func (p *Proxy) Bytes(d Direction) Bytes {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes[d]
}

// Links returns the number of connections that the proxy forwards now.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Refused returns the number of connections that Outage has refused so far.
func (p *Proxy) Refused() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// Outage cuts every connection and refuses new ones until restore is called.
func (p *Proxy) Outage() (restore func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
	p.cut()
	return p.Resume
}

// Mute lets requests through and drops the replies, until restore is called.
func (p *Proxy) Mute() (restore func()) {
	_ = p.Drop(Replies) // a request that has lost its reply also loses its connection; one that has not may have it
	return p.Resume
}

// Stall holds replies back until restore is called: the server has answered, and its clients do not know yet.
func (p *Proxy) Stall() (restore func()) {
	_ = p.Hold(Replies) // restore loses nothing, whether a reply has come or not
	return p.Resume
}

// Close ends the proxy and all its connections, and waits for its goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil // closed before
	}
	return err
}

func (p *Proxy) change(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.refuse
		if refuse {
			p.refused++
		}
		p.mu.Unlock()
		if refuse {
			reset(client)
			continue
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve connects a client with the target. Whether there is one is news from the server, which a fault may hold back.
func (p *Proxy) serve(client net.Conn) {
	l := &link{ends: [2]net.Conn{client}, cut: make(chan struct{})}
	p.mu.Lock()
	to, unwanted := p.to, p.closed || p.refuse // since the connection was accepted
	if !unwanted {
		p.links[l] = struct{}{}
	}
	p.mu.Unlock()
	if unwanted {
		reset(client)
		return
	}
	server, err := net.Dial(to.network, to.address)
	if err != nil {
		if _, ok := p.pass(l, Replies, ended(err)); ok {
			reset(client)
			p.drop(l)
		}
		return
	}
	p.mu.Lock()
	unwanted = !p.open(l)
	l.ends[1] = server
	p.mu.Unlock()
	if unwanted {
		reset(server)
		return
	}
	p.running.Go(func() { p.forward(l, Requests, client, server) })
	p.running.Go(func() { p.forward(l, Replies, server, client) })
}

// reset closes a connection so that its peer sees an error and not an orderly end.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// closeLink closes a link, with end for each of its connections. The caller holds p.mu.
func (p *Proxy) closeLink(l *link, end func(net.Conn)) {
	delete(p.links, l)
	p.breaks = slices.DeleteFunc(p.breaks, func(b *Break) bool { return b.link == l })
	for d := range l.flow {
		p.take(l, Direction(d), l.flow[d].waiting, &p.bytes[d].Dropped)
	}
	close(l.cut)
	end(l.ends[Requests])
	if l.ends[Replies] != nil {
		end(l.ends[Replies])
	}
}

// drop closes a link that has ended by itself, unless Cut came first. What has been written still arrives.
func (p *Proxy) drop(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open(l) {
		p.closeLink(l, func(conn net.Conn) { conn.Close() })
	}
}

// open reports whether a link is connected. The caller holds p.mu.
func (p *Proxy) open(l *link) bool {
	_, open := p.links[l]
	return open
}
