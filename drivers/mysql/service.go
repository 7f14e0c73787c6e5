// Package mysql has the locks of a MySQL or MariaDB server: a row with an owner and an expiry, the lock of a row in a
// transaction, and GET_LOCK. It uses github.com/go-sql-driver/mysql through database/sql.
//
// Three things make its answers true. A statement about a lock runs on a *sql.Conn, on which database/sql sends nothing
// twice. One without an answer has an unknown outcome, and its connection is not used again. And where a lock ends with
// its connection, a holder has that to itself.
//
// The locks of row-lock and get-lock last as long as their connection (Traits.Session). The server notices at once when
// that is closed or broken. If a machine or a network is gone, it keeps them until TCP gives up, or its own
// wait_timeout is over (8 h by default). No client can change that, so Config.TTL has no effect.
package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

func init() { drivers.Register("mysql", Driver) }

// Driver is the driver registered as "mysql".
var Driver drivers.Driver = driver{}

type driver struct{}

// Library implements drivers.Described. Where sessions hold a lock, each client has its own connection.
func (driver) Library() drivers.Library {
	return drivers.Library{
		Module: "github.com/go-sql-driver/mysql",
		Pins:   func(lock string) bool { return lock != uniqueRow.Name },
		Conns:  func(clients int, _ bool) int { return min(clients, defaultConns) },
	}
}

const (
	// defaultConns is how many connections the sessions of unique-row share, unless Config.Conns says it. Tens of
	// connections keep a server busy; thousands make it switch threads.
	defaultConns = 32

	// ownConns is how many connections a service has for itself. reserved are as many more as sessions must leave: the
	// second of the service, those of one beside it that probes, and one that has just ended.
	ownConns = 2
	reserved = 2 * ownConns
)

// kind is a design: its listing, and how to make its sessions.
type kind struct {
	drivers.Design
	columns string   // of its table; "" if it has none
	ends    []string // variables that end the connection of a holder
	session func(session) drivers.Session
}

var kinds = []kind{uniqueRow, rowLock, getLock}

// Designs implements drivers.Driver.
func (driver) Designs() (designs []drivers.Design) {
	for _, k := range kinds {
		designs = append(designs, k.Design)
	}
	return designs
}

// service implements drivers.Service.
type service struct {
	kind
	cfg      drivers.Config
	target   *mysql.Config
	about    map[string]string // the server, when the service was opened
	own      *sql.DB           // for everything but locking
	sessions *sql.DB           // makes connections, and keeps none
	idle     chan *conn        // the pool of unique-row; nil is for one that is not made yet
	table    string            // "" if the design has none
	keeper   keeper
	making   sync.Mutex      // of a row
	rows     sync.Map        // keys whose row is known to be there
	sent     traffic.Counter // by the sessions

	closing context.Context // ends with the service
	stop    context.CancelFunc
	mu      sync.Mutex
	conns   map[*conn]struct{} // of the sessions
}

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.open(ctx, cfg)
	switch {
	case err != nil:
		return nil, fail("open", err)
	case s.Design.Traits.Session:
		return s, nil
	}
	return rowService{s}, nil
}

func (d driver) open(ctx context.Context, cfg drivers.Config) (_ *service, err error) {
	design, _, err := drivers.Chosen(d, cfg)
	if err == nil {
		err = cfg.OneServer()
	}
	if err != nil {
		return nil, err
	}
	s := &service{cfg: cfg, conns: map[*conn]struct{}{}}
	s.idle = make(chan *conn, cmp.Or(max(0, cfg.Conns), min(defaultConns, max(1, cfg.Clients))))
	for range cap(s.idle) {
		s.idle <- nil
	}
	s.kind = kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.Name == design.Name })]
	if s.target, err = targetOf(cfg); err != nil {
		return nil, err
	}
	s.cfg.Addrs, s.cfg.Password = []string{redacted(s.target)}, "" // they may be printed
	switch {
	case cfg.Release != drivers.ReleaseDefault:
		return nil, fmt.Errorf("release %s: the design has one way to release: drop it", cfg.Release)
	case s.columns != "" && s.target.DBName == "":
		return nil, fmt.Errorf("the design %s needs a table, and there is no database: "+
			"name one that exists, mysql://host/database", s.Name)
	}
	s.closing, s.stop = context.WithCancel(context.Background())
	if s.own, err = s.newDB(nil, cfg.IO()); err != nil {
		return nil, err
	}
	s.own.SetMaxOpenConns(ownConns)
	if s.sessions, err = s.newDB(&s.sent, 0); err != nil {
		return nil, err
	}
	s.sessions.SetMaxIdleConns(-1)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	soon, cancel := context.WithTimeout(ctx, cfg.IO())
	defer cancel()
	if err = s.own.PingContext(soon); err != nil {
		return nil, s.noConnection(soon, err)
	}
	if s.about, err = s.ask(soon); err == nil && s.columns != "" {
		// The server would go on to make the table if ctx ended meanwhile.
		s.table = tableName(cfg.Prefix, s.Name)
		if err = s.keep(context.WithoutCancel(ctx)); drivers.NoEffect(err) {
			s.table = ""
		}
	}
	return s, cmp.Or(s.failed(ctx, time.Now(), err), ctx.Err())
}

