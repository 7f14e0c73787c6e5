package hazards

// The network between a client and the server.

import (
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/safety"
)

// Network is the way between a client and its servers. Its faults return their evidence, for Stage.Fault. Those of a placebo do
// nothing.
type Network struct {
	nodes   []*node
	placebo bool
}

// node is the way to one server, which knows whether it ever had a fault.
type node struct {
	*fault.Proxy
	faulty atomic.Bool
}

// Break calls the proxy's Break, and makes the node faulty.
func (n *node) Break(request int) *fault.Break {
	n.faulty.Store(true)
	return n.Proxy.Break(request)
}

// BreakReply calls the proxy's BreakReply, and makes the node faulty.
func (n *node) BreakReply(request int) *fault.Break {
	n.faulty.Store(true)
	return n.Proxy.BreakReply(request)
}

// hasFault reports whether the client or its way to a server has a fault.
func (c *Client) hasFault() bool {
	return c.process != nil || slices.ContainsFunc(c.network.nodes, func(n *node) bool { return n.faulty.Load() })
}

// Network returns the client's way to its servers. It ends the attempt if there is none.
func (c *Client) Network() Network {
	c.stage.leaveIf(len(c.network.nodes) == 0, safety.NotApplicable, "it has no connection that could break")
	return c.network
}

// line returns the client's way to its only server. It ends the attempt if there are several.
func (c *Client) line() *node {
	c.stage.leaveIf(len(c.Network().nodes) > 1, safety.NotApplicable, "its requests go to several servers")
	return c.network.nodes[0]
}

// heard returns how many bytes the client's only server has told it.
func (c *Client) heard() int64 { return c.line().Bytes(fault.Replies).Passed }

// Break stops the client's n-th request from now on, which no server sees then.
func (c *Client) Break(n int) *fault.Break { return c.line().Break(n + c.far()) }

// BreakReply stops the reply to that request.
func (c *Client) BreakReply(n int) *fault.Break { return c.line().BreakReply(n + c.far()) }

// far is how much later a breakpoint of a placebo is: later than any request.
func (c *Client) far() int {
	if c.network.placebo {
		return 1 << 30
	}
	return 0
}

// each does something to every node, and returns how many connections there were.
func (n Network) each(do func(*fault.Proxy)) (links int64) {
	if n.placebo {
		return 0
	}
	for _, p := range n.nodes {
		links += int64(p.Links())
		p.faulty.Store(true)
		do(p.Proxy)
	}
	return links
}

// Cut breaks all connections, and returns how many. New ones can be made.
func (n Network) Cut() int64 { return n.each((*fault.Proxy).Cut) }

// Outage breaks all connections, and returns how many. New ones are refused until Resume.
func (n Network) Outage() int64 { return n.each(func(p *fault.Proxy) { p.Outage() }) }

// BlackHole loses everything on all connections, and returns how many there are. Nobody hears that one has ended.
func (n Network) BlackHole() int64 { return n.each((*fault.Proxy).BlackHole) }

// Silence loses what the server sends over all connections from now on, and returns on how many. New ones work.
func (n Network) Silence() int64 { return n.each((*fault.Proxy).Silence) }

// Hold keeps everything back until Resume, and returns on how many connections.
func (n Network) Hold() int64 {
	return n.each(func(p *fault.Proxy) { _, _ = p.Hold(fault.Requests), p.Hold(fault.Replies) })
}

// Lead makes the way lead to another server, to which the clients have to connect anew.
func (n Network) Lead(to Server) error {
	at, err := url.Parse(to.URL())
	if err == nil {
		n.each(func(p *fault.Proxy) { p.Redirect(at.Host) })
	}
	return err
}

// Resume ends all faults.
func (n Network) Resume() { n.each((*fault.Proxy).Resume) }

// Hit waits until a breakpoint holds what it is for. The answer that waits behind it must not come before.
func (s *Stage) Hit(b *fault.Break, answer func() (bool, error)) {
	ended := make(chan struct{})
	go func() {
		_, _ = answer()
		close(ended)
	}()
	select {
	case <-b.Hit():
	case <-ended:
		s.leave(safety.NotExercised, "the request that was to be stopped was not sent")
	case <-s.ctx.Done():
		s.leave(safety.NotExercised, "stopped")
	}
}
