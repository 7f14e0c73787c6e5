// One connection: statements with a time limit, and the mark that identifies it to the server.
package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
)

// use is the purpose of a connection.
type use int

const (
	forControl      use = iota // the service's own: kills, tables, inspection
	forStatements              // statements that are transactions of their own, and GET_LOCK
	forTransactions            // transactions that end with COMMIT
)

// conn is a connection. One goroutine at a time runs its statements; interrupt and closeBy may be called by others.
type conn struct {
	svc    *service
	use    use
	id     int64  // the server's number; unique within one run of the server
	mark   string // the name of a GET_LOCK that only this connection has, as long as the server keeps it
	io     time.Duration
	raw    sqldriver.Conn
	ready  map[string]sqldriver.StmtExecContext // prepared, by their texts
	wire   *wire
	broken atomic.Bool // it cannot be used any more
	reason error       // if it broke in a statement
	used   time.Time   // when the last statement was sent
	mu     sync.Mutex
}

// wire is the connection below. The client library sets no time limits on it: they are set once for each statement. And
// it keeps the reason of a failure, which the library would drop.
type wire struct {
	net.Conn
	fault error
	once  sync.Once
	end   error
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.fault = err
	}
	return n, err
}

func (w *wire) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if err != nil {
		w.fault = err
	}
	return n, err
}

// Close closes the connection once.
func (w *wire) Close() error {
	w.once.Do(func() { w.end = w.Conn.Close() })
	return w.end
}

// SyscallConn lets the library check whether the server has hung up.
func (w *wire) SyscallConn() (syscall.RawConn, error) { return w.Conn.(syscall.Conn).SyscallConn() }

// dial makes a connection and marks it. After an error, nothing was requested from the server.
func (s *service) dial(ctx context.Context, u use) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.IO())
	defer cancel()
	c := &conn{svc: s, use: u, io: s.cfg.IO()}
	c.mark = fmt.Sprintf("lockbench-conn:%016x%016x", rand.Uint64(), rand.Uint64())
	cfg := s.target.config()
	cfg.Params = map[string]string{"autocommit": "1"} // a server's default may differ
	switch {
	case u == forTransactions:
		cfg.Params["autocommit"] = "0"
	case u == forControl && s.about.limits["max_statement_time"] > 0: // a limit of the user's locks, not of the service
		cfg.Params["max_statement_time"] = "0"
	}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		below, err := (&net.Dialer{Timeout: c.io}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if u != forControl {
			below = s.sent.Count(below, nil)
		}
		c.wire = &wire{Conn: below}
		return c.wire, below.SetDeadline(time.Now().Add(c.io))
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	if c.raw, err = connector.Connect(ctx); err != nil {
		return nil, c.noConnection(ctx, err)
	}
	row, err := c.row(ctx, "SELECT CONNECTION_ID(), GET_LOCK(?, 0)", c.mark)
	if err != nil {
		c.close()
		return nil, c.noConnection(ctx, err)
	}
	c.id = number(row[0])
	if !s.own(c) {
		c.close()
		return nil, errClosed
	}
	if u != forControl {
		s.keepUnlessBusy(ctx) // what has broken the session's connection may have broken the keeper's
	}
	return c, nil
}

