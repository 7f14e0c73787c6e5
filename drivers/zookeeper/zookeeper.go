// Package zookeeper measures locks on Apache ZooKeeper, made of ephemeral nodes over github.com/go-zookeeper/zk. It
// uses that library's client but not its Lock, which leaves its node in line after an error and cannot be cancelled.
//
// Each simulated client has its own session with the service, like a process. With Config.Conns N the clients share N
// sessions: then the end of a session ends the holds of all its clients, and none of them can die alone. Config.TTL is
// the requested session time-out, 10 s by default. The server limits it to between its minSessionTimeout and
// maxSessionTimeout: usually 2 and 20 ticks, which are 4 s and 40 s. A client that has lost the connection learns of
// the end of its session only when it is connected again.
//
// A key is a node of its name below the chroot of the address. It is the lock itself, or a container of the nodes in
// line, which the server deletes when it has been empty for a while.
//
// An ensemble needs Config.Topology ensemble, even if one address leads to all of its members: they answer reads before
// they know the latest changes, and a single server does not.
package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

func init() { drivers.Register("zookeeper", driver{}) }

// Library implements drivers.Described. Each client has its own session, as in a process of its own, unless
// Config.Conns says how many sessions there are.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/go-zookeeper/zk", Multiplexes: true, Topologies: []drivers.Topology{drivers.TopologyEnsemble},
		Shares: func(conns int) bool { return conns > 0 },
	}
}

// defaultTimeout is the time-out of a session if the plan has no TTL.
const defaultTimeout = 10 * time.Second

// The first is enough for a request in a session of one client. A session that many share has to send the server all
// watches at once when it reconnects, in packets of up to 128 KB.
const ownBuffer, sharedBuffer = 8 << 10, 160 << 10

// spare is the number of connections that a service has besides those of its sessions: controlConn, and a temporary
// one.
const spare = 2

type driver struct{}

// design is one way to lock. Its session embeds the common one.
type design struct {
	drivers.Design
	session func(session) client
	clean   func(ctx context.Context, k *caller, node string) error
}

var designs = []design{sequential, herd}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design {
	list := make([]drivers.Design, len(designs))
	for i, d := range designs {
		list[i] = d.Design
	}
	return list
}

// Service implements drivers.Addressed.
func (driver) Service() string { return "zookeeper" }

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, opOpen.fail(err)
	}
	return s, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (*service, error) {
	chosen, _, err := drivers.Chosen(d, cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Release != drivers.ReleaseDefault {
		return nil, fmt.Errorf("lock %s releases in one way only: drop -release %s", chosen.Name, cfg.Release)
	}
	cfg.TTL = cmp.Or(cfg.TTL, defaultTimeout)
	to, chroot, err := endpointOf(cfg)
	if err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, to: to, chroot: chroot}
	s.absentNode = s.node(drivers.Absent(cfg.Prefix))
	s.design = designs[slices.IndexFunc(designs, func(d design) bool { return d.Name == chosen.Name })]
	if err := s.reach(ctx); err != nil {
		return nil, err
	}
	to.buffer = sharedBuffer
	if s.controlConn, err = s.connect(ctx, new(tally)); err != nil {
		if none := new(unconnected); errors.As(err, &none) && none.reason == nil {
			none.reason = errSilence
		}
		hint := ""
		if len(to.servers) > 1 {
			hint = "; has the ensemble a majority of its members?"
		}
		return nil, fmt.Errorf("%s: %w%s", strings.Join(to.servers, ", "), err, hint)
	}
	if err := s.probe(ctx); err != nil {
		s.controlConn.close()
		return nil, err
	}
	sessions := *to
	if s.to = &sessions; cfg.Conns <= 0 {
		sessions.buffer = ownBuffer
	} else {
		s.shared = make([]*conn, min(cfg.Conns, max(cfg.Clients, 1)))
	}
	sessions.refused = s.refused
	s.limitName, s.limit = s.connections(ctx)
	return s, nil
}

// reach fails at once if no server accepts a connection; a session would retry for a while.
func (s *service) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.to.io)
	defer cancel()
	var reason error
	for _, address := range s.to.servers {
		conn, err := s.to.dial(ctx, address)
		if err == nil {
			return conn.Close()
		}
		reason = err // it names the address
	}
	hint := ": is the server running there?"
	switch text := reason.Error(); {
	case drivers.CertificateHint(reason) != "":
		hint = "" // it has one
	case strings.Contains(text, "EOF"), strings.Contains(text, "tls:"):
		hint = ": does that port speak TLS? ZooKeeper has one of its own for it (secureClientPort)"
	}
	return &drivers.Error{
		Class: drivers.ClassConnect, Op: "zookeeper: open", Err: fmt.Errorf("%w%s", reason, hint),
	}
}

