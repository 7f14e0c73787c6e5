// Errors: what the server's numbers mean, and that no answer has come.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockbench/lockbench/drivers"
)

// The numbers that the locks themselves ask for.
const (
	errNoSuchTable      = 1146
	errLockWait         = 1205 // time-out, and on MariaDB also the answer to NOWAIT
	errDeadlock         = 1213
	errInterrupted      = 1317 // by KILL QUERY
	errUserLockDeadlock = 3058 // of GET_LOCK; on MariaDB also errDeadlock
	errNowait           = 3572 // the answer to NOWAIT of MySQL
)

const (
	login  = "access denied: check user and password, and whether the user has to use TLS"
	grant  = "grant CREATE, DROP, SELECT, INSERT, UPDATE and DELETE on the database to the user, or name another"
	fewer  = "lower -clients, or raise "
	writes = "turn it off, or name a server that takes writes"
)

// meanings are those of the server's numbers that say more than "refused" (ClassServer): the class, the variable that is
// behind it, and a remedy. Those from 3000 exist only in MySQL.
var meanings = map[uint16]struct {
	class           drivers.Class
	setting, remedy string
}{
	1040: {drivers.ClassLimit, "", fewer + "max_connections"},
	1203: {drivers.ClassLimit, "", fewer + "max_user_connections"},
	1226: {drivers.ClassLimit, "", fewer + "this limit of the user, such as max_user_connections"},

	1044: {drivers.ClassAuth, "", grant},
	1045: {drivers.ClassAuth, "", login},
	1142: {drivers.ClassAuth, "", grant},
	1227: {drivers.ClassAuth, "", grant},
	1698: {drivers.ClassAuth, "", login}, // without a password
	1049: {drivers.ClassServer, "", "create the database or name another"},

	1290: {drivers.ClassReadOnly, "read_only", writes}, // its text names the option, which may be super_read_only
	1792: {drivers.ClassReadOnly, "transaction_read_only", writes},
	1836: {drivers.ClassReadOnly, "read_only", writes},

	1969:        {drivers.ClassEnded, "max_statement_time", ""}, // MariaDB
	3024:        {drivers.ClassEnded, "max_execution_time", ""}, // MySQL
	errLockWait: {drivers.ClassEnded, "innodb_lock_wait_timeout", ""},

	1053: {drivers.ClassClosed, "", ""}, // shutdown
	1159: {drivers.ClassClosed, "", ""}, // the server has waited too long for a packet
	1927: {drivers.ClassClosed, "", ""}, // KILL, on MariaDB
	4031: {drivers.ClassClosed, "", ""}, // idle for too long
	1180: {drivers.ClassOther, "", ""},  // an error during COMMIT: its outcome is unknown
}

var (
	errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "service", Err: errors.New("it has been closed")}
	errNull   = &drivers.Error{Class: drivers.ClassServer, Op: "GET_LOCK",
		Err: errors.New("the server answers NULL, its name for any error")}
)

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

// interrupted reports whether KILL QUERY may have ended a statement.
func interrupted(err error) bool { return numberOf(err) == errInterrupted || errors.Is(err, errNull) }

// failed classifies the error of a statement that was sent then. What has NoEffect is the server's answer; after anything
// else, it is unknown what the server has done with the statement. It does not repeat what the server says about users.
func (s *service) failed(ctx context.Context, sent time.Time, err error) error {
	n, op := numberOf(err), "statement"
	m := meanings[n]
	_, done := errors.AsType[*drivers.Error](err)
	end, bounded := ctx.Deadline()
	switch {
	case err == nil || done:
		return err
	case n == 0 && ctx.Err() != nil:
		return ctx.Err()
	case n == 0 && bounded && !time.Now().Before(end): // the connection's limit was a moment earlier
		return context.DeadlineExceeded
	case n == 0 && drivers.ClassOf(err) == drivers.ClassConnect:
		return err
	case n == 0 && time.Since(sent) >= s.cfg.IO(): // the library only says that the connection is invalid
		m.class, err = drivers.ClassTimeout, fmt.Errorf("no answer within %v", s.cfg.IO())
	case n == 0:
		m.class = drivers.ClassClosed
	case m.class == "":
		m.class = drivers.ClassServer
	case m.class == drivers.ClassEnded:
		return s.ended(m.setting, err)
	case m.class == drivers.ClassReadOnly:
		op = "the server has " + m.setting
	case m.class == drivers.ClassAuth:
		err = fmt.Errorf("error %d", n)
	case n == 1040:
		m.remedy += " (" + s.about["max_connections"] + ")"
	}
	if m.remedy != "" {
		err = fmt.Errorf("%w: %s", err, m.remedy)
	}
	return &drivers.Error{Class: m.class, Op: op, Err: err}
}

// ended returns the error of a statement or a connection that the server has ended at a time limit of its user.
func (s *service) ended(setting string, err error) error {
	op := setting
	if limit := s.limit(setting); limit > 0 {
		op = fmt.Sprintf("%s (%v)", setting, limit)
	}
	return &drivers.Error{Class: drivers.ClassEnded, Op: op, Err: fmt.Errorf("%w; raise %s for this user", err, setting)}
}

// noConnection returns why there is no connection.
func (s *service) noConnection(ctx context.Context, err error) error {
	class, why := drivers.ClassConnect, "the server was reached and did not let in: is it MySQL or MariaDB?"
	_, dialed := errors.AsType[*net.OpError](err)
	switch certificate := drivers.CertificateHint(err); {
	case meanings[numberOf(err)].remedy != "":
		err = s.failed(ctx, time.Now(), err)
		class, why = drivers.ClassOf(err), "the server refuses"
	case numberOf(err) != 0:
		why = "the server refuses"
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		why = "no answer in time"
	case certificate != "":
		why = certificate
	case errors.Is(err, mysql.ErrNoTLS):
		why = "drop TLS or have the server offer it"
	case dialed:
		why = "is a server there?"
	}
	return &drivers.Error{Class: class, Op: "connect to " + redacted(s.target), Err: fmt.Errorf("%s: %w", why, err)}
}

// fail wraps err with the operation, unless it has one; nil stays nil.
func fail(op string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "mysql: ") {
		return err
	}
	return &drivers.Error{Class: drivers.ClassOf(err), Op: "mysql: " + op, Err: err}
}
