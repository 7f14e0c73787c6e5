package lines

// The answering side.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"

	"github.com/lockbench/lockbench/drivers"
)

// Server answers requests, and tells events.
type Server struct {
	Clock drivers.Clock // that of at_ns
	out   batcher
	open  atomic.Int64 // requests without an answer
}

// NewServer returns a server that writes its lines to out, in the background.
func NewServer(out io.Writer) *Server {
	s := &Server{Clock: drivers.NewClock()}
	s.out.init(out)
	return s
}

// Handler handles a request, of which text is the whole line, until it returns; ctx ends with the request's timeout. It calls
// answer once, perhaps later and from another goroutine; the line is nil if the error is all that there is. The server
// reads nothing meanwhile. It ends after a request for which more is false.
type Handler func(ctx context.Context, op string, text []byte, answer func(Line, error)) (more bool)

// errLast ends the reading of requests.
var errLast = errors.New("that was the last request")

// Serve handles the requests from in, until one ends the server, or in ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, handle Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read := make(chan error, 1)
	go func() { // no other goroutine handles what it reads: that would be one more to wake for each request
		read <- readLines(in, func(text []byte) error {
			if !s.request(ctx, text, handle) {
				return errLast
			}
			return ctx.Err()
		})
	}()
	select {
	case err := <-read:
		if s.silence(); err == errLast {
			return nil
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
	s.open.Add(1)
	return handle(ctx, h.Op, text, func(l Line, err error) {
		defer cancel()
		s.open.Add(-1)
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
	if !Flat(text, []Field{{"id", &h.ID}, {"op", &h.Op}, {"timeout_ns", &h.Timeout}}, true) {
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
		s.out.run(s.open.Load() > 0)
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
