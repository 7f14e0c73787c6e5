// What the errors of etcd and gRPC mean to the client of a lock.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockbench/lockbench/drivers"
)

var errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "service", Err: net.ErrClosed}

// fail wraps err with the operation and a class; nil stays nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	class := classOf(err)
	for known, text := range remedies {
		if errors.Is(err, known) {
			err = fmt.Errorf("%w: %s", err, text)
		}
	}
	return &drivers.Error{Class: class, Op: "etcd: " + op, Err: err}
}

// remedies say what an error of the server means, and what to do.
var remedies = map[error]string{
	rpctypes.ErrPermissionDenied: "its role lacks the keys: " + drivers.PrefixRemedy,
	rpctypes.ErrInvalidAuthToken: "the login has expired (--auth-token-ttl), or its user was changed",
	rpctypes.ErrUserEmpty:        "the request had no login, or one that has expired",
	rpctypes.ErrNoSpace: "its NOSPACE alarm stays on, and refuses everybody's writes: clear it with etcdctl compact, " +
		"defrag and alarm disarm",
}

// gone reports whether a lease does not exist (any more).
func gone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// classes are those of the codes of answers. Only errors that certainly had no effect have a class that says so:
// "unavailable" is also the answer of members that had no majority in time, and may still find one.
var classes = map[codes.Code]drivers.Class{
	codes.Unavailable:        drivers.ClassTimeout,
	codes.DeadlineExceeded:   drivers.ClassTimeout,
	codes.Canceled:           drivers.ClassTimeout,
	codes.Unauthenticated:    drivers.ClassAuth,
	codes.PermissionDenied:   drivers.ClassAuth,
	codes.InvalidArgument:    drivers.ClassServer,
	codes.ResourceExhausted:  drivers.ClassServer,
	codes.FailedPrecondition: drivers.ClassServer,
	codes.OutOfRange:         drivers.ClassServer,
	codes.NotFound:           drivers.ClassServer,
}

// exceptions are the answers whose code says less than they do.
var exceptions = map[error]drivers.Class{
	rpctypes.ErrNoSpace:         drivers.ClassFull,
	rpctypes.ErrStopped:         drivers.ClassClosed,
	rpctypes.ErrAuthFailed:      drivers.ClassAuth,
	rpctypes.ErrUserEmpty:       drivers.ClassAuth,
	rpctypes.ErrAuthOldRevision: drivers.ClassAuth,
}

func classOf(err error) drivers.Class {
	var known *drivers.Error
	var server rpctypes.EtcdError
	st, ok := status.FromError(err)
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return drivers.ClassOf(err)
	case errors.As(err, &server):
		return cmp.Or(exceptions[server], classes[server.Code()], drivers.ClassProtocol)
	case !ok:
		return drivers.ClassOf(err)
	case outOfTime(err), st.Code() == codes.Unknown && st.Message() == context.Canceled.Error():
		return drivers.ClassTimeout
	case strings.Contains(st.Message(), "Error while dialing"):
		return drivers.ClassConnect // gRPC has no type for this; a request on such a connection was never sent
	case st.Code() == codes.Unavailable, st.Code() == codes.Canceled: // the connection broke, or this client closed it
		return drivers.ClassClosed
	case st.Code() == codes.Unauthenticated, st.Code() == codes.PermissionDenied:
		return drivers.ClassAuth
	}
	return drivers.ClassProtocol
}

// outOfTime reports whether the deadline of a request has passed, here or at the server, which may answer with the text
// of its own context's error.
func outOfTime(err error) bool {
	st, ok := status.FromError(err)
	return errors.Is(err, context.DeadlineExceeded) || ok && (st.Code() == codes.DeadlineExceeded ||
		st.Code() == codes.Unknown && st.Message() == context.DeadlineExceeded.Error())
}

// advise adds to an error of opening how to correct it.
func (s *service) advise(ctx context.Context, names string, err error) error {
	class := classOf(err)
	text := err.Error()
	hint := ""
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		hint = fmt.Sprintf("; the user may not use keys that begin with %q: %s", s.prefix, drivers.PrefixRemedy)
	case errors.Is(err, rpctypes.ErrUserEmpty):
		hint = "; the server wants a user and a password: give them"
	case errors.Is(err, rpctypes.ErrAuthFailed):
		hint = "; check the user and the password"
	case strings.Contains(text, "handshake failed"):
		ctx, cancel := context.WithTimeout(ctx, s.io)
		defer cancel()
		for _, t := range s.targets { // gRPC does not say which one it was
			if refused := t.refuseTLS(ctx); refused != nil {
				return &drivers.Error{Class: drivers.ClassConnect, Op: names, Err: refused}
			}
		}
		hint = "; does the server speak TLS? If not, write etcd:// in place of etcds://, and ask for no TLS"
	case class == drivers.ClassConnect:
		hint = "; is an etcd running there?"
	case class == drivers.ClassClosed:
		hint = "; what answers there is not etcd, or wants TLS (etcds://)"
	case class == drivers.ClassTimeout:
		hint = "; no answer in time: is the address right, and has etcd a majority of its members?"
	}
	return &drivers.Error{Class: class, Op: names, Err: fmt.Errorf("%w%s", err, hint)}
}
