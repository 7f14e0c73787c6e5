// Package mysql is the locks that a MySQL or MariaDB server makes: a row with an owner and an expiry, the lock of a
// row in a transaction, and GET_LOCK. It uses github.com/go-sql-driver/mysql below database/sql, whose pool moves and
// retries statements as it likes: a lock that belongs to a connection needs to know which one that is.
//
// The locks of row-lock and get-lock last as long as the connection that has them (Traits.Session). The server hears
// at once when that is closed or broken. What it hears nothing of, because a machine or a network is gone, it keeps
// until TCP gives up, or its own wait_timeout is over (8 h as shipped): no client can choose that, and so Config.TTL
// says nothing.
//
// A connection that has failed may still have a statement running on the server, which may still be granted a lock.
// So every connection carries a mark (a GET_LOCK of a name that nobody else has), by which the server is asked over
// another one whether it is gone, and told to kill it if not, before anything is said of its locks; see lost.go.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

func init() { drivers.Register("mysql", Driver) }

// Library implements drivers.Described. Where sessions hold a lock, each client has a connection of its own.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/go-sql-driver/mysql",
		Pins:   func(lock string) bool { return lock != "unique-row" },
		Conns:  func(clients int, _ bool) int { return min(clients, defaultConns) },
	}
}

// Driver is the driver that is registered as "mysql".
var Driver drivers.Driver = driver{}

// defaultConns is the size of the pool that the sessions of unique-row share, if Config.Conns does not say it. Tens of
// connections keep a server busy; thousands make it switch threads. The other designs need a connection for each
// session, whatever Config.Conns says.
const defaultConns = 32

// reserved is how many connections are left to others when sessions pin theirs; controlConns of them are the
// service's, and one is its keeper's.
const (
	reserved     = 8
	controlConns = 2
)

type driver struct {
	tableName func(prefix, design string) string // nil: newTableName
}

// kind is one design: its listing, and how it is made.
type kind struct {
	drivers.Design
	columns string // of its table; "" for none
	pinned  bool   // sessions have connections of their own
	session func(*session) drivers.Session
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
	about   about    // what the server said when it was opened
	control *pool    // for all that no session waits in line for
	pool    *pool    // of the sessions; nil if they pin their connections
	table   string   // "" if the design has none
	keeper  keeper   // of the table
	rows    sync.Map // of row-lock: key → *row
	closing chan struct{}

	mu      sync.Mutex
	sealed  bool // sessions make no more connections
	conns   map[*conn]struct{}
	tallies []*tally
}

// tally is what one session has exchanged. Each has a cache line of its own.
type tally struct {
	trips atomic.Int64
	_     [56]byte
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	if err != nil {
		return nil, prefixed("mysql: ", err)
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
	cfg.Addrs, cfg.Password = []string{t.redacted()}, "" // lest they are printed with whatever keeps them
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
	if !s.pinned {
		size := cfg.Conns
		if size <= 0 {
			size = min(defaultConns, max(1, cfg.Clients))
		}
		s.pool = s.newPool(size, forStatements)
	} else if s.about.free() <= 0 {
		return nil, fmt.Errorf("the server accepts %d connections and has %d: %s",
			s.about.maxConns, s.about.connected, moreConns)
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

// Session implements drivers.Service. Where sessions pin connections it makes the first one, so that a server that
// does not take so many says so before the run.
func (s *service) Session(ctx context.Context, _ int) (drivers.Session, error) {
	base := &session{svc: s, tally: &tally{}}
	s.mu.Lock()
	s.tallies = append(s.tallies, base.tally)
	s.mu.Unlock()
	own := s.kind.session(base)
	if p, ok := own.(interface{ connect(context.Context) error }); ok {
		if err := p.connect(ctx); err != nil {
			return nil, prefixed("mysql: session: ", s.explain(err))
		}
	}
	return own, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits {
	t := s.Design.Traits
	t.Fair = t.Fair && !s.cfg.Polls // who comes back by himself has no place in the server's line
	if s.pinned {
		t.MaxSessions = max(1, s.about.free())
	}
	return t
}

// Ping implements drivers.Pinger with COM_PING.
func (s *service) Ping(ctx context.Context) error {
	return s.controlled(ctx, "ping", func(c *conn) error { return c.ping(ctx) })
}

// Probe implements drivers.Prober with SELECT 1. The server parses and runs a statement for it, in a thread that waits
// its turn among the others; but it reads no row, since every table is somebody's, or makes one to be asked for.
func (s *service) Probe(ctx context.Context) error {
	return s.controlled(ctx, "probe", func(c *conn) error {
		_, err := c.row(ctx, "SELECT 1")
		return err
	})
}

// Traffic implements drivers.Counter.
func (s *service) Traffic() (t drivers.Traffic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.tallies {
		t.RoundTrips += of.trips.Load()
	}
	return t
}

// controlled runs f on a connection that no session has.
func (s *service) controlled(ctx context.Context, op string, f func(*conn) error) error {
	c, err := s.control.get(ctx)
	if err != nil {
		return fail(op, err)
	}
	err = f(c)
	s.control.put(c)
	return fail(op, err)
}

// closed reports whether Close was called.
func (s *service) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Close implements drivers.Service. It ends what waits, closes the connections of the sessions, so that nobody stands
// in the way of the table, drops that if no other service uses it, and closes the others.
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

var errClosed = errors.New("the service is closed")
