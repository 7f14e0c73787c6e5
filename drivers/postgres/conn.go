package postgres

// One connection: how it is opened, used, interrupted and closed.

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lockbench/lockbench/drivers"
)

// conn is a connection, and a session of the server. One goroutine uses it at a time; Close of the service may close
// its socket meanwhile.
type conn struct {
	svc    *service
	name   string         // its unique application_name
	pg     *pgconn.PgConn // hijacked; used only to cancel
	net    net.Conn
	front  *pgproto3.Frontend
	peeker *peeker
	own    bool // it is the service's, not a session's
	tx     byte // transaction status: I none, T in one, E in a failed one

	unprepared map[string]string // the statements of the design, if they are not prepared

	reply reply
	bind  pgproto3.Bind
	param [1][]byte
	each  func(values [][]byte) // called for each row, if set
}

// reply is the server's answer to one packet of statements.
type reply struct {
	refused *pgconn.PgError // the first error; later statements were not executed
	rows    int             // of all statements
	yes     bool            // the last row began with true, in binary
	undone  bool            // a transaction was rolled back instead of committed
}

var (
	binaryFormat, textFormat = []int16{1}, []int16{0}
	execute                  = &pgproto3.Execute{}
	synchronise              = &pgproto3.Sync{}
)

// dial opens a connection, prepares the statements of the design unless there may be a pooler, and makes the server end the
// connections named in abandoned: when dial returns, what they held or were about to get is free.
func (s *service) dial(
	ctx context.Context, own bool, statements map[string]string, abandoned []string,
) (*conn, error) {
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, s.cfg.IO())
	defer cancel()
	if !own { // the service still uses its own while it closes
		defer context.AfterFunc(s.closing, cancel)()
	}
	target := s.target.Copy()
	c := &conn{svc: s, name: "lockbench " + s.token + " " + strconv.FormatInt(s.dialed.Add(1), 10), own: own}
	target.RuntimeParams["application_name"] = c.name
	if !own {
		target.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			below, err := s.target.DialFunc(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return s.sent.Count(below, nil), nil
		}
	}
	pg, err := pgconn.ConnectConfig(ctx, target)
	if err != nil {
		return nil, s.connectError(ctx, err)
	}
	hijacked, err := pg.Hijack()
	if err != nil {
		return nil, err
	}
	c.pg, c.net, c.front, c.tx = pg, hijacked.Conn, hijacked.Frontend, hijacked.TxStatus
	c.peeker, err = newPeeker(c.net)
	if err == nil {
		err = s.add(c)
	}
	if err != nil {
		c.net.Close()
		return nil, err
	}
	if s.pooled {
		c.unprepared, statements = statements, nil
	}
	for name, statement := range statements {
		c.front.SendParse(&pgproto3.Parse{Name: name, Query: statement})
	}
	until, _ := ctx.Deadline()
	if err = c.must(c.ask(ctx, until)); err == nil {
		err = c.kill(ctx, abandoned)
	}
	if err != nil {
		s.drop(c)
		if s.pooled && caller.Err() == nil && drivers.TimedOut(err) {
			return nil, &drivers.Error{Class: drivers.ClassLimit, Op: "connect", Err: fmt.Errorf(
				"the pooler gave no connection to the server in %v: lower -clients, or raise its pool_size", s.cfg.IO())}
		}
		return nil, s.connectError(ctx, err)
	}
	return c, nil
}

// run adds a statement of the design to the packet that ask sends, with one parameter in the given format, or none.
func (c *conn) run(name string, format []int16, parameter []byte) {
	if statement, ok := c.unprepared[name]; ok {
		c.front.SendParse(&pgproto3.Parse{Query: statement})
		name = ""
	}
	c.bind = pgproto3.Bind{PreparedStatement: name, ResultFormatCodes: binaryFormat}
	if format != nil {
		c.param[0] = parameter
		c.bind.ParameterFormatCodes, c.bind.Parameters = format, c.param[:]
	}
	c.front.SendBind(&c.bind)
	c.front.SendExecute(execute)
}

// soon returns the time at which the answer to a request sent now is due.
func (c *conn) soon() time.Time { return time.Now().Add(c.svc.cfg.IO()) }

// ask sends the packet and reads the reply, until that time (zero: without limit) or the end of ctx. After an error the
// connection cannot be used any more, and what the server has done or will do with the packet is unknown.
func (c *conn) ask(ctx context.Context, until time.Time) (*reply, error) {
	return c.exchange(ctx, until, (*conn).interrupt)
}

// wait is ask for statements that may take long. When ctx ends, the server is asked to cancel them, and the connection
// stays usable: the reply then says whether they were executed anyway.
func (c *conn) wait(ctx context.Context, until time.Time) (*reply, error) {
	return c.exchange(ctx, until, (*conn).cancel)
}

// exchange calls end if ctx ends before the reply, with a channel that is closed when the reply has come.
func (c *conn) exchange(ctx context.Context, until time.Time, end func(c *conn, over <-chan struct{})) (*reply, error) {
	c.front.SendSync(synchronise)
	c.net.SetDeadline(until) // an error shows in what follows
	if ctx.Done() == nil {
		if err := c.talk(); err != nil {
			return nil, err
		}
		return &c.reply, nil
	}
	over, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(ended); end(c, over) })
	err := c.talk()
	close(over)
	if !stop() {
		<-ended
	}
	if err != nil {
		return nil, cause(ctx, err)
	}
	return &c.reply, nil
}