// own registers the connection with the service, which closes it in the end. It returns false if the service is closed.
func (s *service) own(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed && c.use != forControl {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

// begin sets the time limit of a statement that may wait for extra, or without limit if that is negative.
func (c *conn) begin(ctx context.Context, extra time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.used = time.Now()
	var limit time.Time
	if extra >= 0 {
		limit = c.used.Add(c.io + extra)
	}
	if d, ok := ctx.Deadline(); ok && (limit.IsZero() || d.Before(limit)) {
		limit = d
	}
	if err := c.wire.SetDeadline(limit); err != nil { // it was closed meanwhile
		c.broken.Store(true)
		return &drivers.Error{Class: drivers.ClassClosed, Op: "statement", Err: err}
	}
	return nil
}

// forever is an extra without end; interrupt ends such a statement.
const forever = -1

// request makes one request, which may wait for extra.
func (c *conn) request(ctx context.Context, extra time.Duration, send func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begin(ctx, extra); err != nil {
		return err
	}
	if err := send(); err != nil {
		return c.failed(ctx, err)
	}
	return nil
}

// exec runs a statement without rows.
func (c *conn) exec(ctx context.Context, query string, args ...any) (affected, insertID int64, err error) {
	err = c.request(ctx, 0, func() error {
		run := c.raw.(sqldriver.ExecerContext).ExecContext
		if c.use == forStatements && len(args) > 0 {
			stmt, err := c.prepare(ctx, query)
			switch {
			case numberOf(err) == errTooManyStmts: // others have them: as text it is slower, but works
			case err != nil:
				return err
			default:
				run = func(ctx context.Context, _ string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
					return stmt.ExecContext(ctx, args)
				}
			}
		}
		result, err := run(ctx, query, named(args))
		if err == nil {
			affected, _ = result.RowsAffected()
			insertID, _ = result.LastInsertId()
		}
		return err
	})
	return affected, insertID, err
}

// prepare makes the server parse a statement once. There are few of them; each is then sent as a number with its
// arguments.
func (c *conn) prepare(ctx context.Context, query string) (sqldriver.StmtExecContext, error) {
	if stmt, ok := c.ready[query]; ok {
		return stmt, nil
	}
	if err := c.begin(ctx, 0); err != nil {
		return nil, err
	}
	stmt, err := c.raw.(sqldriver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if c.ready == nil {
		c.ready = map[string]sqldriver.StmtExecContext{}
	}
	c.ready[query] = stmt.(sqldriver.StmtExecContext)
	return c.ready[query], nil
}

// row runs a query and returns its first row, or nil.
func (c *conn) row(ctx context.Context, query string, args ...any) (row []sqldriver.Value, err error) {
	return c.rowWithin(ctx, 0, query, args...)
}

func (c *conn) rowWithin(
	ctx context.Context, extra time.Duration, query string, args ...any,
) (row []sqldriver.Value, err error) {
	rows, err := c.rowsWithin(ctx, extra, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// rowsWithin runs a query and returns all its rows.
func (c *conn) rowsWithin(
	ctx context.Context, extra time.Duration, query string, args ...any,
) (all [][]sqldriver.Value, err error) {
	err = c.request(ctx, extra, func() error {
		rows, err := c.raw.(sqldriver.QueryerContext).QueryContext(ctx, query, named(args))
		if err != nil {
			return err
		}
		for {
			row := make([]sqldriver.Value, len(rows.Columns()))
			if err = rows.Next(row); err != nil {
				break
			}
			for i, v := range row { // the library reuses its buffer
				if b, ok := v.([]byte); ok {
					row[i] = string(b)
				}
			}
			all = append(all, row)
		}
		if closeErr := rows.Close(); errors.Is(err, io.EOF) {
			err = closeErr
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (c *conn) ping(ctx context.Context) error {
	return c.request(ctx, 0, func() error { return c.raw.(sqldriver.Pinger).Ping(ctx) })
}

// alive checks, without asking the server, whether it has hung up. If it has, whatever the connection held is lost for
// certain; what is sent on a connection that only seems to live has an unknown outcome.
func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := c.used
	alive := !c.broken.Load() && c.begin(context.Background(), 0) == nil &&
		c.raw.(sqldriver.SessionResetter).ResetSession(context.Background()) == nil
	c.used = used
	return alive
}

// lastWords returns why a connection that is not alive has failed, or which limit of the server may have ended it.
func (c *conn) lastWords() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken.Load() {
		return c.reason
	}
	idle := time.Since(c.used)
	for _, name := range c.svc.limits {
		if limit := c.svc.about.limits[name]; limit > 0 && idle >= limit {
			return c.svc.ended(name, errors.New("the server has ended the connection, which was idle for longer"))
		}
	}
	return errors.New("the server has ended the connection")
}

// close ends the connection, in order if it works.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut()
}

func (c *conn) shut() {
	c.broken.Store(true)
	c.svc.forget(c)
	if c.wire != nil && c.raw != nil {
		_ = c.wire.SetDeadline(time.Now().Add(c.io))
		_ = c.raw.Close()
	}
}

// crash breaks the connection like the end of its process: it tells the server nothing.
func (c *conn) crash() {
	_ = c.wire.Close()
	c.close()
}

// closeBy is close for a connection that another goroutine may use until then; afterwards it breaks it.
func (c *conn) closeBy(until time.Time) {
	for !c.mu.TryLock() {
		if time.Now().After(until) {
			_ = c.wire.Close()
			c.mu.Lock()
			break
		}
		time.Sleep(time.Millisecond)
	}
	defer c.mu.Unlock()
	c.shut()
}

// named numbers arguments, which are int64, uint64, string or []byte.
func named(args []any) []sqldriver.NamedValue {
	if len(args) == 0 {
		return nil
	}
	list := make([]sqldriver.NamedValue, len(args))
	for i, v := range args {
		list[i] = sqldriver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return list
}
