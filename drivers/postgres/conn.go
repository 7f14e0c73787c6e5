package postgres

// One connection: how it is opened, asked, interrupted and left.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// conn is a connection, and with it a session of the server's. One goroutine uses it at a time; Close of the service
// may close the socket under it.
type conn struct {
	svc   *service
	name  string         // its application_name, which no other connection has ever had
	pg    *pgconn.PgConn // hijacked: all that it still does is to cancel
	net   net.Conn
	front *pgproto3.Frontend
	in    *replies // what front reads
	look  *look
	trips *atomic.Int64
	tx    byte // the status of its transaction: I none, T in one, E in one that has failed

	reply reply
	bind  pgproto3.Bind
	param [1][]byte
	each  func(values [][]byte) // gets the rows, if set
}

// reply is what the server has answered to one packet of statements.
type reply struct {
	refused *pgconn.PgError // the first error; the statements after it were not executed
	rows    int             // of all statements
	yes     bool            // the last row began with true, in binary
	undone  bool            // a transaction was rolled back though it was to be committed
}

var (
	binaryFormat, textFormat = []int16{1}, []int16{0}
	execute                  = &pgproto3.Execute{}
	synchronise              = &pgproto3.Sync{}
)

// dial opens a connection, prepares the statements of the design, and has the server end the connections by the names
// of ghosts, which were given up: what they still held or were about to get is free when dial returns.
func (s *service) dial(
	ctx context.Context, trips *atomic.Int64, statements map[string]string, ghosts []string,
) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.IO())
	defer cancel()
	if trips != &s.control.trips { // which has work to do when the service closes
		defer context.AfterFunc(s.closing, cancel)()
	}
	target := s.target.Copy()
	c := &conn{svc: s, name: "lockbench " + s.token + " " + strconv.FormatInt(s.dialed.Add(1), 10), trips: trips}
	target.RuntimeParams["application_name"] = c.name
	target.MaxProtocolMessageBodyLen = maxMessage
	target.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend { // above TLS
		c.in = &replies{Reader: r, left: maxLogin, login: &login{}}
		return pgproto3.NewFrontend(c.in, w)
	}
	pg, err := pgconn.ConnectConfig(ctx, target)
	if err != nil {
		return nil, s.connectError(ctx, err)
	}
	hijacked, err := pg.Hijack()
	if err != nil {
		return nil, err
	}
	c.in.login = nil
	c.pg, c.net, c.front, c.tx = pg, hijacked.Conn, hijacked.Frontend, hijacked.TxStatus
	c.look, err = newLook(c.net)
	if err == nil {
		err = s.add(c)
	}
	if err != nil {
		c.net.Close()
		return nil, err
	}
	for name, statement := range statements {
		c.front.SendParse(&pgproto3.Parse{Name: name, Query: statement})
	}
	until, _ := ctx.Deadline()
	if err = c.must(c.ask(ctx, until)); err == nil {
		err = c.bury(ctx, ghosts)
	}
	if err != nil {
		s.drop(c)
		return nil, s.connectError(ctx, err)
	}
	return c, nil
}

// run adds a prepared statement to the packet that ask sends, with one parameter in the given format, or none.
func (c *conn) run(name string, format []int16, parameter []byte) {
	c.bind = pgproto3.Bind{PreparedStatement: name, ResultFormatCodes: binaryFormat}
	if format != nil {
		c.param[0] = parameter
		c.bind.ParameterFormatCodes, c.bind.Parameters = format, c.param[:]
	}
	c.front.SendBind(&c.bind)
	c.front.SendExecute(execute)
}

// soon returns when a request must be answered that is sent now.
func (c *conn) soon() time.Time { return time.Now().Add(c.svc.cfg.IO()) }

// ask sends the packet and reads the reply, until then at the latest (zero: whenever) or the end of ctx. After an error
// the connection is of no further use, and what the server has done or will do with the packet is unknown.
func (c *conn) ask(ctx context.Context, until time.Time) (*reply, error) {
	return c.exchange(ctx, until, (*conn).interrupt)
}

