package exec

// The worker.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/quorum"
)

// lingerTimeout bounds the last request of a worker whose input has ended.
const lingerTimeout = 10 * time.Second

// Main is the whole program of a worker: it serves on the standard input and output, and returns the exit code.
func Main() int {
	if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Serve answers the requests from in on out until a close, or until in ends. In the second case it leaves its locks, and
// whatever it has started, as they are: the process has to exit.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{out: out, clock: drivers.NewClock(), holds: map[int]*hold{}}
	go s.tick(ctx)

	lines, read := make(chan []byte), make(chan error, 1)
	go func() {
		read <- readLines(in, func(text []byte) error {
			select {
			case lines <- bytes.Clone(text):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		close(lines)
	}()
	closed := make(chan error, 1)
	go func() {
		for text := range lines {
			if s.answer(ctx, text); s.closed {
				break
			}
		}
		closed <- ctx.Err()
	}()

	select {
	case err := <-closed:
		if s.closed {
			s.silence()
		}
		return errors.Join(err, ifOver(read))
	case err := <-read:
		select {
		case <-closed:
		case <-time.After(lingerTimeout):
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ifOver returns the error of a read that is over.
func ifOver(read <-chan error) error {
	select {
	case err := <-read:
		return err
	default:
		return nil
	}
}

// server is a worker's side of the protocol. One goroutine answers requests; others tick, renew and write.
type server struct {
	writing sync.Mutex
	out     io.Writer // guarded by writing
	clock   drivers.Clock

	service drivers.Service
	using   sync.Mutex // the session: requests, and watchdogs
	session drivers.Session
	renewer drivers.Renewer // nil if the session cannot renew
	holds   map[int]*hold
	closed  bool
}

// ops answer the requests. The answers get the id elsewhere.
var ops = map[string]func(s *server, ctx context.Context, text []byte) (line, error){
	"open": (*server).open, "close": (*server).close,
	"try": (*server).try, "release": (*server).release, "renew": (*server).renew,
	"watch": (*server).watch, "write": (*server).write,
}

func (s *server) answer(ctx context.Context, text []byte) {
	var h header
	var answer line
	err := s.parse(text, &h)
	if err == nil {
		if h.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, h.Timeout)
			defer cancel()
		}
		answer, err = s.do(ctx, h.Op, text)
	}
	if answer.ID = h.ID; err != nil {
		answer.Error = failureOf(err)
	}
	s.send(answer)
}

// parse reads the header, whatever else there is.
func (s *server) parse(text []byte, h *header) error {
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(text, h); errors.As(err, &wrong) {
		return mistyped(wrong)
	} else if err != nil {
		return &refusal{"", "the line is no JSON: " + err.Error()}
	}
	switch {
	case h.ID < 1:
		h.ID = 0
		return &refusal{"id", "is missing, or below 1"}
	case ops[h.Op] == nil:
		return &refusal{"op", fmt.Sprintf("%q is unknown", h.Op)}
	case h.Timeout < 0:
		return &refusal{"timeout_ns", "must not be negative"}
	case s.session == nil && h.Op != "open" && h.Op != "close":
		return &refusal{"op", h.Op + " comes before open"}
	}
	return nil
}

// do answers a request. A panic of the driver is an error.
func (s *server) do(ctx context.Context, op string, text []byte) (answer line, err error) {
	defer drivers.Catch(&err)
	return ops[op](s, ctx, text)
}

// silence ends the output of a closed worker: out is the caller's again, although the ticks may go on for a moment.
func (s *server) silence() {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.out = io.Discard
}

func (s *server) send(l line) {
	s.writing.Lock()
	defer s.writing.Unlock()
	l.At = s.clock.Now()
	_ = json.NewEncoder(s.out).Encode(l) // a parent that reads no longer has died, or will say so
}

func (s *server) open(ctx context.Context, text []byte) (answer line, err error) {
	var r openRequest
	if err := decode(text, &r); err != nil {
		return answer, err
	}
	if r.Protocol != Version {
		return answer, &refusal{"protocol", fmt.Sprintf("is %d, and this worker speaks %d", r.Protocol, Version)}
	}
	if s.session != nil {
		return answer, &refusal{"op", "the worker is open already"}
	}
	d, err := quorum.Lookup(r.Driver, r.Topology)
	if err != nil {
		return answer, &refusal{"driver", err.Error()}
	}
	if _, err := drivers.FindDesign(d, r.Lock); err != nil {
		return answer, &refusal{"lock", err.Error()}
	}
	if _, err := drivers.ReadParams(d, r.Params); err != nil {
		return answer, &refusal{"params", err.Error()}
	}
	service, err := d.Open(ctx, r.config())
	if err != nil {
		return answer, err
	}
	session, err := service.Session(ctx, 0)
	if err != nil {
		return answer, errors.Join(err, service.Close())
	}
	s.service, s.session = service, session
	s.renewer, _ = drivers.As[drivers.Renewer](session)
	traits := service.Traits()
	answer.Traits = &traits
	return answer, nil
}

func (s *server) close(_ context.Context, text []byte) (answer line, err error) {
	if err := decode(text, &closeRequest{}); err != nil {
		return answer, err
	}
	s.closed = true
	for _, h := range s.holds {
		h.end()
	}
	if c, ok := s.session.(io.Closer); ok {
		err = c.Close()
	}
	if s.service != nil {
		err = errors.Join(err, s.service.Close())
	}
	return answer, err
}

// tick tells of the gaps between ticks.
func (s *server) tick(ctx context.Context) {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for last := s.clock.Now(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := s.clock.Now()
		if gap := now - last; gap >= minGap {
			s.send(line{Event: eventGap, Gap: gap})
		}
		last = now
	}
}
