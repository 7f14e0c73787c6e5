package drivers

// Described is a Driver that tells what a harness has to know of its client library before it opens anything.
type Described interface {
	Library() Library
}

// Library is the client library of a driver that needs a server. The zero value has a connection for each client, and one
// server.
type Library struct {
	Module      string // its Go module
	Pipelines   bool   // it shares connections between goroutines unless told otherwise
	Multiplexes bool   // whatever it is told: many requests are under way on each connection
	Locks       bool   // it is a lock library: its locks are its own, and a process keeps one client of it

	Topologies []Topology                            // besides the single server
	Conns      func(clients int, pipelined bool) int // connections of its own choice; nil: one a client
	Pins       func(lock string) bool                // each client needs a connection of its own, and Config.Conns is void; nil: none does
	Shares     func(conns int) bool                  // with that Config.Conns its clients hold their locks together, and none can die alone; nil: they do not
}

// LibraryOf returns what d tells of its library.
func LibraryOf(d Driver) Library {
	if described, ok := d.(Described); ok {
		return described.Library()
	}
	return Library{}
}

// Pinned reports whether each client needs a connection of its own for the design.
func (l Library) Pinned(lock string) bool { return l.Pins != nil && l.Pins(lock) }

// Shared reports whether clients hold their locks together if Config.Conns is conns.
func (l Library) Shared(conns int) bool { return l.Shares != nil && l.Shares(conns) }
