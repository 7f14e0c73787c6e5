package exec

// The answering side, of a worker and of a driver that is an adapter.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/quorum"
	"github.com/lockbench/lockbench/drivers/spawn"
)

// Main is the whole program of a worker, or of an adapter for a driver: it serves on the standard input and output, and
// returns the exit code.
func Main(driver ...string) int {
	if err := Process(context.Background(), os.Stdin, os.Stdout, strings.Join(driver, " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Process is Serve for a process that does nothing else: an adapter that the driver starts is stopped and killed with it.
func Process(ctx context.Context, in io.Reader, out io.Writer, driver string) error {
	spawn.Join()
	return Serve(ctx, in, out, driver)
}

// Serve answers the requests from in on out until a close, or until in ends. In the second case it leaves its locks, and
// whatever it has started, as they are: the process has to exit. With the name of a driver it is an adapter for that one;
// otherwise open names it.
func Serve(ctx context.Context, in io.Reader, out io.Writer, driver string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{Server: lines.NewServer(out), driver: driver, clients: map[int]*client{}}
	if driver == "" {
		go s.tick(ctx)
	}
	return s.Server.Serve(ctx, in, s.handle)
}

// server is the answering side of the protocol. One goroutine takes requests, and each client has one that answers them.
type server struct {
	*lines.Server
	driver  string
	service drivers.Service
	limit   int             // of the numbers that the service gives its sessions
	spare   drivers.Session // opened with the service, and not a client yet
	clients map[int]*client
}

// client is a session, which one goroutine uses at a time.
type client struct {
	s     *server
	jobs  chan func()   // requests, in their order
	ended chan struct{} // there are no more

	using   sync.Mutex // the session: requests, and watchdogs
	session drivers.Session
	renewer drivers.Renewer // nil if the session cannot renew
	holds   map[int]*hold

	mu     sync.Mutex
	cancel context.CancelFunc // of the last wait
}

// ops are what clients do.
var ops = map[string]func(c *client, ctx context.Context, r *request) (line, error){
	"try": (*client).try, "release": (*client).release, "renew": (*client).renew, "wait": (*client).wait, "cancel": (*client).leave,
	"watch": (*client).watch, "write": (*client).write, "crash": (*client).crash,
}

// handle is a lines.Handler.
func (s *server) handle(ctx context.Context, op string, text []byte, answer func(lines.Line, error)) (more bool) {
	reply := func(l line, err error) { answer(&l, err) }
	if op == "hello" || op == "open" {
		reply(s.begin(ctx, op, text))
		return true
	}
	r, err := decodeRequest(text)
	if err == nil && op == "close" && r.Session == 0 {
		reply(line{}, s.close())
		return false
	}
	c := s.clients[r.Session]
	switch {
	case err != nil:
	case op != "session" && op != "close" && ops[op] == nil:
		err = lines.Refuse("op", "%q is unknown", op)
	case s.service == nil:
		err = lines.Refuse("op", "%s comes before open", op)
	case op == "session" && r.Session < 1:
		err = lines.Refuse("session", "is missing, or below 1")
	case op == "session" && c != nil:
		err = lines.Refuse("session", "%d is open already", r.Session)
	case op != "session" && c == nil:
		err = lines.Refuse("session", "%d is not open", r.Session)
	}
	if err != nil {
		reply(line{}, err)
		return true
	}
	switch op {
	case "session":
		c = &client{s: s, jobs: make(chan func(), 16), ended: make(chan struct{}), holds: map[int]*hold{}}
		c.session, s.spare = s.spare, nil
		s.clients[r.Session] = c
		go c.work()
		c.jobs <- func() { reply(line{}, c.open(ctx, (r.Session-1)%s.limit)) }
	case "close":
		delete(s.clients, r.Session)
		c.jobs <- func() { reply(line{}, c.close()) }
		close(c.jobs)
	case "wait":
		ctx = c.cancellable(ctx)
		c.jobs <- func() { reply(c.do(ctx, op, r)) }
	default:
		if op == "cancel" {
			c.interrupt()
		}
		c.jobs <- func() { reply(c.do(ctx, op, r)) }
	}
	return true
}

func (c *client) work() {
	defer close(c.ended)
	for job := range c.jobs {
		job()
	}
}

// do answers a request. A panic of the driver is an error.
func (c *client) do(ctx context.Context, op string, r *request) (answer line, err error) {
	defer drivers.Catch(&err)
	if c.session == nil {
		return answer, lines.Refuse("session", "%d could not be opened", r.Session)
	}
	return ops[op](c, ctx, r)
}

// begin answers what comes before there are sessions.
func (s *server) begin(ctx context.Context, op string, text []byte) (answer line, err error) {
	defer drivers.Catch(&err)
	if op == "hello" {
		return s.hello(text)
	}
	return s.open(ctx, text)
}

func (s *server) hello(text []byte) (answer line, err error) {
	r, err := lines.Decode[helloRequest](text)
	switch {
	case err != nil:
		return answer, err
	case !slices.Contains(r.Versions, Version):
		return answer, lines.Refuse("versions", "are %v, and this is version %d", r.Versions, Version)
	}
	answer.Hello = &hello{Version: Version}
	if s.driver == "" {
		return answer, nil
	}
	d, err := drivers.Lookup(s.driver)
	if err != nil {
		return answer, err
	}
	lib := drivers.LibraryOf(d)
	answer.Hello.Library.Name, answer.Hello.Topologies = cmp.Or(lib.Module, s.driver), lib.Topologies
	if a, ok := d.(drivers.Addressed); ok {
		answer.Hello.Service = a.Service()
	}
	for _, own := range d.Designs() {
		can := claims{Traits: through(own.Traits), Crashes: inside(d)}
		answer.Hello.Designs = append(answer.Hello.Designs, design{own.Name, can, own.Models, own.Wrong, own.Loses})
	}
	for _, own := range drivers.ParamsOf(d) {
		answer.Hello.Params = append(answer.Hello.Params, param{own.Name, own.Default, own.Text})
	}
	return answer, nil
}

// inside reports whether the locks are in this process, and would die with it: then a session crashes by being dropped.
func inside(d drivers.Driver) bool {
	_, remote := d.(drivers.Addressed)
	return !remote
}

// through leaves out what sessions in other processes cannot do.
func through(t drivers.Traits) drivers.Traits {
	t.Wakes, t.Blocks = false, false
	return t
}

func (s *server) open(ctx context.Context, text []byte) (answer line, err error) {
	r, err := lines.Decode[openRequest](text)
	if err != nil {
		return answer, err
	}
	if s.service != nil {
		return answer, lines.Refuse("op", "it is open already")
	}
	name := cmp.Or(s.driver, r.Driver)
	_, err = drivers.Start(name) // which its parent has started as well
	d, unknown := quorum.Lookup(name, r.Topology)
	if err = cmp.Or(err, unknown); err != nil {
		return answer, lines.Refuse("driver", "%v", err)
	}
	if _, err := drivers.FindDesign(d, r.Lock); err != nil {
		return answer, lines.Refuse("lock", "%v", err)
	}
	if _, err := drivers.ReadParams(d, r.Params); err != nil {
		return answer, lines.Refuse("params", "%v", err)
	}
	cfg := r.config()
	cfg.Wakes, cfg.Blocks = false, false
	service, err := d.Open(ctx, cfg)
	if err != nil {
		return answer, err
	}
	session, err := service.Session(ctx, 0)
	if err != nil {
		return answer, errors.Join(err, service.Close())
	}
	s.service, s.spare, s.limit = service, session, cfg.Clients
	can := claims{Traits: through(service.Traits())}
	_, can.TakesOwner = drivers.As[drivers.Adopter](session)
	_, can.Crashes = drivers.As[drivers.Crasher](session)
	can.Crashes = can.Crashes || inside(d)
	can.TakesOwner = can.TakesOwner && can.Owned && !can.Reentrant
	answer.Traits = &can
	return answer, nil
}

func (c *client) open(ctx context.Context, id int) (err error) {
	defer drivers.Catch(&err)
	if c.session == nil {
		if c.session, err = c.s.service.Session(ctx, id); err != nil {
			return err
		}
	}
	c.renewer, _ = drivers.As[drivers.Renewer](c.session)
	return nil
}

func (c *client) close() (err error) {
	defer drivers.Catch(&err)
	for _, h := range c.holds {
		h.end()
	}
	if closer, ok := drivers.As[io.Closer](c.session); ok {
		err = closer.Close()
	}
	return err
}

func (c *client) crash(context.Context, *request) (answer line, err error) {
	for _, h := range c.holds {
		h.end()
	}
	if crasher, ok := drivers.As[drivers.Crasher](c.session); ok {
		crasher.Crash()
	}
	c.session = nil
	return answer, nil
}

func (s *server) close() (err error) {
	defer drivers.Catch(&err)
	for _, c := range s.clients {
		c.interrupt()
		close(c.jobs)
		<-c.ended
		err = errors.Join(err, c.close())
	}
	if c, ok := s.spare.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	if s.service != nil {
		err = errors.Join(err, s.service.Close())
	}
	return err
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
			s.Send(&line{LineHeader: lines.LineHeader{Event: string(Paused)}, Gap: gap})
		}
		last = now
	}
}
