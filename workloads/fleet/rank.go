package fleet

import (
	"bytes"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// Opener opens the share of a trial that a rank makes. Close ends its service.
type Opener func(ctx context.Context, t Trial) (run *workloads.Run, close func(), err error)

// follower is a rank other than 0, on its own side.
type follower struct {
	hello
	token, binding string
	open           Opener
	server         *lines.Server
	heard          atomic.Int64          // when the last request came, by the server's clock
	trial          atomic.Pointer[share] // the one under way; nil between two
	ctx            context.Context       // of all that it does
	known          bool                  // rank 0 has proved that it knows the token
	bye            bool
	refused        error
}

// share is a trial under way. It implements workloads.Fleet.
type share struct {
	f       *follower
	ctx     context.Context
	stop    context.CancelCauseFunc
	ready   func(error)        // answers the request that began it; once
	start   chan time.Duration // by the server's clock; once, which is for the handler to see:
	started bool
	view    atomic.Pointer[workloads.View]
	done    chan struct{} // closed when there is the rest:
	failed  error

	mu    sync.Mutex
	text  []byte                // the part, as JSON
	ahead []byte                // the next piece of the logs
	next  func() ([]byte, bool) // of the logs, after it; nil if there are none
	close func()
}

// Follow answers the requests of rank 0 on conn until it lets this rank go; the error says why it did not. When ctx is done, the
// rank stops its load, for which rank 0 has a moment to come.
func Follow(ctx context.Context, conn io.ReadWriteCloser, binding string, rank int, id Identity, token string, open Opener) error {
	f := &follower{token: token, binding: binding, open: open, server: lines.NewServer(conn)}
	f.hello = greeting(rank, id, f.server.Clock)
	var stop context.CancelCauseFunc
	f.ctx, stop = context.WithCancelCause(ctx)
	serving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	leave := func(why error) {
		cancel(why)
		_ = conn.Close()
	}
	defer context.AfterFunc(ctx, func() {
		select {
		case <-serving.Done():
		case <-time.After(silence):
			leave(context.Cause(ctx))
		}
	})()
	go f.listen(serving, leave)
	err := f.server.Serve(serving, conn, f.handle)
	_ = conn.Close()
	stop(errors.New("rank 0 is gone"))
	if s := f.trial.Load(); s != nil { // locks are given back in any case
		s.end()
	}
	switch {
	case context.Cause(serving) != nil: // perhaps a request is still being handled
		return context.Cause(serving)
	case f.bye:
		return nil
	case f.refused != nil:
		return f.refused
	case err == nil:
		err = errors.New("rank 0 has ended")
	}
	return err
}

// listen gives up when nothing has been heard for the silence.
func (f *follower) listen(ctx context.Context, leave func(error)) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if f.server.Clock.Now()-time.Duration(f.heard.Load()) > silence {
				leave(fmt.Errorf("rank 0 has said nothing for %v", silence))
				return
			}
		}
	}
}

func (f *follower) handle(ctx context.Context, op string, text []byte, reply func(lines.Line, error)) (more bool) {
	f.heard.Store(int64(f.server.Clock.Now()))
	say := func(a *answer, err error) {
		if err != nil {
			reply(nil, err)
		} else {
			reply(a, nil)
		}
	}
	if !f.known && op != "hello" && op != "refuse" {
		f.refused = errors.New("who listens at the rendezvous has not said that it knows the token")
		say(nil, f.refused)
		return false
	}
	switch op {
	case "hello":
		r, err := lines.Decode[helloRequest](text)
		h := f.hello
		h.Proof = proof(f.token, f.binding, h.Rank)
		if err == nil && !hmac.Equal([]byte(r.Proof), []byte(proof(f.token, f.binding, 0))) {
			err = fmt.Errorf("the tokens of rank 0 and rank %d differ: give both the same %s, or -fleet-token-file", h.Rank, TokenVariable)
			f.refused = err
		}
		f.known = err == nil
		say(&answer{Hello: &h}, err)
		return err == nil
	case "refuse":
		r, err := lines.Decode[stopRequest](text)
		f.refused = errors.New("rank 0 refuses: " + r.Why)
		say(&answer{}, err)
		return false
	case "ping":
		say(&answer{Snapshot: f.trial.Load().snapshot()}, nil)
		return true
	case "trial":
		r, err := lines.Decode[trialRequest](text)
		if err == nil && f.trial.Load() != nil {
			err = lines.Refuse("op", "the trial before has not ended")
		}
		if err != nil {
			say(nil, err)
			return true
		}
		f.begin(r.Trial, func(err error) { say(&answer{}, err) })
		return true
	case "bye":
		f.bye = true
		say(&answer{}, nil)
		return false
	}
	s := f.trial.Load()
	if s == nil {
		say(nil, lines.Refuse("op", "%q: there is no trial", op))
		return true
	}
	switch op {
	case "start":
		r, err := lines.Decode[startRequest](text)
		if err == nil {
			if s.started {
				err = lines.Refuse("op", "it has started")
			} else {
				s.started = true
				s.start <- r.At
			}
		}
		say(&answer{}, err)
	case "stop":
		s.stop(errors.New("rank 0 has stopped it"))
		say(&answer{}, nil)
	case "part", "holds":
		go func() { say(s.piece(op)) }()
	case "end":
		go func() {
			s.end()
			f.trial.Store(nil)
			say(&answer{}, nil)
		}()
	default:
		say(nil, lines.Refuse("op", "%q is unknown", op))
	}
	return true
}

