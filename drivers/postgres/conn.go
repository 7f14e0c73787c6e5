package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// conn is a connection of a session. One goroutine uses it at a time; Close of the service may close its socket
// meanwhile.
type conn struct {
	*pgconn.PgConn
	svc   *service
	bind  pgproto3.Bind // reused, as param is
	param [1][]byte
}

// reply is the server's answer to one packet of statements.
type reply struct {
	refused *pgconn.PgError // the first error; later statements were not executed
	yes     bool            // the last row began with true, or the transaction was committed
	begun   bool            // some of it has come
}

// is reports whether the server has refused a statement for that reason.
func (r reply) is(state string) bool { return r.refused != nil && r.refused.Code == state }

var (
	execute     = &pgproto3.Execute{}
	synchronise = &pgproto3.Sync{}
)

// run adds a statement of the design to the packet that ask sends, with its parameter, if it has one. pgx's own
// batches allocate, and its single statements are a packet each.
func (c *conn) run(name string, parameter []byte) {
	statement := c.svc.statements[name]
	if c.svc.pooled {
		c.Frontend().SendParse(&pgproto3.Parse{Query: statement})
		name = ""
	}
	c.bind = pgproto3.Bind{PreparedStatement: name}
	if strings.Contains(statement, "$1") {
		c.param[0], c.bind.Parameters = parameter, c.param[:]
	}
	c.Frontend().SendBind(&c.bind)
	c.Frontend().SendExecute(execute)
}

// soon returns the time at which the answer to a request sent now is due.
func (c *conn) soon() time.Time { return time.Now().Add(c.svc.cfg.IO()) }

// ask sends the packet and reads the reply, until that time, or without limit if it is zero. If ctx ends meanwhile,
// the reply says whether the packet was executed all the same. After an error the connection is of no use any more,
// and what the server has done or will do with the packet is unknown.
func (c *conn) ask(ctx context.Context, until time.Time) (reply, error) {
	c.Frontend().SendSync(synchronise)
	_ = c.Conn().SetDeadline(until) // an error shows in what follows
	if ctx.Done() == nil {
		return c.exchange()
	}
	over, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(ended); c.cancel(over) })
	r, err := c.exchange()
	close(over)
	if !stop() {
		<-ended
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // the reason
	}
	return r, err
}

// cancelEvery is the interval of repeated cancel requests: one does nothing to a process whose statement has not
// begun.
const cancelEvery = 20 * time.Millisecond

// cancel asks the server to cancel the packet, until the reply has come. A request ends when the server has sent the
// signal to its process, so no later statement can be hit.
func (c *conn) cancel(over <-chan struct{}) {
	ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), counted{}, &c.svc.sent), c.soon())
	defer cancel()
	until, _ := ctx.Deadline()
	_ = c.Conn().SetDeadline(until)
	for c.CancelRequest(ctx) == nil {
		select {
		case <-over:
			return
		case <-time.After(cancelEvery):
		}
	}
	_ = c.Conn().SetDeadline(time.Unix(1, 0)) // the reply is waited for no longer
}

// exchange sends the packet and reads until the server is ready for the next one. A server that has ended the
// connection may have said why, which can be read even if nothing can be sent.
func (c *conn) exchange() (r reply, err error) {
	unsent := c.Frontend().Flush()
	for {
		message, err := c.ReceiveMessage(context.Background())
		switch m := message.(type) {
		case nil:
			switch {
			case stateOf(err) != "":
			case r.refused != nil:
				err = r.refused
			case unsent != nil:
				err = unsent
			}
			return r, err
		case *pgproto3.ErrorResponse:
			if r.refused == nil {
				r.refused = pgconn.ErrorResponseToPgError(m)
			}
		case *pgproto3.DataRow:
			r.begun, r.yes = true, len(m.Values) > 0 && string(m.Values[0]) == "t"
		case *pgproto3.CommandComplete:
			r.begun, r.yes = true, r.yes || string(m.CommandTag) == "COMMIT"
		case *pgproto3.BindComplete:
			r.begun = true
		case *pgproto3.ReadyForQuery:
			return r, nil
		}
	}
}

// leave closes the connection in order, and waits until the server has freed what it held.
func (c *conn) leave() {
	_ = c.Conn().SetDeadline(c.soon())
	c.Frontend().Send(&pgproto3.Terminate{})
	err := c.Frontend().Flush()
	for err == nil {
		_, err = c.ReceiveMessage(context.Background())
	}
	c.svc.drop(c)
}
