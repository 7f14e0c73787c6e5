// Errors, in the classes of package drivers.
package zookeeper

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

// op is the purpose of a request.
type op string

const (
	opOpen    op = "open"
	opSession op = "session"
	opTry     op = "try"
	opRelease op = "release"
	opWait    op = "wait"
	opLeave   op = "leave"
	opClean   op = "clean"
	opAsk     op = "ping"
	opInspect op = "inspect"
)

// fail returns the error of an operation that made only one request.
func (o op) fail(err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*drivers.Error](err); known {
		return err
	}
	class := classOf(err)
	if known, ok := codes[err.Error()]; ok {
		class, err = known.class, errors.New(known.text)
	}
	return &drivers.Error{Class: class, Op: "zookeeper: " + string(o), Err: err}
}

// codes are answers that the library has no names for.
var codes = map[string]struct {
	class drivers.Class
	text  string
}{
	"unknown error: -6":   {drivers.ClassServer, "the server does not know this kind of request (UNIMPLEMENTED)"},
	"unknown error: -7":   {drivers.ClassTimeout, "the server's time for the request was over (OPERATIONTIMEOUT)"},
	"unknown error: -122": {drivers.ClassTimeout, "the server's time for the request was over (REQUESTTIMEOUT)"},
	"unknown error: -124": {drivers.ClassAuth, "the server requires a login (SESSIONCLOSEDREQUIRESASLAUTH): give user and password, " +
		"and if it is one by SASL, which the client library lacks, permit digest (enforce.auth.schemes)"},
	"unknown error: -125": {drivers.ClassFull, "the quota of the node above is used up (QUOTAEXCEEDED): raise it (setquota)"},
	"unknown error: -127": {drivers.ClassServer, "the server is overloaded, and has dropped the request (THROTTLEDOP)"},
}

// halfway returns fail for a later request, when an earlier one had an effect: then even a refusal does not mean that
// nothing has happened.
func (o op) halfway(err error) error {
	err = o.fail(err)
	if err != nil && drivers.NoEffect(err) {
		return &drivers.Error{Class: drivers.ClassOther, Op: "zookeeper: " + string(o) + ": halfway", Err: errors.Unwrap(err)}
	}
	return err
}

func classOf(err error) drivers.Class {
	var code interface{ Timeout() bool }
	switch {
	case errors.As(err, new(*unconnected)), errors.Is(err, errEarlier), errors.Is(err, errNotSent):
		return drivers.ClassConnect // it was not sent
	case errors.Is(err, errNoReply):
		return drivers.ClassTimeout
	case errors.Is(err, context.Canceled):
		return drivers.ClassCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return drivers.ClassTimeout
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrClosing), errors.Is(err, zk.ErrSessionExpired),
		errors.Is(err, zk.ErrSessionMoved), errors.Is(err, errExpired), errors.Is(err, errClosed):
		return drivers.ClassClosed // the server has not said which request it was
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return drivers.ClassAuth
	case errors.Is(err, zk.ErrShortBuffer), errors.Is(err, zk.ErrInvalidPath), errors.Is(err, zk.ErrNoNode),
		errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNotEmpty), errors.Is(err, zk.ErrBadArguments):
		return drivers.ClassServer // nothing has happened
	case errors.As(err, &code):
		return drivers.ClassOf(err)
	}
	return drivers.ClassOther
}
