// A check of what a server sends, packet by packet, before the client library sees it: the library allocates for as
// many columns as the head of an answer announces, and joins packets of maximum length without limit.
package mysql

import (
	"errors"
	"net"
	"reflect"

	"github.com/lockbench/lockbench/drivers"
)

// The limits of what a server may send: bytes of a packet, bytes until the connection is open (including certificates),
// bytes of a reply, and rows of a reply.
const maxPacket, maxLogin, maxReply, maxRows = 1 << 20, 64 << 10, 8 << 20, 1 << 16

// packets follows what a connection receives. Its zero value is at the beginning.
type packets struct {
	head [4]byte // length and number of the packet
	have int     // bytes of head so far
	left int     // bytes of the packet that have not come
	new  bool    // its first byte has not come
}

// check reads the next piece of the stream.
func (p *packets) check(b []byte) error {
	for len(b) > 0 {
		if p.left == 0 {
			n := copy(p.head[p.have:], b)
			b = b[n:]
			if p.have += n; p.have < len(p.head) {
				return nil
			}
			p.have, p.new = 0, true
			p.left = int(p.head[0]) | int(p.head[1])<<8 | int(p.head[2])<<16
			if p.left > maxPacket {
				return drivers.Malformed("a packet of %d bytes, where %d are the most", p.left, maxPacket)
			}
			continue
		}
		// The answer to a command begins with packet 1, and a result with its number of columns, where 0xfd and 0xfe
		// announce three and eight bytes.
		if p.new && p.head[3] == 1 && (b[0] == 0xfd || b[0] == 0xfe) {
			return drivers.Malformed("more columns than a statement has")
		}
		p.new = false
		n := min(p.left, len(b))
		p.left, b = p.left-n, b[n:]
	}
	return nil
}

// decrypted is a connection under TLS as the library reads it; the wire below sees only encrypted data.
type decrypted struct {
	net.Conn
	wire    *wire
	packets packets
}

func (d *decrypted) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if err == nil {
		err = d.packets.check(b[:n])
	}
	if err != nil {
		d.wire.note(err)
		return 0, err
	}
	return n, nil
}

// checkDecrypted makes the library read checked packets under TLS as well. The library makes the TLS connection itself,
// over the wire, and has no hook above it, so this replaces the field that has it. Before that the library does not
// allocate what the server announces, and maxLogin bounds the rest.
func (c *conn) checkDecrypted() error {
	field := reflect.Indirect(reflect.ValueOf(c.raw)).FieldByName("netConn")
	if !field.IsValid() || field.Type() != reflect.TypeFor[net.Conn]() {
		return errors.New("this version of the client library hides what it receives under TLS")
	}
	secure := (*net.Conn)(field.Addr().UnsafePointer())
	*secure = &decrypted{Conn: *secure, wire: c.wire}
	return nil
}

// caught turns a panic of the library, which trusts packets to be complete, into an error. It must be deferred.
func (c *conn) caught(err *error) {
	if v := recover(); v != nil {
		c.broken.Store(true)
		*err = &drivers.Error{Class: drivers.ClassProtocol, Op: "reply", Err: drivers.Panicked(v)}
		c.wire.note(*err)
	}
}
