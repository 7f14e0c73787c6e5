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
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

func init() { drivers.Register("zookeeper", driver{}) }

type driver struct{}

// Service implements drivers.Addressed.
func (driver) Service() string { return "zookeeper" }

// Library implements drivers.Described. Each client has its own session, as in a process of its own, unless
// Config.Conns says how many sessions there are.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/go-zookeeper/zk", Multiplexes: true, Topologies: []drivers.Topology{drivers.TopologyEnsemble},
		Shares: func(conns int) bool { return conns > 0 },
	}
}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design { return []drivers.Design{sequential, herd} }

const (
	defaultTimeout = 10 * time.Second // of a session if the plan has no TTL

	// spare is the number of connections that a service has besides those of its sessions: control, and a temporary one.
	spare = 2
)

// service is an open connection to the service, and those of its sessions.
type service struct {
	cfg       drivers.Config
	design    drivers.Design
	to        *endpoint
	control   *membership   // for everything but locking
	shared    []*membership // session id uses number id % len; nil: each has its own
	limitName string        // the setting that is limit
	limit     int           // connections that the server accepts from here; 0: unknown or unlimited

	granted atomic.Int64    // a time.Duration: how long a session lives of which the server does not hear; 0: unknown
	sent    traffic.Counter // of the sessions; its requests are all writes but pings
	notices atomic.Int64

	over    context.Context // the end of all sessions
	end     context.CancelFunc
	running sync.WaitGroup // sessions, until the library's goroutines have ended
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	chosen, _, err := drivers.Chosen(d, cfg)
	if err == nil && cfg.Release != drivers.ReleaseDefault {
		err = fmt.Errorf("lock %s releases in one way only: drop -release %s", chosen.Name, cfg.Release)
	}
	if err != nil {
		return nil, fail("open", err)
	}
	s := &service{cfg: cfg, design: chosen}
	if s.to, err = endpointOf(cfg); err != nil {
		return nil, fail("open", err)
	}
	s.over, s.end = context.WithCancel(context.Background())
	s.control = &membership{svc: s}
	if cfg.Conns > 0 {
		s.shared = make([]*membership, min(cfg.Conns, max(cfg.Clients, 1)))
		for i := range s.shared {
			s.shared[i] = &membership{svc: s}
		}
	}
	if err := s.probe(ctx); err != nil {
		s.Close()
		return nil, fail("open", err)
	}
	s.limitName, s.limit = s.connections(ctx)
	return s, nil
}

// probe checks that locks can be made at the chroot, and leaves nothing there.
func (s *service) probe(ctx context.Context) error {
	c, err := s.control.conn(ctx)
	if err != nil {
		return s.explain(err)
	}
	root, k := cmp.Or(s.to.chroot, "/"), new(caller)
	if found, err := k.exists(ctx, c, root); err != nil {
		return err
	} else if found == nil {
		return fmt.Errorf("there is no node %s, the chroot of the address: create it, or drop it from the address", root)
	}
	node := s.node(drivers.Absent(s.cfg.Prefix))
	_, err = k.multi(ctx, c, &zk.CreateRequest{Path: node, Acl: s.to.acl, Flags: zk.FlagEphemeral},
		&zk.DeleteRequest{Path: node, Version: -1})
	if errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrInvalidACL) {
		return fmt.Errorf("this user may not create and delete nodes below %s: give the user and password of one who may "+
			"(zookeeper://user:password@…), or another chroot: %w", root, err)
	}
	return err
}

// explain adds to the error of the first connection what may help.
func (s *service) explain(err error) error {
	hint := ""
	switch text := err.Error(); {
	case !errors.Is(err, errUnconnected), drivers.CertificateHint(err) != "": // it says so itself
	case len(s.to.servers) > 1:
		hint = "; has the ensemble a majority of its members?"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = ": is the server running there?"
	case strings.Contains(text, "EOF"), strings.Contains(text, "tls:"):
		hint = ": does that port speak TLS? ZooKeeper has one of its own for it (secureClientPort)"
	}
	return fmt.Errorf("%s: %w%s", strings.Join(s.to.servers, ", "), err, hint)
}

// node returns the path of a key: one level below the chroot, whatever characters it has.
func (s *service) node(key string) string {
	name := url.PathEscape(key)
	if name == "." || name == ".." {
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return s.to.chroot + "/" + name
}

// ensemble reports whether there are several servers, which may be behind one address.
func (s *service) ensemble() bool { return s.cfg.Topology == drivers.TopologyEnsemble }

// membership is one session with the service after the other, of one client or of several.
type membership struct {
	svc     *service
	mu      sync.Mutex
	present *conn
}

// conn returns the present session, or a new one if the server has ended that. The mutex is held while it connects:
// clients that share a session wait for it anyway.
func (m *membership) conn(ctx context.Context) (*conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.present
	if old != nil && !old.expired() {
		return old, nil
	}
	c := &conn{svc: m.svc, control: m == m.svc.control}
	if old != nil {
		old.close()
		c.past = append(slices.Clip(old.past), old.id)
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	_, err := ask(ctx, new(caller), c, func(z *zk.Conn) (bool, error) {
		if m.svc.to.auth == "" {
			return true, nil
		}
		return true, z.AddAuth("digest", []byte(m.svc.to.auth))
	})
	if err != nil {
		c.close()
		return nil, err
	}
	m.present = c
	return c, nil
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

// Session implements drivers.Service.
func (s *service) Session(ctx context.Context, id int) (drivers.Session, error) {
	m := &membership{svc: s}
	if s.shared != nil {
		m = s.shared[id%len(s.shared)]
	}
	if _, err := m.conn(ctx); err != nil {
		return nil, fail("session", err)
	}
	base := session{membership: m, nodes: map[string]*node{}}
	h, q := &herdSession{base}, &sequentialSession{session: base}
	h.free, q.free = h.freeOwn, q.freeOwn
	var one client = q
	if s.design.Name == herd.Name {
		one = h
	}
	if s.shared != nil {
		return sharer{one}, nil
	}
	return one, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits {
	t := s.design.Traits
	if s.shared == nil && s.limit > 0 {
		t.MaxSessions = max(1, s.limit-spare)
	}
	return t
}

// Traffic implements drivers.Counter.
func (s *service) Traffic() drivers.Traffic {
	sent := s.sent.Sent()
	return drivers.Traffic{RoundTrips: sent.Requests, Notices: s.notices.Load(), KeepAlives: sent.Writes - sent.Requests}
}

// Close implements drivers.Service. The end of the sessions frees what they hold.
func (s *service) Close() error {
	s.end()
	s.running.Wait()
	return nil
}
