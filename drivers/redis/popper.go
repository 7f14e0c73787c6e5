// A bare connection on which one client sleeps: it can block for any time, and can be interrupted.
package redis

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"strconv"
	"sync"
	"time"
)

// popper is a connection of one client, made when it is first needed and again after it broke. One goroutine at a time
// uses pop, any goroutine close.
type popper struct {
	options Options

	mu     sync.Mutex
	conn   net.Conn
	closed bool

	reader *bufio.Reader
}

// longAgo is a deadline that ends a read under way.
var longAgo = time.Unix(1, 0)

// pop sends a command that takes an element from a list, waiting for at most d, and reports whether there was one. If
// the server does not answer within the I/O time-out after that, pop drops the connection.
func (p *popper) pop(ctx context.Context, command []string, d time.Duration) (bool, error) {
	conn, err := p.connect(ctx)
	if err != nil {
		return false, err
	}
	conn.SetDeadline(time.Now().Add(d + p.options.IO()))
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(longAgo) })
	popped, err := p.exchange(conn, command)
	if !stop() || err != nil { // it may be in the middle of a reply
		if _, refused := asServerError(err); !refused || ctx.Err() != nil {
			p.drop(conn)
		}
	}
	return popped, err
}

// connect returns the connection, a new one if there is none.
func (p *popper) connect(ctx context.Context) (net.Conn, error) {
	p.mu.Lock()
	conn, closed := p.conn, p.closed
	p.mu.Unlock()
	if closed {
		return nil, Closed
	}
	if conn != nil {
		return conn, nil
	}
	conn, err := p.options.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if p.reader == nil {
		p.reader = bufio.NewReaderSize(conn, 512) // replies have a hundred bytes, and there are thousands of connections
	} else {
		p.reader.Reset(conn)
	}
	l := &link{conn: conn, r: p.reader}
	if err := p.options.introduce(ctx, p.options.Target, l, func(*link) error { return nil }); err != nil {
		conn.Close()
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		conn.Close()
		return nil, Closed
	}
	p.conn = conn
	return conn, nil
}

func (p *popper) exchange(conn net.Conn, command []string) (bool, error) {
	if _, err := conn.Write(encode(command)); err != nil {
		return false, p.explain(err)
	}
	line, err := p.reader.ReadSlice('\n')
	if err != nil {
		return false, p.explain(err)
	}
	line = bytes.TrimRight(line, "\r\n")
	switch string(line) {
	case "*-1", "$-1", "_":
		return false, nil
	case "*2":
		for range 2 {
			if err := p.skip(); err != nil {
				return false, p.explain(err)
			}
		}
		return true, nil
	}
	if len(line) > 0 && line[0] == '-' {
		return false, NewServerError(string(line[1:]))
	}
	return false, Unexpected("got " + strconv.Quote(string(line)) + " where a list and an element were due")
}

// skip skips a bulk string.
func (p *popper) skip() error {
	line, err := p.reader.ReadSlice('\n')
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(bytes.TrimPrefix(bytes.TrimRight(line, "\r\n"), []byte("$"))))
	if err != nil || n < 0 {
		return Unexpected("got " + strconv.Quote(string(line)) + " where a string was due")
	}
	_, err = p.reader.Discard(n + len("\r\n"))
	return err
}

// explain returns Closed after close, because the connection's own error differs.
func (p *popper) explain(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Closed
	}
	return err
}

// drop closes a broken connection.
func (p *popper) drop(conn net.Conn) {
	conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == conn {
		p.conn = nil
	}
}

func (p *popper) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.conn != nil {
		p.conn.Close()
	}
}
