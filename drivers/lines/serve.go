package lines

// The answering side.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// lingerTimeout bounds the last request once there are no more.
const lingerTimeout = 10 * time.Second

// Server answers requests, and tells events.
type Server struct {
	Clock drivers.Clock // that of at_ns
	out   batcher
}

// NewServer returns a server that writes its lines to out, in the background.
func NewServer(out io.Writer) *Server {
	s := &Server{Clock: drivers.NewClock()}
	s.out.init(out)
	return s
}

// Handler handles a request, of which text is the whole line; ctx ends with the request's timeout. It calls answer once,
// perhaps later and from another goroutine; the line is nil if the error is all that there is. The server handles no
// other request meanwhile. It ends after a request for which more is false.
type Handler func(ctx context.Context, op string, text []byte, answer func(Line, error)) (more bool)

// Serve handles the requests from in, until one ends the server, or in ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, handle Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, read := make(chan []byte, 64), make(chan error, 1)
	go func() {
		read <- readLines(in, func(text []byte) error {
			select {
			case requests <- bytes.Clone(text):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		close(requests)
	}()
	more, handled := true, make(chan error, 1)
	go func() {
		for text := range requests {
			if more = s.request(ctx, text, handle); !more {
				break
			}
		}
		handled <- ctx.Err()
	}()

	select {
	case err := <-handled:
		s.silence()
		if more { // the requests have ended
			err = errors.Join(err, <-read)
		}
		return err
	case err := <-read:
		select {
		case <-handled:
			if s.silence(); !more {
				return nil // what came after the last request does not matter
			}
		case <-time.After(lingerTimeout):
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) request(ctx context.Context, text []byte, handle Handler) (more bool) {
	var h RequestHeader
	if err := h.read(text); err != nil {
		s.Send(&LineHeader{ID: h.ID, Error: FailureOf(err)})
		return true
	}
	cancel := func() {}
	if h.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, h.Timeout)
	}
	return handle(ctx, h.Op, text, func(l Line, err error) {
		defer cancel()
		if l == nil {
			l = &LineHeader{}
		}
		if l.header().ID = h.ID; err != nil {
			l.header().Error = FailureOf(err)
		}
		s.Send(l)
	})
}

// read reads the header, whatever else there is.
func (h *RequestHeader) read(text []byte) error {
	if !Flat(text, func(name []byte, v Value) bool { return h.Set(name, v) || !inHeader(name) }) {
		*h = RequestHeader{}
		var wrong *json.UnmarshalTypeError
		if err := json.Unmarshal(text, h); errors.As(err, &wrong) {
			return mistyped(wrong)
		} else if err != nil {
			return Refuse("", "the line is no JSON: %v", err)
		}
	}
	switch {
	case h.ID < 1:
		h.ID = 0
		return Refuse("id", "is missing, or below 1")
	case h.Timeout < 0:
		return Refuse("timeout_ns", "must not be negative")
	}
	return nil
}

// Send writes a line, an event if it is not an answer, with the time; or another goroutine does, which is writing.
func (s *Server) Send(l Line) {
	if s.add(l) {
		s.out.run()
	}
}

func (s *Server) add(l Line) (first bool) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	for len(s.out.buf) > maxQueued && s.out.err == nil { // an asking side that reads no longer has died, or will say so
		s.out.idle.Wait()
	}
	h := l.header()
	h.At = max(s.Clock.Now(), 1)
	var err error
	if s.out.buf, err = encode(s.out.buf, l); err != nil { // the other side must not wait for it
		s.out.buf, _ = encode(s.out.buf, &LineHeader{ID: h.ID, Event: h.Event, At: h.At, Error: FailureOf(err)})
	}
	s.out.buf = append(s.out.buf, '\n')
	return s.out.begin()
}

// silence ends the output when all is written: out is the caller's again, although events may come for a moment.
func (s *Server) silence() {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	for s.out.writing {
		s.out.idle.Wait()
	}
	s.out.w = io.Discard
}
