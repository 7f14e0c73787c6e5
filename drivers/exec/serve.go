package exec

// The worker.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/quorum"
)

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
	s := &server{Server: lines.NewServer(out), holds: map[int]*hold{}}
	go s.tick(ctx)
	return s.Server.Serve(ctx, in, s.handle)
}

// server is a worker's side of the protocol. One goroutine answers requests; others tick, renew and write.
type server struct {
	*lines.Server

	service drivers.Service
	using   sync.Mutex // the session: requests, and watchdogs
	session drivers.Session
	renewer drivers.Renewer // nil if the session cannot renew
	holds   map[int]*hold
	closed  bool
}

// ops answer the requests.
var ops = map[string]func(s *server, ctx context.Context, text []byte) (line, error){
	"open": (*server).open, "close": (*server).close,
	"try": (*server).try, "release": (*server).release, "renew": (*server).renew,
	"watch": (*server).watch, "write": (*server).write,
}

// handle is a lines.Handler.
func (s *server) handle(ctx context.Context, op string, text []byte, answer func(lines.Line, error)) (more bool) {
	l, err := s.do(ctx, op, text)
	answer(&l, err)
	return !s.closed
}

// do answers a request. A panic of the driver is an error.
func (s *server) do(ctx context.Context, op string, text []byte) (answer line, err error) {
	defer drivers.Catch(&err)
	switch {
	case ops[op] == nil:
		return answer, lines.Refuse("op", "%q is unknown", op)
	case s.session == nil && op != "open" && op != "close":
		return answer, lines.Refuse("op", "%s comes before open", op)
	}
	return ops[op](s, ctx, text)
}

func (s *server) open(ctx context.Context, text []byte) (answer line, err error) {
	r, err := lines.Decode[openRequest](text)
	if err != nil {
		return answer, err
	}
	if r.Protocol != Version {
		return answer, lines.Refuse("protocol", "is %d, and this worker speaks %d", r.Protocol, Version)
	}
	if s.session != nil {
		return answer, lines.Refuse("op", "the worker is open already")
	}
	d, err := quorum.Lookup(r.Driver, r.Topology)
	if err != nil {
		return answer, lines.Refuse("driver", "%v", err)
	}
	if _, err := drivers.FindDesign(d, r.Lock); err != nil {
		return answer, lines.Refuse("lock", "%v", err)
	}
	if _, err := drivers.ReadParams(d, r.Params); err != nil {
		return answer, lines.Refuse("params", "%v", err)
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
	if _, err := lines.Decode[closeRequest](text); err != nil {
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
	for last := s.Clock.Now(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		now := s.Clock.Now()
		if gap := now - last; gap >= minGap {
			s.Send(&line{LineHeader: lines.LineHeader{Event: eventGap}, Gap: gap})
		}
		last = now
	}
}
