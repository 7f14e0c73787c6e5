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
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	line := make(chan piece, inFlight)
	var end error // of the reading; set before line is closed
	p.running.Go(func() {
		defer close(line)
		end = p.read(l, d, from, line)
	})
	for piece := range line {
		p.arrive(l, d, piece.data)
		send, ok := p.pass(l, d, piece)
		if !ok {
			p.drop(l)
			return
		}
		if !send {
			continue
		}
		if watch != nil {
			watch(Passage{l, d, piece.data, piece.read, time.Now()})
		}
		if _, err := to.Write(piece.data); err != nil {
			p.outlast(l)
			p.drop(l)
			return
		}
	}
	p.outlast(l)
	if half, ok := to.(interface{ CloseWrite() error }); ok && end == io.EOF && l.ended.Add(1) == 1 {
		half.CloseWrite()
		return
	}
	p.drop(l)
}

// read fills line until the connection ends or is cut.
func (p *Proxy) read(l *link, d Direction, from net.Conn, line chan<- piece) error {
	for {
		buf := make([]byte, readSize)
		n, err := from.Read(buf)
		if n > 0 {
			p.received(l, d, int64(n))
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

// received counts bytes that were read.
func (p *Proxy) received(l *link, d Direction, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open(l) {
		p.bytes[d].Dropped += n
		return
	}
	p.bytes[d].Held += n
	l.flow[d].waiting += n
	for _, b := range l.flow[d].stops {
		b.held += n
	}
}

// take counts bytes that wait no longer: as Passed or as Dropped. The caller holds p.mu.
func (p *Proxy) take(l *link, d Direction, n int64, as *int64) {
	l.flow[d].waiting -= n
	p.bytes[d].Held -= n
	*as += n
}

// verdict says what to do with a piece now.
type verdict int

const (
	waits verdict = iota
	passes
	isLost // the connection goes on without it
	isCut
)

// pass waits until a piece may go on. send is false for a piece that is dropped, ok for a link that was cut.
func (p *Proxy) pass(l *link, d Direction, piece piece) (send, ok bool) {
	for {
		verdict, delay, changed := p.judge(l, d, piece)
		if verdict != waits {
			return verdict == passes, verdict != isCut
		}
		var due <-chan time.Time // never, without a delay
		if delay > 0 {
			due = time.After(delay)
		}
		select {
		case <-due:
		case <-changed:
		case <-l.cut:
		}
	}
}

// judge decides on a piece, and counts its bytes in the same step. One that waits is judged again after delay, if that
// is not 0, and when changed is closed.
func (p *Proxy) judge(l *link, d Direction, piece piece) (v verdict, delay time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, way, n := &l.flow[d], p.way[d], int64(len(piece.data))
	switch delay = way.delay - time.Since(piece.read); {
	case !p.open(l):
		return isCut, 0, nil
	case p.hole, f.silent, way.drop:
		l.broken = l.broken || p.hole || f.silent
		p.take(l, d, n, &p.bytes[d].Dropped)
		return isLost, 0, nil
	case way.hold, len(f.stops) > 0:
		return waits, 0, p.changed
	case delay > 0:
		return waits, delay, p.changed
	}
	p.take(l, d, n, &p.bytes[d].Passed)
	return passes, 0, nil
}

// outlast waits until an end of a link may be passed on, or the link is cut.
func (p *Proxy) outlast(l *link) {
	for {
		p.mu.Lock()
		hole, changed := p.hole, p.changed
		p.mu.Unlock()
		if !hole {
			return
		}
		select {
		case <-changed:
		case <-l.cut:
			return
		}
	}
}
