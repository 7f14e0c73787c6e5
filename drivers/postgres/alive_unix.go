//go:build unix

package postgres

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// look peeks into a socket, again and again without an allocation.
type look struct {
	raw       syscall.RawConn
	peek      func(fd uintptr)
	encrypted bool
	first     [1]byte
	alive     bool
}

func newLook(socket net.Conn) (*look, error) {
	l := &look{}
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
			l.alive = l.encrypted || l.first[0] != 'E' // an error that nobody has asked for is the last word
		}
	}
	return l, err
}

// alive looks whether the connection is still there, without asking the server: a hold that was lost before the release
// is sent is told from one whose release was not answered.
func (c *conn) alive() bool {
	c.look.alive = false
	return c.look.raw.Control(c.look.peek) == nil && c.look.alive
}
