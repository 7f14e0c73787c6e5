// Errors, sorted into the classes of package drivers.
package mysql

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
)

// The server's error numbers that matter here. Those from 3000 exist only in MySQL.
const (
	errTooManyConns     = 1040
	errDatabaseDenied   = 1044
	errAccessDenied     = 1045
	errUnknownDatabase  = 1049
	errShutdown         = 1053
	errUnknownThread    = 1094
	errCommandDenied    = 1142
	errNoSuchTable      = 1146
	errForcedClose      = 1159 // a time-out of the server while it read
	errCommit           = 1180
	errUserConns        = 1203
	errLockWait         = 1205 // time-out, and on MariaDB also the answer to NOWAIT
	errDeadlock         = 1213
	errNeedsPrivilege   = 1227
	errUserLimit        = 1226
	errInterrupted      = 1317 // by KILL QUERY
	errTooManyStmts     = 1461 // prepared ones, on the whole server
	errAccessNoPassword = 1698
	errKilled           = 1927 // by KILL, on MariaDB
	errStatementTime    = 1969 // by MariaDB's max_statement_time
	errUserLockDeadlock = 3058 // of GET_LOCK; on MariaDB also errDeadlock
	errNowait           = 3572 // the answer to NOWAIT
	errIdleClosed       = 4031
)

const moreConns = "use fewer -clients, end other users' connections, or raise the server's max_connections"

// numberOf returns the server's number of an error, or 0 if the server did not send it.
func numberOf(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// contended reports whether the server has refused a lock, and changed nothing, because others have it. A deadlock is
// such an answer: the server undid the statement, and the client may try again as after any refusal.
func contended(err error) bool {
	switch numberOf(err) {
	case errLockWait, errDeadlock, errUserLockDeadlock, errStatementTime, errNowait:
		return true
	}
	return false
}

// failed classifies the error of a statement, and marks the connection as broken unless the server has answered and
// goes on.
func (c *conn) failed(ctx context.Context, err error) error {
	switch n := numberOf(err); n {
	case 0:
		c.broken.Store(true)
		c.reason = c.unheard(ctx, err)
		return c.reason
	case errShutdown, errForcedClose, errKilled, errIdleClosed:
		c.broken.Store(true)
		c.reason = err
		return &drivers.Error{Class: drivers.ClassClosed, Op: "statement", Err: err}
	case errCommit: // the outcome is unknown
		c.broken.Store(true)
		return &drivers.Error{Class: drivers.ClassOther, Op: "statement", Err: err}
	default:
		return &drivers.Error{Class: classOf(n), Op: "statement", Err: err}
	}
}

func classOf(number uint16) drivers.Class {
	switch number {
	case errDatabaseDenied, errAccessDenied, errCommandDenied, errNeedsPrivilege, errAccessNoPassword:
		return drivers.ClassAuth
	case errTooManyConns, errUserConns, errUserLimit:
		return drivers.ClassConnect
	}
	return drivers.ClassServer
}

// unheard returns why no answer came. For most failures the library only says that the connection is invalid.
func (c *conn) unheard(ctx context.Context, err error) error {
	below := c.wire.fault
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(below, os.ErrDeadlineExceeded):
		if _, ok := ctx.Deadline(); ok { // the wire's deadline came first
			return context.DeadlineExceeded
		}
		return &drivers.Error{Class: drivers.ClassTimeout, Op: "statement", Err: fmt.Errorf("no answer within %v", c.io)}
	case below != nil:
		err = below
	}
	return &drivers.Error{Class: drivers.ClassClosed, Op: "statement", Err: err}
}

// noConnection returns why there is no connection. It does not repeat what the server says about users.
func (c *conn) noConnection(ctx context.Context, err error) error {
	t, fault := c.svc.target, err
	if c.wire != nil && c.wire.fault != nil {
		fault = c.wire.fault
	}
	say := func(class drivers.Class, text string, err error) error {
		return &drivers.Error{Class: class, Op: "connect to " + t.redacted(), Err: fmt.Errorf("%s: %w", text, err)}
	}
	certificate := drivers.CertificateHint(err)
	switch n := numberOf(err); {
	case n == errAccessDenied, n == errAccessNoPassword:
		return &drivers.Error{Class: drivers.ClassAuth, Op: "connect to " + t.redacted(),
			Err: fmt.Errorf("error %d: access denied: check user and password, and whether the user has to use TLS", n)}
	case n == errDatabaseDenied:
		return &drivers.Error{Class: drivers.ClassAuth, Op: "connect to " + t.redacted(),
			Err: fmt.Errorf("error %d: the user may not use the database %s: grant it", n, t.database)}
	case n == errUnknownDatabase:
		return say(drivers.ClassServer, "create the database or name another", err)
	case n == errTooManyConns, n == errUserConns, n == errUserLimit:
		return say(drivers.ClassConnect, moreConns, err)
	case n != 0:
		return say(drivers.ClassConnect, "the server refuses", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		return say(drivers.ClassConnect, "no answer in time", ctx.Err())
	case certificate != "":
		return say(drivers.ClassConnect, certificate, err)
	case errors.Is(err, mysql.ErrNoTLS):
		return say(drivers.ClassConnect, "drop TLS or have the server offer it", err)
	case c.wire != nil:
		return say(drivers.ClassConnect, "the server was reached and did not let in: is it MySQL or MariaDB?", fault)
	}
	return say(drivers.ClassConnect, "is a server there?", err)
}

// explain adds to an error of Open or Session how to correct it.
func (s *service) explain(err error) error {
	switch numberOf(err) {
	case errCommandDenied, errDatabaseDenied, errNeedsPrivilege:
		return &drivers.Error{Class: drivers.ClassAuth, Op: "open", Err: fmt.Errorf(
			"error %d: the user may not make a table in %s: grant CREATE, DROP, SELECT, INSERT, UPDATE and DELETE there",
			numberOf(err), s.target.database)}
	case errTooManyConns:
		if s.about.maxConns > 0 {
			return fmt.Errorf("%w (it accepts %d)", err, s.about.maxConns)
		}
	}
	return err
}

// fail wraps err with the operation; nil stays nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	class := drivers.ClassOf(err)
	if errors.Is(err, errClosed) {
		class = drivers.ClassClosed
	}
	return &drivers.Error{Class: class, Op: "mysql: " + op, Err: err}
}

// prefixed adds the prefix, unless err already begins with "mysql: ".
func prefixed(prefix string, err error) error {
	if strings.HasPrefix(err.Error(), "mysql: ") {
		return err
	}
	return fmt.Errorf("%s%w", prefix, err)
}

// number parses a number that the server sent; it returns 0 for NULL and anything else.
func number(v sqldriver.Value) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	case float64:
		return int64(v)
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}
