package servers

import (
	"net"
	"os"
	"strconv"
)

// port is a loopback port that is reserved for a server.
type port struct {
	number int
	held   *os.File // nil where the system cannot reserve one
}

// addr returns the address of a server on the port: host:port.
func (p *port) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number)) }

// free gives the port back. It may be called more than once.
func (p *port) free() { _ = p.held.Close() }

func freeAll(ports []*port) {
	for _, p := range ports {
		p.free()
	}
}
