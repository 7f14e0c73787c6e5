// A check of what a server sends, frame by frame, before the client library sees it. The library allocates what a
// length within a frame says, and an answer that is too short crashes it in a goroutine of its own, where it cannot be
// recovered.
package zookeeper

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// Operations whose answers contain a length or a flag, and the beginning of each frame.
const (
	opGetData, opChildren, opChildren2, opMulti = 4, 8, 12, 14

	opCreateResult, opSetDataResult, opErrorResult = 1, 5, -1 // within a multi

	headerSize = 16 // xid, zxid, error
	statSize   = 68
)

// frames are those that one connection receives. One goroutine reads at a time; another one may send.
type frames struct {
	greeted bool
	head    [4]byte
	body    bytes.Buffer
	ready   []byte // the unread part of head and body

	mu  sync.Mutex
	ops map[int32]int32 // by xid, of the requests whose answers next checks
}

// sent records the operation of a packet.
func (f *frames) sent(packet []byte) {
	switch op := int32(binary.BigEndian.Uint32(packet[8:])); op {
	case opGetData, opChildren, opChildren2, opMulti:
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.ops == nil {
			f.ops = map[int32]int32{}
		}
		f.ops[int32(binary.BigEndian.Uint32(packet[4:]))] = op
	}
}

// Read implements net.Conn. It returns a frame when it is complete and valid.
func (w *wire) Read(b []byte) (int, error) {
	f := &w.frames
	if len(f.ready) == 0 {
		greeted := f.greeted
		if err := f.next(w.Conn); err != nil {
			if drivers.ClassOf(err) == drivers.ClassProtocol {
				w.c.mu.Lock()
				w.breach = err
				w.c.mu.Unlock()
			}
			return 0, err
		}
		if granted := binary.BigEndian.Uint32(f.ready[len(f.head)+4:]); !greeted && granted > 0 { // after the protocol's version
			w.c.to.granted.Store(int64(granted))
		}
	}
	n := copy(b, f.ready)
	f.ready = f.ready[n:]
	return n, nil
}

// next receives a frame. It allocates no more than what arrives.
func (f *frames) next(r io.Reader) error {
	if _, err := io.ReadFull(r, f.head[:]); err != nil {
		return err
	}
	size, limit := int64(binary.BigEndian.Uint32(f.head[:])), int64(maxReply)
	if !f.greeted {
		limit = maxGreeted
	}
	if size > limit {
		return drivers.Malformed("a frame of %d bytes, where %d are the most", size, limit)
	}
	f.body.Reset()
	f.body.Write(f.head[:])
	if _, err := io.CopyN(&f.body, r, size); err != nil {
		return err
	}
	frame := f.body.Bytes()
	if err := f.check(frame[len(f.head):]); err != nil {
		return err
	}
	f.greeted, f.ready = true, frame
	return nil
}

// check checks the parts of a frame that the library relies on.
func (f *frames) check(body []byte) error {
	if !f.greeted {
		return checkGreeting(body)
	}
	if len(body) < headerSize {
		return drivers.Malformed("an answer of %d bytes", len(body))
	}
	xid := int32(binary.BigEndian.Uint32(body))
	f.mu.Lock()
	op := f.ops[xid]
	delete(f.ops, xid)
	f.mu.Unlock()
	if failed := binary.BigEndian.Uint32(body[headerSize-4:]) != 0; failed {
		return nil
	}
	body = body[headerSize:]
	switch op {
	case opGetData:
		return checkLength(body, 1)
	case opChildren, opChildren2:
		return checkLength(body, 4)
	case opMulti:
		return checkMulti(body)
	}
	return nil
}

// checkGreeting checks the answer to a greeting: version, session time-out, session and password. The library starts a
// ticker of a third of the time-out, which must not be 0.
func checkGreeting(body []byte) error {
	if len(body) < 20 {
		return drivers.Malformed("a greeting of %d bytes", len(body))
	}
	timeout, session := int32(binary.BigEndian.Uint32(body[4:])), binary.BigEndian.Uint64(body[8:])
	if session != 0 && timeout < 3 {
		return drivers.Malformed("a session time-out of %d ms", timeout)
	}
	return checkLength(body[16:], 1)
}

// checkLength checks a number of elements of at least that many bytes each. -1 means none.
func checkLength(body []byte, each int64) error {
	if len(body) < 4 {
		return drivers.Malformed("an answer without its length")
	}
	n := int64(int32(binary.BigEndian.Uint32(body)))
	if n < -1 || n == -1 && each > 1 || n*each > int64(len(body)-4) {
		return drivers.Malformed("a length of %d in an answer of %d bytes", n, len(body))
	}
	return nil
}

// checkMulti follows the results of a transaction to the one marked as the last.
func checkMulti(body []byte) error {
	for {
		if len(body) < 9 {
			return drivers.Malformed("a transaction that has no end")
		}
		kind, done := int32(binary.BigEndian.Uint32(body)), body[4] != 0
		if body = body[9:]; done {
			return nil
		}
		size := int64(0)
		switch kind {
		case opErrorResult:
			size = 4
		case opSetDataResult:
			size = statSize
		case opCreateResult:
			if err := checkLength(body, 1); err != nil {
				return err
			}
			size = 4 + int64(int32(binary.BigEndian.Uint32(body)))
		}
		if size < 0 || size > int64(len(body)) {
			return drivers.Malformed("a transaction that is cut off")
		}
		body = body[size:]
	}
}
