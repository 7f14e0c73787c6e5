package exec

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestConformance holds a lock to its claims through the protocol: a worker neither helps nor harms.
func TestConformance(t *testing.T) {
	d, err := drivers.Lookup("rueidis")
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"fenced", "redisson", "setnx"} {
		if testing.Short() && lock != "fenced" {
			continue
		}
		t.Run(lock, func(t *testing.T) {
			drivertest.Run(t, drivertest.Setup{
				Driver:           piped{d, "rueidis"},
				Config:           drivers.Config{Lock: lock, Addrs: []string{servertest.Redis(t, servers.RedisOptions{}).URL()}},
				MemoryPerSession: 8 << 20, // each is a process in the real thing, with a client library of its own
			})
		})
	}
}

// piped is a driver whose sessions are workers in this process, without anything but Sessions and Renewers.
type piped struct {
	drivers.Driver
	name string
}

func (p piped) Designs() []drivers.Design {
	list := p.Driver.Designs()
	for i := range list {
		list[i].Traits = plain(list[i].Traits)
	}
	return list
}

// plain leaves out what sessions in other processes cannot do.
func plain(t drivers.Traits) drivers.Traits {
	t.Wakes, t.Blocks, t.Waits = false, false, false
	return t
}

func (p piped) Service() string { return p.Driver.(drivers.Addressed).Service() }

func (p piped) ReadAddr(addr string) (drivers.Addr, error) {
	return p.Driver.(drivers.Addressed).ReadAddr(addr)
}

func (p piped) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	cfg.Wakes, cfg.Blocks = false, false
	svc, err := p.Driver.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &pipedService{Service: svc, name: p.name, cfg: cfg}, nil
}

type pipedService struct {
	drivers.Service // for its traits
	name            string
	cfg             drivers.Config

	mu       sync.Mutex
	sessions []*pipedSession
}

func (s *pipedService) Traits() drivers.Traits {
	t := plain(s.Service.Traits())
	t.MaxSessions = 16
	return t
}

func (s *pipedService) Session(ctx context.Context, _ int) (drivers.Session, error) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	go func() {
		err := Serve(context.Background(), requests, answers)
		requests.Close()
		answers.CloseWithError(err)
	}()
	c := newConn(in, nil, func(err error) error { return errors.Join(errEnded, err) })
	go func() {
		c.Read(out)
		out.Close()
	}()
	traits, err := c.open(ctx, s.name, s.cfg)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	session := &pipedSession{Session: c.client(traits), conn: c}
	c.crash = func() { _ = session.Close() }
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = append(s.sessions, session)
	return session, nil
}

func (s *pipedService) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, session := range s.sessions {
		errs = append(errs, session.Close())
	}
	s.sessions = nil
	return errors.Join(append(errs, s.Service.Close())...)
}

type pipedSession struct {
	drivers.Session
	conn *conn
	once sync.Once
	err  error
}

func (s *pipedSession) Unwrap() drivers.Session { return s.Session }

func (s *pipedSession) Close() error {
	s.once.Do(func() {
		_, err := s.conn.ask(context.Background(), &closeRequest{lines.RequestHeader{Op: "close"}})
		s.err = errors.Join(err, s.conn.Close())
		<-s.conn.Done()
	})
	return s.err
}
