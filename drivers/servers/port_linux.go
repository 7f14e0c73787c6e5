package servers

// Free ports that stay reserved while no server listens on them.

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// port is a loopback port that is reserved for a server. A socket stays bound to it and never listens. The kernel then
// gives the port to no process that asks for any free one (nor, as a local port, to a client that connects), but a
// server that asks for it by number gets it, because servers use SO_REUSEADDR. Otherwise the reconnecting clients of a
// killed server could take its port, or even connect to themselves.
type port struct {
	number int
	fd     int
}

func reservePort() (*port, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{fd: fd}
	if err := p.bind(); err != nil {
		return nil, errors.Join(fmt.Errorf("set a loopback port aside: %w", err), p.Close())
	}
	return p, nil
}

func (p *port) bind() error {
	if err := unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Bind(p.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	addr, err := unix.Getsockname(p.fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.number = addr.(*unix.SockaddrInet4).Port
	return nil
}

// Close gives the port back.
func (p *port) Close() error { return os.NewSyscallError("close", unix.Close(p.fd)) }
