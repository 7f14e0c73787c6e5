package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockbench/lockbench/drivers"
)

var errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "service", Err: errors.New("it has been closed")}

// fail wraps err with the operation and a class; nil stays nil.
func (s *service) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	err = s.explain(err)
	return &drivers.Error{Class: classOf(err), Op: "postgres: " + op, Err: err}
}

// endings are the settings of a user at which the server ends a statement or a connection, by the SQLSTATE of that.
var endings = map[string]string{
	"55P03": "lock_timeout", "57014": "statement_timeout", "25P03": "idle_in_transaction_session_timeout",
	"25P04": "transaction_timeout", "57P05": "idle_session_timeout",
}

// explain returns err or, if the server has sent it for a setting of the user, one that names that and its value.
func (s *service) explain(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	name := endings[pg.Code]
	limit := s.limits[name]
	if name == "" || pg.Code == "57014" && limit == 0 && !strings.Contains(pg.Message, "statement timeout") {
		return err // the server may also cancel a statement on request
	}
	op := name
	if limit > 0 {
		op += fmt.Sprintf(" (%v)", limit)
	}
	return &drivers.Error{Class: drivers.ClassEnded, Op: op, Err: fmt.Errorf("%w; raise %s for this user", err, name)}
}

// cause returns ctx's own error if that has ended, because it is the reason for err, and err otherwise.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// stateOf returns the SQLSTATE of an error, or "" if the server did not send it.
func stateOf(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// classOf returns the class of an error by its SQLSTATE. A cancelled statement may have been executed.
func classOf(err error) drivers.Class {
	state := stateOf(err)
	known, ok := errors.AsType[*drivers.Error](err)
	switch {
	case ok:
		return known.Class
	case state == "":
		return drivers.ClassOf(err)
	case state == "57014":
		return drivers.ClassTimeout
	case strings.HasPrefix(state, "57P"):
		return drivers.ClassClosed
	case state == "25006", state == "0A000": // a write, or BEGIN READ WRITE on a stand-by
		return drivers.ClassReadOnly
	case strings.HasPrefix(state, "28"), state == "42501":
		return drivers.ClassAuth
	}
	return drivers.ClassServer
}

// connectError turns an error of pgx, which begins with the user's name, into one that says how to correct it.
func (s *service) connectError(ctx context.Context, err error) error {
	if whole, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		err = whole.Unwrap()
	}
	if errors.Is(err, errClosed) || s.closing.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return errClosed
	}
	var pg *pgconn.PgError
	var known *drivers.Error
	class, hint := drivers.ClassConnect, ""
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.As(err, &pg):
		err = pg
		class, hint = s.hintAt(pg)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		hint = "no server listens there: check host and port, or start it"
	case drivers.CertificateHint(err) != "":
		hint = drivers.CertificateHint(err)
	case strings.Contains(err.Error(), "unexpected message"), strings.Contains(err.Error(), "unknown message type"),
		strings.Contains(err.Error(), "failed to receive message: timeout"):
		hint = "what listens there does not answer like PostgreSQL"
	case strings.Contains(err.Error(), "server refused TLS"):
		hint = "the server has no TLS: give sslmode=disable"
	}
	if hint != "" {
		err = fmt.Errorf("%w; %s", err, hint)
	}
	return &drivers.Error{Class: class, Op: "connect", Err: err}
}

func (s *service) hintAt(pg *pgconn.PgError) (drivers.Class, string) {
	switch {
	case pg.Code == "53300":
		name := map[string]string{ // by where the server says so: the text may be in any language
			"InitializeSessionUserId": "CONNECTION LIMIT of the role", "CheckMyDatabase": "CONNECTION LIMIT of the database",
		}[pg.Routine]
		return drivers.ClassLimit, "lower -clients, or raise the " + cmp.Or(name, "server's max_connections")
	case pg.Code == "08P01" && strings.Contains(pg.Message, "max_client_conn"):
		return drivers.ClassLimit, "lower -clients, or raise the pooler's max_client_conn"
	case pg.Code == "08P01" && strings.Contains(pg.Message, "startup parameter"):
		return drivers.ClassServer, "a pooler such as PgBouncer rejects what a server accepts: " + s.poolerHint()
	case pg.Code == "42704" && strings.Contains(pg.Message, "configuration parameter"):
		return drivers.ClassServer, "it stands in the address: drop it"
	case pg.Code == "3D000":
		return drivers.ClassServer, "name a database that exists: postgres://host/database"
	case pg.Code == "28000" && strings.Contains(pg.Message, "no encryption"):
		return drivers.ClassAuth, "the server may want TLS: give sslmode=verify-full"
	case strings.HasPrefix(pg.Code, "28"):
		return drivers.ClassAuth, "check user, password and pg_hba.conf"
	case pg.Code == "57P03":
		return drivers.ClassConnect, "" // it is starting up, or shutting down
	}
	return classOf(pg), ""
}
