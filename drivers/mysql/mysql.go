// Package mysql has the locks of a MySQL or MariaDB server: a row with an owner and an expiry, the lock of a row in a
// transaction, and GET_LOCK. It uses github.com/go-sql-driver/mysql without database/sql, whose pool moves and retries
// statements: a lock that belongs to a connection must know its connection.
//
// The locks of row-lock and get-lock last as long as their connection (Traits.Session). The server notices at once when
// that is closed or broken. If a machine or a network is gone, it keeps them until TCP gives up, or its own
// wait_timeout is over (8 h by default). No client can change that, so Config.TTL has no effect.
//
// A connection that has failed may still have a statement running on the server, which may still be granted a lock. So
// every connection has a mark (a GET_LOCK of a unique name). By that mark the server is asked over another connection
// whether it is gone, and told to kill it if not, before anything is reported about its locks; see lost.go.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

func init() { drivers.Register("mysql", Driver) }

// Library implements drivers.Described. Where sessions hold a lock, each client has its own connection.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/go-sql-driver/mysql",
		Pins:   func(lock string) bool { return lock != "unique-row" },
		Conns:  func(clients int, _ bool) int { return min(clients, defaultConns) },
	}
}

// Driver is the driver registered as "mysql".
var Driver drivers.Driver = driver{}

// defaultConns is the size of the pool that the sessions of unique-row share, unless Config.Conns sets it. Tens of
// connections keep a server busy; thousands make it switch threads. The other designs need a connection for each
// session, whatever Config.Conns says.
const defaultConns = 32

// reserved is the number of connections that sessions do not pin: the second of the service's own, one of its keeper,
// and as many of a service beside it that probes.
const (
	reserved     = 4
	controlConns = 2
)

type driver struct {
	tableName func(prefix, design string) string // nil: newTableName
}

// kind is a design: its listing, and how to make its sessions.
type kind struct {
	drivers.Design
	columns string // of its table; "" if it has none
	pinned  bool   // sessions have connections of their own
	session func(*session) drivers.Session
	limits  []string // variables that end the connection of a holder, in seconds
}

var kinds = []kind{uniqueRow, rowLock, getLock}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design {
	designs := make([]drivers.Design, len(kinds))
	for i, k := range kinds {
		designs[i] = k.Design
	}
	return designs
}

