//go:build unix

package postgres

import (
	"crypto/tls"
	"net"
	"syscall"
)

// alive looks whether the connection is still there, without asking the server: a hold that was lost before the release
// is sent is told from one whose release was not answered.
func (c *conn) alive() bool {
	socket, encrypted := c.net, false
	if t, ok := socket.(*tls.Conn); ok {
		socket, encrypted = t.NetConn(), true
	}
	raw, err := socket.(interface {
		net.Conn
		syscall.Conn
	}).SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		var first [1]byte
		n, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EAGAIN || err == syscall.EWOULDBLOCK || err == syscall.EINTR:
			alive = true // nothing to read
		case err == nil && n == 1:
			alive = encrypted || first[0] != 'E' // an error that nobody has asked for is the last word
		}
	})
	return err == nil && alive
}
