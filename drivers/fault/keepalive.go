package fault

// The bytes that clients and servers exchange on idle connections, which are no requests and no replies.

import (
	"bytes"
	"encoding/binary"
)

// keepAlive reports whether a piece is nothing but keep-alives of one of the protocols. A piece that has something else
// as well is taken for a request or reply, and so is a keep-alive of which another piece has the rest.
func keepAlive(piece []byte) bool {
	return redisPing(piece) || zooKeeperPing(piece) || http2Control(piece)
}

// redisPing recognizes PING and its answer. rueidis sends it every second.
func redisPing(b []byte) bool {
	return bytes.EqualFold(b, []byte("*1\r\n$4\r\nPING\r\n")) || string(b) == "+PONG\r\n"
}

// zooKeeperPing recognizes what keeps a ZooKeeper session alive, by the xid that is reserved for it: a request of xid
// and operation, and a reply of xid, zxid and error.
func zooKeeperPing(b []byte) bool {
	const ping = -2
	if len(b) != 4+8 && len(b) != 4+16 {
		return false
	}
	size, xid := binary.BigEndian.Uint32(b), int32(binary.BigEndian.Uint32(b[4:]))
	return int(size) == len(b)-4 && xid == ping
}

// http2Control recognizes the frames that belong to an HTTP/2 connection as a whole: SETTINGS, PING and WINDOW_UPDATE.
// gRPC's server sends the last two as soon as it has a request, long before the reply.
func http2Control(b []byte) bool {
	const header, settings, ping, windowUpdate = 9, 4, 6, 8
	b, opened := bytes.CutPrefix(b, []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	for len(b) >= header {
		size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if kind := b[3]; kind != settings && kind != ping && kind != windowUpdate || len(b) < header+size {
			return false
		}
		b, opened = b[header+size:], true
	}
	return opened && len(b) == 0
}