// service implements drivers.Service.
type service struct {
	kind
	cfg     drivers.Config
	target  target
	about   about    // what the server reported when it was opened
	control *pool    // for everything but locking
	pool    *pool    // of the sessions; nil if they pin their connections
	table   string   // "" if the design has none
	keeper  keeper   // of the table
	rows    sync.Map // of row-lock: key → *row
	closing chan struct{}

	sent traffic.Counter // of the sessions

	mu     sync.Mutex
	sealed bool // sessions make no more connections
	conns  map[*conn]struct{}
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, fail("open", err)
	}
	if !s.pinned {
		return rowService{s}, nil
	}
	return s, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (_ *service, err error) {
	design, _, err := drivers.Chosen(d, cfg)
	if err == nil {
		err = cfg.OneServer()
	}
	if err != nil {
		return nil, err
	}
	if cfg.Release != drivers.ReleaseDefault {
		return nil, fmt.Errorf("release %s: the design has one way to release: drop it", cfg.Release)
	}
	t, err := targetOf(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Addrs, cfg.Password = []string{t.redacted()}, "" // they may be printed
	s := &service{cfg: cfg, target: t, closing: make(chan struct{}), conns: map[*conn]struct{}{}}
	for _, k := range kinds {
		if k.Name == design.Name {
			s.kind = k
		}
	}
	if s.columns != "" && t.database == "" {
		return nil, fmt.Errorf("the design %s needs a table, and there is no database: "+
			"name one that exists, mysql://host/database", s.Name)
	}
	s.control = s.newPool(controlConns, forControl)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.about, err = s.ask(ctx); err != nil {
		return nil, s.explain(err)
	}
	if err = s.readLimits(ctx); err != nil {
		return nil, s.explain(err)
	}
	if !s.pinned {
		size := cfg.Conns
		if size <= 0 {
			size = min(defaultConns, max(1, cfg.Clients))
		}
		s.pool = s.newPool(size, forStatements)
	} else if limit, most, used := s.about.room(); most-used <= reserved {
		return nil, &drivers.Error{Class: drivers.ClassLimit, Op: "open", Err: fmt.Errorf(
			"%d of %d connections are in use and %d reserved: end some, or raise %s", used, most, reserved, limit)}
	}
	if s.columns != "" {
		name := d.tableName
		if name == nil {
			name = newTableName
		}
		if err := s.openTable(ctx, name(cfg.Prefix, s.Name)); err != nil {
			return nil, s.explain(err)
		}
	}
	return s, nil
}

// Session implements drivers.Service. If sessions pin connections it makes the first one, so that a server that does
// not accept that many says so before the run.
func (s *service) Session(ctx context.Context, _ int) (drivers.Session, error) {
	own := s.kind.session(&session{svc: s})
	if p, ok := own.(interface{ connect(context.Context) error }); ok {
		if err := p.connect(ctx); err != nil {
			return nil, fail("session", s.explain(err))
		}
	}
	return own, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits {
	t := s.Design.Traits
	t.Fair = t.Fair && !s.cfg.Polls // a client that polls has no place in the server's queue
	if s.pinned {
		_, most, used := s.about.room()
		t.MaxSessions = max(1, most-used-reserved)
	}
	return t
}

// Ping implements drivers.Pinger with COM_PING.
func (s *service) Ping(ctx context.Context) error {
	return s.controlled(ctx, "ping", func(c *conn) error { return c.ping(ctx) })
}

// Probe implements drivers.Prober with SELECT 1. The server parses and runs it in a thread like any statement; but it
// reads no row, because every table belongs to an application.
func (s *service) Probe(ctx context.Context) error {
	return s.controlled(ctx, "probe", func(c *conn) error {
		_, err := c.row(ctx, "SELECT 1")
		return err
	})
}

// Traffic implements drivers.Counter. Each request is one write.
func (s *service) Traffic() drivers.Traffic { return drivers.Traffic{RoundTrips: s.sent.Sent().Writes} }

// controlled runs f on a connection of the service.
func (s *service) controlled(ctx context.Context, op string, f func(*conn) error) error {
	c, err := s.control.get(ctx)
	if err != nil {
		return fail(op, err)
	}
	err = f(c)
	s.control.put(c)
	return fail(op, err)
}

func (s *service) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Close implements drivers.Service. It ends waits, closes the connections of the sessions, so that they do not block
// the table, drops the table if no other service uses it, and closes the other connections.
func (s *service) Close() error {
	s.mu.Lock()
	if s.sealed {
		s.mu.Unlock()
		return nil
	}
	s.sealed = true
	close(s.closing)
	s.mu.Unlock()
	s.closeConns(false)
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.IO())
	defer cancel()
	err := s.dropTable(ctx)
	if err != nil {
		err = fmt.Errorf("mysql: close: the table %s is left in the database %s: %w", s.table, s.target.database, err)
	}
	s.control.close()
	s.closeConns(true)
	return err
}

// closeConns closes the connections of the sessions, or all. One that is in use gets the time of a request to end.
func (s *service) closeConns(all bool) {
	s.mu.Lock()
	var list []*conn
	for c := range s.conns {
		if all || c.use != forControl {
			list = append(list, c)
		}
	}
	s.mu.Unlock()
	until := time.Now().Add(s.cfg.IO())
	for _, c := range list {
		c.closeBy(until)
	}
}

func (s *service) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

var errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "service", Err: errors.New("it has been closed")}
