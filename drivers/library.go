package drivers

// Described is a Driver that describes its client library, so that a harness can plan before it opens anything.
type Described interface {
	Library() Library
}

// Library describes the client library of a driver that needs a server. The zero value has one server and a connection
// for each client.
type Library struct {
	Module      string // its Go module
	Pipelines   bool   // it shares connections between goroutines by default
	Multiplexes bool   // it always has many requests under way on each connection
	Locks       bool   // it is a lock library: it brings its own locks, and a process keeps one client of it
	Collects    bool   // it has FlushAuto
	Queues      bool   // clients of one process wait for each other within it, before the server hears of them

	Pipelining []Pipelining                          // the values of Config.Pipelining that have an effect; none: it leaves no choice
	Topologies []Topology                            // supported besides the single server
	Conns      func(clients int, pipelined bool) int // connections if it chooses their number itself; nil: one per client
	Pins       func(lock string) bool                // whether each client needs a connection of its own, so that Config.Conns has no effect; nil: never
	Shares     func(conns int) bool                  // whether with that Config.Conns clients hold their locks together, so that none can die alone; nil: never
}

// LibraryOf returns the description of d's library, or the zero value.
func LibraryOf(d Driver) Library {
	if described, ok := d.(Described); ok {
		return described.Library()
	}
	return Library{}
}

// Pinned reports whether each client needs a connection of its own for the design.
func (l Library) Pinned(lock string) bool { return l.Pins != nil && l.Pins(lock) }

// Shared reports whether clients hold their locks together with conns connections.
func (l Library) Shared(conns int) bool { return l.Shares != nil && l.Shares(conns) }
