// Package postgres has the lock designs for a PostgreSQL server, each in its own file, over pgx, and registers them as
// the driver "postgres".
//
// Every session has its own connection, and a hold lasts as long as that: a session whose connection breaks loses its
// hold at once, while the holder may live on without noticing. When a holder's process dies, its system closes the
// connection, and the lock becomes free at once as well; when the machine dies, it becomes free when the server's TCP
// keep-alive finds out (see keepAlive).
//
// A pooler such as PgBouncer gives a connection to another client after each statement or transaction, and the lock of
// advisory with it: Open detects one and refuses, unless the address has default_query_exec_mode=exec. Then nothing is
// prepared, and no keep-alive is asked for, which poolers reject. A transaction keeps its connection, so that row-lock is
// as it is without a pooler. A server's time-out for idle sessions or idle transactions
// (idle_session_timeout, idle_in_transaction_session_timeout) ends a longer hold like a broken connection.
//
// pgx opens the connections: addresses, TLS, authentication. The statements, which are prepared once per connection,
// then use its encoding of the protocol directly, because its calls handle a time-out by closing the connection, and a
// lock design must know whether the server has noticed that.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

func init() { drivers.Register("postgres", driver{}) }

// Library implements drivers.Described. Sessions hold the locks, so each client has its own connection.
func (driver) Library() drivers.Library {
	return drivers.Library{Module: "github.com/jackc/pgx/v5", Pins: func(string) bool { return true }}
}

type driver struct{}

// design is a lock design: its listing, the statements that it prepares, and how it makes sessions.
type design struct {
	drivers.Design
	statements func(table string) map[string]string // by the names of the prepared statements
	table      bool                                 // it needs one for its rows
	session    func(*service) session
	persists   func(fsync, late bool) string // see drivers.Server.Persistence; late: a commit is answered before the fsync
}

// session is implemented by the sessions of every design.
type session interface {
	drivers.Session
	drivers.Waiter
	drivers.Crasher
	open(ctx context.Context) error
	Close() error
}

var designs = []design{advisoryDesign, rowLockDesign}

// Designs implements drivers.Driver.
func (driver) Designs() []drivers.Design {
	list := make([]drivers.Design, len(designs))
	for i, d := range designs {
		list[i] = d.Design
	}
	return list
}

// Service implements drivers.Addressed.
func (driver) Service() string { return "postgres" }

// Open implements drivers.Driver.
func (d driver) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	s, err := d.prepare(cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: open: %w", err)
	}
	if err := s.meet(ctx); err != nil {
		s.Close()
		return nil, s.fail("open "+s.addr.Redacted, cause(ctx, err))
	}
	return s, nil
}

// prepare checks the configuration without asking the server.
func (d driver) prepare(cfg drivers.Config) (*service, error) {
	chosen, _, err := drivers.Chosen(d, cfg)
	if err == nil {
		err = cfg.OneServer()
	}
	switch {
	case err != nil:
		return nil, err
	case cfg.Embedded:
		return nil, errors.New("there is no embedded PostgreSQL: give the address of a server")
	case cfg.Conns > 0:
		return nil, fmt.Errorf("%d connections are not possible: each client has its own, which holds its locks", cfg.Conns)
	case cfg.Pipelining == drivers.PipeliningAuto:
		return nil, errors.New("pipelining auto is not possible: each client has a connection of its own")
	case cfg.Release != drivers.ReleaseDefault:
		return nil, fmt.Errorf("release %s: the designs of this driver release in one way only", cfg.Release)
	}
	target, addr, err := readAddr(cfg.Addrs[0])
	if err != nil {
		return nil, fmt.Errorf("the address %w", err)
	}
	target.User = cmp.Or(cfg.Username, target.User)
	target.Password = cmp.Or(string(cfg.Password), target.Password)
	target.Database = cmp.Or(cfg.Database, target.Database)
	if cfg.TLS != nil {
		if addr.Network == "unix" {
			return nil, errors.New("TLS is not possible over a unix socket")
		}
		target.TLSConfig, addr.Network = cfg.TLS.Clone(), "tls"
		target.TLSConfig.ServerName = cmp.Or(target.TLSConfig.ServerName, target.Host)
	}
	target.ConnectTimeout = cfg.IO()
	_, pooled := target.RuntimeParams[execMode]
	if pooled {
		delete(target.RuntimeParams, execMode)
	} else {
		keepAlive(target.RuntimeParams, cfg.TTL)
	}
	var owners drivers.Owners
	s := &service{
		cfg: cfg, target: target, pooled: pooled, addr: addr, token: owners.Next(),
		conns:  map[*conn]struct{}{},
		design: designs[slices.IndexFunc(designs, func(d design) bool { return d.Name == chosen.Name })],
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.cfg.Addrs, s.cfg.Password = []string{addr.Redacted}, "" // they may be printed
	s.traits = chosen.Traits
	s.traits.Fair = s.traits.Fair && !cfg.Polls // Try has no place in the queue
	if s.design.table {
		s.table = tableName(cfg.Prefix)
	}
	return s, nil
}

// keepAlive makes the server notice after ttl that a client's machine is gone: it probes an idle connection after half
// of that, and twice more. It counts in whole seconds, so it needs three. Without a TTL the server's own setting
// applies, which is two hours on most systems. It has no effect on unix sockets, nor while a client waits for a lock.
func keepAlive(params map[string]string, ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	seconds := func(d time.Duration) string { return fmt.Sprint(max(1, int((d+time.Second-1)/time.Second))) }
	params["tcp_keepalives_idle"] = seconds(ttl / 2)
	params["tcp_keepalives_interval"] = seconds(ttl / 4)
	params["tcp_keepalives_count"] = "2"
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
