package fault

// How the proxy moves bytes: a reader stamps what arrives, and a writer passes each piece on when its time has come.

import (
	"io"
	"net"
	"time"
)

// inFlight bounds the pieces between reader and writer. A full channel stops the reader, and with it the sender.
const inFlight = 64

// readSize bounds a piece. Each direction of each link has a buffer of that size: drivers whose clients have a
// connection each make hundreds.
const readSize = 4 << 10

// piece is the result of one read.
type piece struct {
	data []byte
	read time.Time
}

// forward moves one direction of a link. It passes an orderly end on, and the second one to end closes the link; any
// failure closes the link at once.
func (p *Proxy) forward(l *link, d Direction, from, to net.Conn) {
	line := make(chan piece, inFlight)
	var end error // of the reading; set before line is closed
	p.running.Go(func() {
		defer close(line)
		end = read(l, from, line)
	})
	for piece := range line {
		send, ok := p.pass(l, d, piece)
		if !ok {
			p.drop(l)
			return
		}
		if !send {
			continue
		}
		if _, err := to.Write(piece.data); err != nil {
			p.drop(l)
			return
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok && end == io.EOF && l.ended.Add(1) == 1 {
		half.CloseWrite()
		return
	}
	p.drop(l)
}

// read fills line until the connection ends or is cut.
func read(l *link, from net.Conn, line chan<- piece) error {
	for {
		buf := make([]byte, readSize)
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case line <- piece{buf[:n], time.Now()}:
			case <-l.cut:
				return net.ErrClosed
			}
		}
		if err != nil {
			return err
		}
	}
}

// pass waits until a piece may go on. send is false for a piece that is dropped, ok for a link that was cut.
func (p *Proxy) pass(l *link, d Direction, piece piece) (send, ok bool) {
	for {
		p.mu.Lock()
		way, changed := p.way[d], p.changed
		p.mu.Unlock()
		switch wait := way.delay - time.Since(piece.read); {
		case way.drop:
			return false, true
		case way.hold:
			select {
			case <-changed:
			case <-l.cut:
				return false, false
			}
		case way.delay > 0 && wait > 0:
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-changed:
			case <-l.cut:
			}
			timer.Stop()
		default:
			select {
			case <-l.cut:
				return false, false
			default:
				return true, true
			}
		}
	}
}
