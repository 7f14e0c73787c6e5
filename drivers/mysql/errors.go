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
	errOption           = 1290 // of the server, such as read_only
	errInterrupted      = 1317 // by KILL QUERY
	errTooManyStmts     = 1461 // prepared ones, on the whole server
	errAccessNoPassword = 1698
	errReadOnlyTx       = 1792
	errReadOnlyMode     = 1836
	errKilled           = 1927 // by KILL, on MariaDB
	errStatementTime    = 1969 // by MariaDB's max_statement_time
	errExecutionTime    = 3024 // by MySQL's max_execution_time
	errUserLockDeadlock = 3058 // of GET_LOCK; on MariaDB also errDeadlock
	errNowait           = 3572 // the answer to NOWAIT
	errIdleClosed       = 4031
)

// settings are those at which the server ends a statement, or for which it takes no writes, by the error.
var settings = map[uint16]string{
	errStatementTime: "max_statement_time", errExecutionTime: "max_execution_time",
	errLockWait: "innodb_lock_wait_timeout",
	errOption:   "read_only", errReadOnlyMode: "read_only", errReadOnlyTx: "transaction_read_only",
}

// numberOf returns the server's number of an error, or 0 if the server did not send it.
func numberOf(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

// contended reports whether the server has refused a lock with NOWAIT, and changed nothing, because others have it.
func contended(err error) bool {
	n := numberOf(err)
	return n == errLockWait || n == errNowait || deadlocked(err)
}

// deadlocked is like a refusal: the server undid the statement, and the client may try again.
func deadlocked(err error) bool {
	return numberOf(err) == errDeadlock || numberOf(err) == errUserLockDeadlock
}

// interrupted reports whether the server has ended a statement at a time limit or by KILL QUERY.
func interrupted(err error) bool {
	n := numberOf(err)
	return n == errInterrupted || n == errStatementTime || n == errExecutionTime
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
	case errStatementTime, errExecutionTime, errLockWait:
		return c.svc.ended(settings[n], err)
	case errOption, errReadOnlyMode, errReadOnlyTx:
		return &drivers.Error{Class: drivers.ClassReadOnly, Op: "the server has " + settings[n],
			Err: fmt.Errorf("%w; turn it off, or name a server that takes writes", err)}
	default:
		return &drivers.Error{Class: classOf(n), Op: "statement", Err: err}
	}
}

// ended returns the error of a statement that the server has ended at a time limit of its user.
func (s *service) ended(setting string, err error) error {
	op := setting
	if limit := s.about.limits[setting]; limit > 0 {
		op = fmt.Sprintf("%s (%v)", setting, limit)
	}
	return &drivers.Error{Class: drivers.ClassEnded, Op: op, Err: fmt.Errorf("%w; raise %s for this user", err, setting)}
}

func classOf(number uint16) drivers.Class {
	switch number {
	case errDatabaseDenied, errAccessDenied, errCommandDenied, errNeedsPrivilege, errAccessNoPassword:
		return drivers.ClassAuth
	case errTooManyConns, errUserConns, errUserLimit:
		return drivers.ClassLimit
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
	case n == errTooManyConns:
		text := fmt.Sprintf("lower -clients, or raise max_connections (%d)", c.svc.about.maxConns)
		return say(drivers.ClassLimit, text, err)
	case n == errUserConns, n == errUserLimit:
		return say(drivers.ClassLimit, "lower -clients, or raise max_user_connections", err)
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
	switch n := numberOf(err); n {
	case errCommandDenied, errDatabaseDenied, errNeedsPrivilege:
		return &drivers.Error{Class: drivers.ClassAuth, Op: "open", Err: fmt.Errorf(
			"error %d: the user may not make a table in %s: grant CREATE, DROP, SELECT, INSERT, UPDATE and DELETE there",
			n, s.target.database)}
	}
	return err
}

// fail wraps err with the operation, unless it has one; nil stays nil.
func fail(op string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "mysql: ") {
		return err
	}
	return &drivers.Error{Class: drivers.ClassOf(err), Op: "mysql: " + op, Err: err}
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