// interrupt ends what the connection is waiting for, and breaks the connection.
func (c *conn) interrupt(<-chan struct{}) { c.net.SetDeadline(time.Unix(1, 0)) }

// cancelEvery is the interval of repeated cancel requests: one does nothing to a process whose statement has not begun.
const cancelEvery = 20 * time.Millisecond

// cancel asks the server to cancel the connection's statement, until the reply has come. It returns when the server has
// closed the second connection that this needs, after sending the signal to its process: so no later statement can be
// hit.
func (c *conn) cancel(over <-chan struct{}) {
	until := c.soon()
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	c.net.SetDeadline(until)
	for {
		if err := c.pg.CancelRequest(ctx); err != nil {
			c.interrupt(over)
			return
		}
		select {
		case <-over:
			return
		case <-time.After(cancelEvery):
		}
	}
}

// talk sends the collected statements and reads the reply.
func (c *conn) talk() error {
	if err := c.front.Flush(); err != nil {
		return err
	}
	return c.receive()
}

// receive reads until the server is ready for the next packet.
func (c *conn) receive() error {
	c.reply = reply{}
	for {
		message, err := c.front.Receive()
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			c.reply.rows++
			c.reply.yes = len(m.Values) > 0 && len(m.Values[0]) == 1 && m.Values[0][0] == 1
			if c.each != nil {
				c.each(m.Values)
			}
		case *pgproto3.CommandComplete:
			c.reply.undone = string(m.CommandTag) == "ROLLBACK"
		case *pgproto3.ErrorResponse:
			if c.reply.refused == nil {
				c.reply.refused = pgconn.ErrorResponseToPgError(m)
			}
			if m.Severity == "FATAL" || m.SeverityUnlocalized == "FATAL" || m.SeverityUnlocalized == "PANIC" {
				return c.reply.refused // the server closes the connection
			}
		case *pgproto3.ReadyForQuery:
			c.tx = m.TxStatus
			return nil
		}
	}
}

// must turns a refusal into an error.
func (c *conn) must(r *reply, err error) error {
	if err == nil && r.refused != nil {
		return r.refused
	}
	return err
}

// add adds any statement to the packet, with parameters as text.
func (c *conn) add(statement string, parameters ...string) {
	values := make([][]byte, len(parameters))
	for i, p := range parameters {
		values[i] = []byte(p)
	}
	c.front.SendParse(&pgproto3.Parse{Query: statement})
	c.front.SendBind(&pgproto3.Bind{ParameterFormatCodes: textFormat, Parameters: values, ResultFormatCodes: textFormat})
	c.front.SendExecute(execute)
}

// query runs one statement and returns its rows as text. After an error that is not a PgError the connection is broken.
func (c *conn) query(ctx context.Context, statement string, parameters ...string) (rows [][]string, err error) {
	c.each = func(values [][]byte) {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
	c.add(statement, parameters...)
	err = c.must(c.ask(ctx, c.soon()))
	c.each = nil
	return rows, err
}

// row is query for a statement that returns one row.
func (c *conn) row(ctx context.Context, statement string, parameters ...string) ([]string, error) {
	rows, err := c.query(ctx, statement, parameters...)
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// kill ends abandoned connections of this service, and returns when the server has freed all that they held. Their
// names are unique, so it cannot hit another connection. A pooler leaves the name on a connection to the server that
// nobody uses, until its SET for the next client: that one holds nothing, and is not the service's to end.
func (c *conn) kill(ctx context.Context, abandoned []string) error {
	lent := ""
	if c.svc.pooled {
		lent = " AND state <> 'idle' AND query NOT ILIKE 'SET %'"
	}
	for pause := time.Millisecond; len(abandoned) > 0; pause = min(2*pause, 20*time.Millisecond) {
		// A backend leaves this view after it has released its locks.
		left, err := c.query(ctx, "SELECT application_name, pg_terminate_backend(pid) FROM pg_stat_activity "+
			"WHERE application_name = ANY(string_to_array($1, ','))"+lent, strings.Join(abandoned, ","))
		if err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// settle ends a transaction that is open: before that, a pooler lends the connection to nobody else.
func (c *conn) settle() error {
	if !c.svc.pooled || c.tx == 'I' {
		return nil
	}
	_, err := c.query(context.Background(), "ROLLBACK")
	return err
}

// leave closes the connection in order and waits until the server has freed what it held.
func (c *conn) leave() {
	_ = c.settle() // if that fails, the pooler finds out
	c.front.Send(&pgproto3.Terminate{})
	c.net.SetDeadline(c.soon())
	if c.front.Flush() == nil {
		for {
			if _, err := c.front.Receive(); err != nil {
				break // it has ended
			}
		}
	}
	c.svc.drop(c)
}

// lastWords returns what the server has said before it ended a connection that is not alive, or how that ended.
func (c *conn) lastWords() error {
	c.net.SetDeadline(c.soon())
	for {
		message, err := c.front.Receive()
		if err != nil {
			return err
		}
		if m, ok := message.(*pgproto3.ErrorResponse); ok {
			return pgconn.ErrorResponseToPgError(m)
		}
	}
}

// dead reports whether err means that the server itself had ended the connection before it read the last packet.
func dead(err error) bool {
	return slices.Contains([]string{"57P01", "57P02", "57P05", "25P03", "25P04"}, stateOf(err))
}
