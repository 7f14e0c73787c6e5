// What the errors of etcd and gRPC mean to the client of a lock.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockbench/lockbench/drivers"
)

var errClosed = &drivers.Error{Class: drivers.ClassClosed, Op: "service", Err: net.ErrClosed}

// answers are the errors of etcd whose code says less than they do, or that have a remedy.
var answers = map[error]struct {
	class  drivers.Class
	remedy string
}{
	rpctypes.ErrNoSpace: {drivers.ClassFull, "its NOSPACE alarm stays on, and refuses everybody's writes: " +
		"clear it with etcdctl compact, defrag and alarm disarm"},
	rpctypes.ErrPermissionDenied: {drivers.ClassAuth, "its role lacks the keys: " + drivers.PrefixRemedy},
	rpctypes.ErrInvalidAuthToken: {drivers.ClassAuth, "the login has expired (--auth-token-ttl), or its user was changed"},
	rpctypes.ErrUserEmpty:        {drivers.ClassAuth, "the server wants a user and password: give them; or the login has expired"},
	rpctypes.ErrAuthFailed:       {drivers.ClassAuth, "check the user and the password"},
	rpctypes.ErrAuthOldRevision:  {drivers.ClassAuth, ""},
	rpctypes.ErrStopped:          {drivers.ClassClosed, ""},
}

// classes are those of the other errors by their code: of etcd's own, and of gRPC's, which tell of the connection. Only
// errors that certainly had no effect have a class that says so: "unavailable" is also the answer of members that had no
// majority in time, and may still find one.
var classes = map[codes.Code]struct{ answer, transport drivers.Class }{
	codes.Unavailable:        {drivers.ClassTimeout, drivers.ClassClosed},
	codes.DeadlineExceeded:   {drivers.ClassTimeout, drivers.ClassTimeout},
	codes.Canceled:           {drivers.ClassTimeout, drivers.ClassClosed}, // this client has closed it
	codes.Unauthenticated:    {drivers.ClassAuth, drivers.ClassAuth},
	codes.PermissionDenied:   {drivers.ClassAuth, drivers.ClassAuth},
	codes.InvalidArgument:    {drivers.ClassServer, ""},
	codes.ResourceExhausted:  {drivers.ClassServer, ""},
	codes.FailedPrecondition: {drivers.ClassServer, ""},
	codes.OutOfRange:         {drivers.ClassServer, ""},
	codes.NotFound:           {drivers.ClassServer, ""},
}

func classOf(err error) drivers.Class {
	class := drivers.ClassOf(err)
	if class != drivers.ClassOther {
		return class
	}
	if answer, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return cmp.Or(answers[answer].class, classes[answer.Code()].answer, drivers.ClassProtocol)
	}
	st, ok := status.FromError(err)
	switch text := st.Message(); {
	case !ok:
		return class
	case text == context.DeadlineExceeded.Error(), text == context.Canceled.Error(): // of the server's own context
		return drivers.ClassTimeout
	case strings.Contains(text, "Error while dialing"), strings.Contains(text, "handshake failed"):
		// gRPC has no type for these; nothing was sent
		return drivers.ClassConnect
	}
	return cmp.Or(classes[st.Code()].transport, drivers.ClassProtocol)
}

// fail wraps err with the operation, a class and a remedy, if there is one; nil stays nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &drivers.Error{Class: classOf(err), Op: "etcd: " + op, Err: remedied(err)}
}

func remedied(err error) error {
	answer, _ := errors.AsType[rpctypes.EtcdError](err)
	if remedy := answers[answer].remedy; remedy != "" {
		return fmt.Errorf("%w: %s", err, remedy)
	}
	return err
}

// openHints say how to correct what keeps a service from being opened: the first one whose text is in the error. gRPC
// has no types for these.
var openHints = []struct{ text, hint string }{
	{"unknown authority", "; give the certificate of the authority that has signed the server's (-tls-ca)"},
	{"is valid for", "; give a name that the server's certificate has (-tls-server-name)"},
	{"remote error: tls:", "; the server may want a certificate from us: give one that it accepts (-tls-cert)"},
	{"x509:", "; replace the server's certificate, or do without verification (-tls-skip-verify)"},
	{"handshake failed", "; does the server speak TLS? If not, write etcd:// in place of etcds://, and ask for no TLS"},
	{"Error while dialing", "; is an etcd running there?"},
}

// advise adds to an error of opening how to correct it.
func (s *service) advise(err error) error {
	class, hint := classOf(err), ""
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		hint = fmt.Sprintf("; they begin with %q", s.prefix)
	case class == drivers.ClassClosed:
		hint = "; what answers there is not etcd, or wants TLS (etcds://)"
	case class == drivers.ClassTimeout:
		hint = "; no answer in time: is the address right, and has etcd a majority of its members?"
	}
	for _, known := range slices.Backward(openHints) {
		if strings.Contains(err.Error(), known.text) {
			hint = known.hint
		}
	}
	var names []string
	for _, t := range s.targets {
		names = append(names, t.redacted())
	}
	return &drivers.Error{Class: class, Op: strings.Join(names, ", "), Err: fmt.Errorf("%w%s", remedied(err), hint)}
}
