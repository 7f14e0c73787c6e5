//go:build unix

package postgres

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// peeker peeks into a socket, repeatedly and without allocating.
type peeker struct {
	raw       syscall.RawConn
	peek      func(fd uintptr)
	encrypted bool
	first     [1]byte
	alive     bool
}

func newPeeker(socket net.Conn) (*peeker, error) {
	l := &peeker{}
	if t, ok := socket.(*tls.Conn); ok {
		socket, l.encrypted = t.NetConn(), true
	}
	s, ok := socket.(syscall.Conn)
	if !ok {
		return nil, errors.New("the connection has no socket")
	}
	var err error
	l.raw, err = s.SyscallConn()
	l.peek = func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), l.first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR:
			l.alive = true // nothing to read
		case err == nil && n == 1:
			l.alive = l.encrypted || l.first[0] != 'E' // an unrequested error means that the server closes the connection
		}
	}
	return l, err
}

// alive checks whether the connection still exists, without asking the server. So a hold that was lost before the
// release is sent differs from one whose release was not answered.
func (c *conn) alive() bool {
	c.peeker.alive = false
	return c.peeker.raw.Control(c.peeker.peek) == nil && c.peeker.alive
}
