package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
)

var errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "service", Err: errors.New("it has been closed")}

// What Try, Wait and Close expect, by SQLSTATE.
const (
	notAvailable = "55P03" // a lock, at once or before lock_timeout
	deadlock     = "40P01"
	noTable      = "42P01"
)

// meanings are the classes of the server's errors and what helps against them, the first that fits: by the beginning
// of the SQLSTATE and, because messages may be in any language, the routine that reports it; or a part of a pooler's
// message.
var meanings = []struct {
	state, says string
	class       drivers.Class
	remedy      string
}{
	{"53300", "InitializeSessionUserId", drivers.ClassLimit, "lower -clients, or raise the CONNECTION LIMIT of the role"},
	{"53300", "CheckMyDatabase", drivers.ClassLimit, "lower -clients, or raise the CONNECTION LIMIT of the database"},
	{"53300", "", drivers.ClassLimit, "lower -clients, or raise the server's max_connections"},
	{"08P01", "max_client_conn", drivers.ClassLimit, "lower -clients, or raise the pooler's max_client_conn"},
	{"08P01", "startup parameter", drivers.ClassServer, pooler},
	{"42704", "find_option", drivers.ClassServer, "it stands in the address: drop it"},
	{"3D000", "", drivers.ClassServer, "name a database that exists: postgres://host/database"},
	{"28000", "no encryption", drivers.ClassAuth, "the server may want TLS: give sslmode=verify-full"},
	{"28", "", drivers.ClassAuth, "check user, password and pg_hba.conf"},
	{"42501", "", drivers.ClassAuth, ""},
	{"3F000", "", drivers.ClassAuth, ""},     // no schema that the user may use
	{"25006", "", drivers.ClassReadOnly, ""}, // a write
	{"0A000", "", drivers.ClassReadOnly, ""}, // BEGIN READ WRITE on a stand-by
	{"57014", "", drivers.ClassTimeout, ""},  // canceled on request; it may have been executed
	{"57P03", "", drivers.ClassConnect, ""},  // the server is starting up, or shutting down
	{"57P", "", drivers.ClassClosed, ""},
}

const pooler = "a pooler such as PgBouncer rejects what a server accepts: "

// poolerRemedy says what to do about a pooler.
func (s *service) poolerRemedy() string {
	if s.table != "" {
		return "add pgbouncer=true to the address, or give the server's own address"
	}
	return "give the server's own address, or add pgbouncer=true to the pooler's for -lock row-lock, " +
		"or for a pooler in session mode"
}

// endings are the settings of a user at which the server ends a statement or a connection, by the SQLSTATE of that.
var endings = map[string]string{
	"55P03": "lock_timeout", "57014": "statement_timeout", "25P03": "idle_in_transaction_session_timeout",
	"25P04": "transaction_timeout", "57P05": "idle_session_timeout",
}

// endsConnection reports whether err is what the server says before it ends a connection.
func endsConnection(err error) bool {
	state := stateOf(err)
	return strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "25P")
}

// stateOf returns the SQLSTATE of an error, or "" if the server did not send it.
func stateOf(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// fail wraps err with the operation and a class; nil stays nil.
func (s *service) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	class, err := s.explain(err)
	return &drivers.Error{Class: class, Op: "postgres: " + op, Err: err}
}

// explain returns the class of an error and, of one that the server has sent, what helps against it: if a setting of
// the user is the reason, it names that and its value.
func (s *service) explain(err error) (drivers.Class, error) {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if _, known := errors.AsType[*drivers.Error](err); known || !ok {
		return drivers.ClassOf(err), err
	}
	name := endings[pg.Code]
	limit := s.limits[name]
	if name != "" && (pg.Code != "57014" || limit > 0 || strings.Contains(pg.Message, "statement timeout")) {
		op := name
		if limit > 0 {
			op += fmt.Sprintf(" (%v)", limit)
		}
		err = fmt.Errorf("%w; raise %s for this user", pg, name)
		return drivers.ClassEnded, &drivers.Error{Class: drivers.ClassEnded, Op: op, Err: err}
	}
	for _, m := range meanings {
		if !strings.HasPrefix(pg.Code, m.state) || !strings.Contains(pg.Routine+": "+pg.Message, m.says) {
			continue
		}
		if m.remedy == pooler {
			m.remedy += s.poolerRemedy()
		}
		if m.remedy != "" {
			err = fmt.Errorf("%w; %s", pg, m.remedy)
		}
		return m.class, err
	}
	return drivers.ClassServer, err
}

// stranger matches what pgx says of a server that is not PostgreSQL.
var stranger = regexp.MustCompile(`unexpected message|unknown message type|failed to receive message: timeout`)

// connectError turns an error of pgx, which begins with the user's name, into one that says how to correct it.
func (s *service) connectError(ctx context.Context, err error) error {
	if whole, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = whole.Unwrap()
	}
	class, hint := drivers.ClassConnect, drivers.CertificateHint(err)
	known, ok := errors.AsType[*drivers.Error](err)
	switch {
	case ok:
		return known
	case s.closing.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return errClosed
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case stateOf(err) != "":
		class, err = s.explain(err)
	case s.pooled && ctx.Err() != nil:
		class = drivers.ClassLimit
		err = fmt.Errorf("the pooler gave no connection to the server in %v", s.cfg.IO())
		hint = "lower -clients, or raise its pool_size"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		hint = "no server listens there: check host and port, or start it"
	case strings.Contains(err.Error(), "server refused TLS"):
		hint = "the server has no TLS: give sslmode=disable"
	case stranger.MatchString(err.Error()):
		hint = cmp.Or(hint, "what listens there does not answer like PostgreSQL")
	}
	if hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return &drivers.Error{Class: class, Op: "connect", Err: err}
}
