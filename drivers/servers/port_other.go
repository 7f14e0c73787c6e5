//go:build !linux

package servers

// Free ports, on systems where SO_REUSEADDR would not let a server have a port that this process holds.

import "net"

// port is a loopback port that was free a moment ago.
type port struct{ number int }

func reservePort() (*port, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &port{number: l.Addr().(*net.TCPAddr).Port}, l.Close()
}

// Close has nothing to give back.
func (p *port) Close() error { return nil }