// probe checks that locks can be made at the chroot, and leaves nothing there.
func (s *service) probe(ctx context.Context) error {
	root := s.root()
	k := s.control()
	found, err := k.exists(ctx, root)
	if err == nil && !found {
		return fmt.Errorf("there is no node %s, the chroot of the address: create it, or drop it from the address", root)
	}
	if err != nil {
		return err
	}
	var unique drivers.Owners
	node := s.node(s.cfg.Prefix + unique.Next())
	_, err = k.multi(ctx, &zk.CreateRequest{Path: node, Acl: s.to.acl, Flags: zk.FlagEphemeral},
		&zk.DeleteRequest{Path: node, Version: -1})
	if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrInvalidACL) {
		return fmt.Errorf("this user may not create and delete nodes below %s: give the user and password of one who may "+
			"(zookeeper://user:password@…), or another chroot: %w", root, err)
	}
	return err
}

// service is an open connection to the service, and those of its sessions.
type service struct {
	cfg         drivers.Config
	design      design
	to          *endpoint
	chroot      string
	controlConn *conn  // for everything but locking
	absentNode  string // the node that Probe looks for; it does not exist
	limitName   string // the setting that is limit
	limit       int    // connections that the server accepts from here; 0: unknown or unlimited

	tally tally // of the sessions

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{} // of sessions
	shared []*conn            // session id uses number id % len; entries are nil until needed
	dying  sync.WaitGroup     // connections of crashed sessions
}

// ensemble reports whether there are several servers, which may be behind one address.
func (s *service) ensemble() bool { return s.cfg.Topology == drivers.TopologyEnsemble }

// connect opens a session with the service and waits for it.
func (s *service) connect(ctx context.Context, t *tally) (*conn, error) {
	c, err := open(s.to, t)
	if err != nil {
		return nil, err
	}
	k := &caller{c: c}
	if s.to.auth == "" {
		_, err = ask(ctx, k, 0, func(*zk.Conn) (bool, error) { return true, nil })
	} else {
		_, err = ask(ctx, k, 0, func(z *zk.Conn) (bool, error) { return true, z.AddAuth("digest", []byte(s.to.auth)) })
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// Session implements drivers.Service.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	c, err := s.connOf(ctx, id)
	if err != nil {
		return nil, opSession.fail(err)
	}
	one := s.design.session(session{
		svc: s, caller: caller{c: c}, own: s.shared == nil, holds: map[string]hold{},
	})
	if s.shared != nil {
		return sharer{one}, nil
	}
	return one, nil
}

// refused returns an error if the server takes no more connections: it still serves an earlier one, and ends new ones
// without an answer to a question that needs no session.
func (s *service) refused(ctx context.Context) error {
	if len(s.to.servers) > 1 || s.Ping(ctx) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.to.io)
	defer cancel()
	conn, failed := s.to.dial(ctx, s.to.servers[0])
	if failed == nil {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		_, _ = io.WriteString(conn, "srvr")
		_, failed = conn.Read(make([]byte, 1))
	}
	if failed == nil || ctx.Err() != nil || errors.Is(failed, syscall.ECONNREFUSED) {
		return nil
	}
	return &drivers.Error{Class: drivers.ClassLimit, Op: "zookeeper: session", Err: errors.New("the server takes no more " +
		"connections: raise its maxClientCnxns (of each client's address, by default 60) or maxCnxns, or lower -clients or -conns")}
}

// client is what the sessions of both designs can do.
type client interface {
	drivers.Session
	drivers.Waiter
	drivers.Adopter
	io.Closer
}

// sharer is a client that shares its session with the service, so it cannot die alone and is not a drivers.Crasher.
type sharer struct{ client }

// connOf returns the connection of a session.
func (s *service) connOf(ctx context.Context, id int) (*conn, error) {
	if s.shared != nil {
		// The mutex is held while it connects: clients that share a session wait for it anyway.
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return nil, errClosed
		}
		c := &s.shared[id%len(s.shared)]
		if *c != nil {
			return *c, nil
		}
		made, err := s.connect(ctx, &s.tally)
		if err != nil {
			return nil, err
		}
		*c = made
		s.keep(made)
		return made, nil
	}
	c, err := s.connect(ctx, &s.tally)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if !s.closed {
		s.keep(c)
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	c.close()
	return nil, errClosed
}

func (s *service) keep(c *conn) {
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
}

// drop closes the connection of a session that has ended.
func (s *service) drop(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.close()
}

// crash breaks the connection of a session, which lasts on the server until its time-out.
func (s *service) crash(c *conn) {
	c.crash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.conns[c]; open { // otherwise Close does it
		delete(s.conns, c)
		s.dying.Go(c.close)
	}
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits {
	t := s.design.Traits
	if s.shared == nil && s.limit > 0 {
		t.MaxSessions = max(1, s.limit-spare)
	}
	return t
}

// Close implements drivers.Service. The end of the sessions frees what they hold.
func (s *service) Close() error {
	s.mu.Lock()
	conns := s.conns
	s.conns, s.closed = nil, true
	s.mu.Unlock()
	var all sync.WaitGroup
	for c := range conns {
		all.Go(c.close)
	}
	all.Wait()
	s.dying.Wait()
	s.controlConn.close()
	return nil
}

// Traffic implements drivers.Counter.
func (s *service) Traffic() drivers.Traffic {
	sent := s.tally.sent.Sent()
	return drivers.Traffic{
		RoundTrips: sent.Requests, Notices: s.tally.notices.Load(), KeepAlives: sent.Writes - sent.Requests,
	}
}
