package lines

// The answering side.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// lingerTimeout bounds the last request once there are no more.
const lingerTimeout = 10 * time.Second

// Server answers requests, and tells events.
type Server struct {
	Clock drivers.Clock // that of at_ns

	writing sync.Mutex
	out     io.Writer // guarded by writing
}

// NewServer returns a server that writes its lines to out.
func NewServer(out io.Writer) *Server { return &Server{Clock: drivers.NewClock(), out: out} }

// Handler handles a request, of which text is the whole line; ctx ends with the request's timeout. It calls answer once,
// perhaps later and from another goroutine; the line is nil if the error is all that there is. The server handles no
// other request meanwhile. It ends after a request for which more is false.
type Handler func(ctx context.Context, op string, text []byte, answer func(Line, error)) (more bool)

// Serve handles the requests from in, until one ends the server, or in ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, handle Handler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	requests, read := make(chan []byte), make(chan error, 1)
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
		if !more {
			s.silence()
		}
		select {
		case failed := <-read:
			err = errors.Join(err, failed)
		default:
		}
		return err
	case err := <-read:
		select {
		case <-handled:
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
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(text, h); errors.As(err, &wrong) {
		return mistyped(wrong)
	} else if err != nil {
		return Refuse("", "the line is no JSON: %v", err)
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

// Send writes a line, an event if it is not an answer, with the time.
func (s *Server) Send(l Line) {
	s.writing.Lock()
	defer s.writing.Unlock()
	h := l.header()
	h.At = s.Clock.Now()
	text, err := json.Marshal(l)
	if err != nil { // the other side must not wait for it
		text, _ = json.Marshal(&LineHeader{ID: h.ID, Event: h.Event, At: h.At, Error: FailureOf(err)})
	}
	_, _ = s.out.Write(append(text, '\n')) // an asking side that reads no longer has died, or will say so
}

// silence ends the output: out is the caller's again, although events may come for a moment.
func (s *Server) silence() {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.out = io.Discard
}
