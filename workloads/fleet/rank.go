package fleet

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/workloads"
)

// Opener opens the share of a trial that a rank makes. Close ends its service.
type Opener func(ctx context.Context, t Trial) (run *workloads.Run, close func(), err error)

// follower is a rank other than 0, on its own side.
type follower struct {
	hello
	token, binding string
	open           Opener
	server         *lines.Server
	silent         *time.Timer           // fires when nothing has been heard for the silence
	trial          atomic.Pointer[share] // the one under way; nil between two
	ctx            context.Context       // of all that it does
	from           guarded
	bye            bool
	refused        error
}

// share is a trial under way.
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
	figures *io.PipeReader // the part as JSON, and the log of the holds
	close   func()
}

// Follow answers the requests of rank 0 on conn until it lets this rank go; the error says why it did not. When ctx is done, the
// rank stops its load, for which rank 0 has a moment to come.
func Follow(ctx context.Context, conn io.ReadWriteCloser, binding string, rank int, id Identity, token string, open Opener) error {
	f := &follower{token: token, binding: binding, open: open, server: lines.NewServer(conn), from: guarded{Reader: conn}}
	f.hello = greeting(rank, id, f.server.Clock)
	var stop context.CancelCauseFunc
	f.ctx, stop = context.WithCancelCause(ctx)
	serving, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	leave := func(why error) {
		cancel(why)
		_ = conn.Close()
	}
	f.silent = time.AfterFunc(silence, func() { leave(fmt.Errorf("rank 0 has said nothing for %v", silence)) })
	defer f.silent.Stop()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-serving.Done():
		case <-time.After(silence):
			leave(context.Cause(ctx))
		}
	})()
	err := f.server.Serve(serving, &f.from, f.handle)
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

func (f *follower) handle(_ context.Context, op string, text []byte, reply func(lines.Line, error)) (more bool) {
	f.silent.Reset(silence)
	say := func(a *answer, err error) {
		if err != nil {
			reply(nil, err)
		} else {
			reply(a, nil)
		}
	}
	q, err := lines.Decode[request](text)
	if err != nil {
		say(nil, err)
		return true
	}
	if !f.from.known.Load() {
		return f.meetLeader(op, q.Proof, say)
	}
	switch op {
	case "refuse":
		f.refused = errors.New("rank 0 " + q.Why)
		say(&answer{}, nil)
		return false
	case "ping":
		say(&answer{Snapshot: f.trial.Load().snapshot()}, nil)
		return true
	case "trial":
		switch {
		case q.Trial == nil:
			say(nil, lines.Refuse("trial", "is missing"))
		case f.trial.Load() != nil:
			say(nil, lines.Refuse("op", "the trial before has not ended"))
		default:
			f.begin(*q.Trial, func(err error) { say(&answer{}, err) })
		}
		return true
	case "bye":
		f.bye = true
		say(&answer{}, nil)
		return false
	}
	s := f.trial.Load()
	if s == nil && op == "end" { // of a trial that was given up before this rank was asked for it
		say(&answer{}, nil)
		return true
	}
	if s == nil {
		say(nil, lines.Refuse("op", "%q: there is no trial", op))
		return true
	}
	switch op {
	case "start":
		if s.started {
			err = lines.Refuse("op", "it has started")
		} else {
			s.started = true
			s.start <- q.At
		}
		say(&answer{}, err)
	case "stop":
		s.stop(errors.New("rank 0 has stopped it"))
		say(&answer{}, nil)
	case "part":
		go func() { say(s.piece()) }()
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

// meetLeader handles a request of who listens at the rendezvous and has not proved yet that it is rank 0.
func (f *follower) meetLeader(op, proven string, say func(*answer, error)) (more bool) {
	switch {
	case op == "hello":
		say(&answer{Rank: f.Rank, Proof: proof(f.token, f.binding, f.Rank)}, nil)
		return true
	case op == "welcome" && hmac.Equal([]byte(proven), []byte(proof(f.token, f.binding, 0))):
		f.from.known.Store(true)
		say(&answer{Hello: &f.hello}, nil)
		return true
	case op == "refuse" || op == "welcome":
		f.refused = fmt.Errorf("the tokens of rank 0 and rank %d differ: give both the same %s", f.Rank, TokenVariable)
	default:
		f.refused = errors.New("who listens at the rendezvous has not proved that it knows the token")
	}
	say(nil, f.refused)
	return false
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
	s.close = sync.OnceFunc(closeService)
	run.Watch = func(v workloads.View) { s.view.Store(&v) }
	part, logs, err := run.Contribute(s.ctx, s.meet)
	if err != nil {
		return err
	}
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	figures, w := io.Pipe()
	s.figures = figures
	go func() {
		_, err := w.Write(text)
		if err == nil && logs != nil {
			err = logs.Encode(w)
		}
		_ = w.CloseWithError(err)
	}()
	return nil
}

// piece returns the next piece of the figures, once they are there.
func (s *share) piece() (*answer, error) {
	<-s.done
	if s.failed != nil {
		return nil, s.failed
	}
	b := make([]byte, chunk)
	n, err := io.ReadFull(s.figures, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &answer{Chunk: b[:n]}, nil
	}
	return &answer{Chunk: b[:n], More: true}, err
}

// end stops the load, and closes the service when it is over.
func (s *share) end() {
	s.stop(nil)
	<-s.done
	if s.figures != nil {
		_ = s.figures.Close()
	}
	s.close()
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

// meet says that all clients are ready, and returns when rank 0 wants them to begin.
func (s *share) meet(ctx context.Context) (start time.Time, err error) {
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
