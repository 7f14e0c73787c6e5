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

// piece is the result of one read: bytes, or the end of the stream, which waits for a fault to be over like bytes but is never lost.
type piece struct {
	data []byte
	end  error // io.EOF if it is an orderly one
	read time.Time
}

// forward moves one direction of a link. It passes an orderly end on, and the second one to end closes the link; any
// failure closes the link at once.
func (p *Proxy) forward(l *link, d Direction, from, to net.Conn) {
	p.mu.Lock()
	watch := p.watch
	p.mu.Unlock()
	line := make(chan piece, inFlight)
	p.running.Go(func() { p.read(l, d, from, line) })
	for {
		var piece piece
		select {
		case piece = <-line:
		case <-l.cut:
			return
		}
		if piece.end == nil {
			p.arrive(l, d, piece.data)
		}
		send, ok := p.pass(l, d, piece)
		switch {
		case !ok:
			return
		case !send:
			continue
		case piece.end != nil:
			if half, ok := to.(interface{ CloseWrite() error }); ok && piece.end == io.EOF && l.ended.Add(1) == 1 {
				half.CloseWrite()
				return
			}
			p.drop(l)
			return
		case watch != nil:
			watch(Passage{l, d, piece.data, piece.read, time.Now()})
		}
		if _, err := to.Write(piece.data); err != nil { // to is gone, which is news in the other direction
			p.pass(l, 1-d, ended(err))
			p.drop(l)
			return
		}
	}
}

// ended is the end of a stream, now.
func ended(err error) piece { return piece{end: err, read: time.Now()} }

// read fills line until the stream ends or the link is cut.
func (p *Proxy) read(l *link, d Direction, from net.Conn, line chan<- piece) {
	put := func(next piece) {
		select {
		case line <- next:
		case <-l.cut:
		}
	}
	for {
		buf := make([]byte, readSize)
		n, err := from.Read(buf)
		if n > 0 {
			p.received(l, d, int64(n))
			put(piece{data: buf[:n], read: time.Now()})
		}
		if err != nil {
			put(ended(err))
			return
		}
	}
}

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

// pass waits until a piece may go on. send is false for bytes that are dropped, ok for a link that was cut.
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
		if piece.end != nil {
			return waits, 0, p.changed
		}
		l.broken = true
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