// wait is ask for statements that may take their time. When ctx ends, the server is asked to cancel them, and the
// connection stays usable: the reply then says whether they were done nevertheless.
func (c *conn) wait(ctx context.Context, until time.Time) (*reply, error) {
	return c.exchange(ctx, until, (*conn).cancel)
}

// exchange calls end when ctx ends before the reply is there, with a channel that is closed as soon as it is.
func (c *conn) exchange(ctx context.Context, until time.Time, end func(c *conn, over <-chan struct{})) (*reply, error) {
	c.trips.Add(1)
	c.in.expect()
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

// interrupt breaks off what the connection is waiting for, and with that the connection.
func (c *conn) interrupt(<-chan struct{}) { c.net.SetDeadline(time.Unix(1, 0)) }

// cancelEvery is how long a cancel request may take to show before it is sent again: it does nothing to a process whose
// statement has not begun.
const cancelEvery = 20 * time.Millisecond

// cancel asks the server to break off what it is doing for the connection, until the reply is there. It returns when the
// server has closed the second connection that this takes, having sent its process the signal: no later statement can be
// hit by that.
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

// talk sends what was collected and reads the reply.
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
			return readError(err)
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			if c.reply.rows++; c.reply.rows > maxRows {
				return breach(fmt.Errorf("the server answers with more than %d rows", maxRows))
			}
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
		case *pgproto3.BindComplete, *pgproto3.ParseComplete, *pgproto3.RowDescription, *pgproto3.NoData,
			*pgproto3.EmptyQueryResponse, *pgproto3.NoticeResponse, *pgproto3.NotificationResponse,
			*pgproto3.ParameterStatus:
		default:
			return breach(fmt.Errorf("the server answers with %T", message))
		}
	}
}

// must makes an error of a refusal.
func (c *conn) must(r *reply, err error) error {
	if err == nil && r.refused != nil {
		return r.refused
	}
	return err
}

// add puts any statement into the packet, with parameters as text.
func (c *conn) add(statement string, parameters ...string) {
	values := make([][]byte, len(parameters))
	for i, p := range parameters {
		values[i] = []byte(p)
	}
	c.front.SendParse(&pgproto3.Parse{Query: statement})
	c.front.SendBind(&pgproto3.Bind{ParameterFormatCodes: textFormat, Parameters: values, ResultFormatCodes: textFormat})
	c.front.SendExecute(execute)
}

// query runs one statement and returns its rows as text. An error that is no PgError has cost the connection.
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

// row is query for a statement that has one row of so many columns.
func (c *conn) row(ctx context.Context, columns int, statement string, parameters ...string) ([]string, error) {
	rows, err := c.query(ctx, statement, parameters...)
	if err == nil && (len(rows) != 1 || len(rows[0]) != columns) {
		err = breach(fmt.Errorf("the server answers with %d rows, or not %d columns, where one row is due", len(rows), columns))
	}
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// bury ends connections of this service that were given up, and returns when the server has let go of all that they
// held. Their names are unique, so that no other connection can be meant.
func (c *conn) bury(ctx context.Context, ghosts []string) error {
	for pause := time.Millisecond; len(ghosts) > 0; pause = min(2*pause, 20*time.Millisecond) {
		// A backend leaves this view after it has given up its locks.
		left, err := c.query(ctx, "SELECT application_name, pg_terminate_backend(pid) FROM pg_stat_activity "+
			"WHERE application_name = ANY(string_to_array($1, ','))", strings.Join(ghosts, ","))
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

// leave closes the connection in good order and waits until the server has let go of what it held.
func (c *conn) leave() {
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

// dead reports whether err means that the server itself has ended the connection, before it read what was sent last.
func dead(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "57P01" || pg.Code == "57P02" || pg.Code == "57P05" || pg.Code == "25P03")
}