// newDB returns database/sql's view of the server. A timeout of 0 leaves the limits of reading and writing to the conn
// that a connection is made for.
func (s *service) newDB(sent *traffic.Counter, timeout time.Duration) (*sql.DB, error) {
	cfg := s.target.Clone()
	cfg.ReadTimeout, cfg.WriteTimeout = timeout, timeout
	cfg.Params = map[string]string{"autocommit": "1"} // a server's default may differ
	cfg.InterpolateParams = true                      // otherwise a statement takes two round trips, and a third one to forget it
	cfg.MaxAllowedPacket = 1 << 20
	cfg.Logger = &mysql.NopLogger{}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if sent != nil { // what has broken the one before may have broken the keeper's
			_ = s.keep(ctx)
		}
		below, err := (&net.Dialer{Timeout: s.cfg.IO()}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		below = sent.Count(below, nil)
		if c, ok := ctx.Value(dialing{}).(*conn); ok {
			c.net = below
		}
		return below, nil
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// controlled runs f with the service's own pool, for as long as a request may take.
func (s *service) controlled(ctx context.Context, op string, f func(context.Context, *sql.DB) error) error {
	if s.closed() {
		return fail(op, errClosed)
	}
	soon, cancel := context.WithTimeout(ctx, s.cfg.IO())
	defer cancel()
	sent := time.Now()
	return fail(op, s.failed(ctx, sent, f(soon, s.own)))
}

// Session implements drivers.Service. If sessions pin connections it makes the first one, so that a server that does
// not accept that many says so before the run.
func (s *service) Session(ctx context.Context, _ int) (drivers.Session, error) {
	one := s.kind.session(session{svc: s})
	if p, ok := one.(*pinned); ok {
		if err := p.connect(ctx); err != nil {
			return nil, fail("session", err)
		}
	}
	return one, nil
}

// Traits implements drivers.Service.
func (s *service) Traits() drivers.Traits {
	t := s.Design.Traits
	t.Fair = t.Fair && !s.cfg.Polls // a client that polls has no place in the server's queue
	if t.Session {
		_, most, used := room(s.about)
		t.MaxSessions = max(1, most-used-reserved)
	}
	return t
}

// Ping implements drivers.Pinger with COM_PING.
func (s *service) Ping(ctx context.Context) error {
	return s.controlled(ctx, "ping", func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) })
}

// Probe implements drivers.Prober. The server parses and runs the statement in a thread like any other; but it reads no
// row, because every table belongs to an application.
func (s *service) Probe(ctx context.Context) error {
	return s.controlled(ctx, "probe", func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, "SELECT 1")
		return err
	})
}

// Traffic implements drivers.Counter. Each request is one write.
func (s *service) Traffic() drivers.Traffic { return drivers.Traffic{RoundTrips: s.sent.Sent().Writes} }

func (s *service) closed() bool { return s.closing.Err() != nil }

// Close implements drivers.Service. It ends waits, closes the connections of the sessions, so that they do not block
// the table, and drops the table if no other service uses it.
func (s *service) Close() error {
	s.mu.Lock()
	over := s.closed()
	s.stop()
	open := maps.Clone(s.conns)
	s.mu.Unlock()
	if over {
		return nil
	}
	until := time.Now().Add(s.cfg.IO()) // for statements under way
	for c := range open {
		c.closeBy(until)
	}
	_ = s.sessions.Close() // of both pools, an error is about connections that are broken already
	err := s.dropTable()
	_ = s.own.Close()
	return err
}