// begin opens a trial and makes its load. It calls ready when all clients are, or with the error that they are not.
func (f *follower) begin(t Trial, ready func(error)) {
	var once sync.Once
	s := &share{
		f: f, ready: func(err error) { once.Do(func() { ready(err) }) }, start: make(chan time.Duration, 1), done: make(chan struct{}), close: func() {},
	}
	s.ctx, s.stop = context.WithCancelCause(f.ctx)
	f.trial.Store(s)
	go func() {
		defer close(s.done)
		if s.failed = s.run(t); s.failed != nil {
			s.ready(s.failed)
		}
	}()
}

func (s *share) run(t Trial) (err error) {
	defer drivers.Catch(&err)
	run, closeService, err := s.f.open(s.ctx, t)
	if err != nil {
		return err
	}
	s.close = closeService
	run.Fleet = s
	run.Watch = func(v workloads.View) { s.view.Store(&v) }
	part, logs, err := run.Contribute(s.ctx)
	if err != nil {
		return err
	}
	if s.text, err = json.Marshal(part); err != nil {
		return err
	}
	if logs != nil {
		next, stop := iter.Pull(logs.Encode())
		s.ahead, _ = next()
		s.next, s.close = next, func() {
			stop()
			closeService()
		}
	}
	return nil
}

// piece returns the next one of the part, or of the holds, once they are there.
func (s *share) piece(of string) (*answer, error) {
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return nil, s.failed
	case of == "part":
		n := min(chunk, len(s.text))
		a := &answer{Chunk: s.text[:n], More: n < len(s.text)}
		s.text = s.text[n:]
		return a, nil
	case s.next == nil:
		return nil, lines.Refuse("op", "%q: there are none without an oracle", of)
	}
	a := &answer{Chunk: bytes.Clone(s.ahead)}
	s.ahead, a.More = s.next()
	return a, nil
}

// end stops the load, and closes the service when it is over.
func (s *share) end() {
	s.stop(nil)
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close()
	s.close = func() {}
}

func (s *share) snapshot() *workloads.Snapshot {
	if s == nil {
		return nil
	}
	v := s.view.Load()
	if v == nil {
		return nil
	}
	now := v.Snapshot()
	return &now
}

// Meet implements workloads.Fleet.
func (s *share) Meet(ctx context.Context) (start time.Time, err error) {
	s.ready(nil)
	select {
	case at := <-s.start:
		return s.f.server.Clock.Time(at), nil
	case <-ctx.Done():
		select {
		case at := <-s.start: // before it was stopped
			return s.f.server.Clock.Time(at), nil
		default:
			return start, context.Cause(ctx)
		}
	}
}

// Others implements workloads.Fleet: nothing is known of them.
func (s *share) Others() workloads.Snapshot { return workloads.Snapshot{} }

// Stop implements workloads.Fleet: rank 0 will hear that this one has stopped.
func (s *share) Stop(string) {}

// Gather implements workloads.Fleet, and is for rank 0 alone.
func (s *share) Gather(*workloads.Part, *oracle.Logs) ([]*workloads.Part, []oracle.Ranked) {
	return nil, nil
}
