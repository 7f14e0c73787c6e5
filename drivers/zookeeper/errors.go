// Errors, in the classes of package drivers.
package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
)

var (
	errClosed      = fmt.Errorf("the service is closed: %w", net.ErrClosed)
	errUnconnected = errors.New("there is no connection")
	errNotSent     = errors.New("the connection broke before the request was sent")
	errNoReply     = errors.New("no reply in time")
	errEarlier     = errors.New("an earlier request of the client is still under way")
	errSilence     = fmt.Errorf("the server there has not greeted like ZooKeeper in time: %w", os.ErrDeadlineExceeded)
	errHungUp      = errors.New("the server ends the connection before it has greeted: it may not be ZooKeeper, want TLS, " +
		"be without a majority of its ensemble, or have as many connections from here as it takes (maxClientCnxns, by default 60)")
	errFull = errors.New("the server takes no more connections: raise its maxClientCnxns (of each client's address, by " +
		"default 60) or maxCnxns, or lower -clients or -conns")
)

// classes are those of errors, the first that fits. Further ones of the server are in codes.
var classes = []struct {
	class drivers.Class
	errs  []error
}{
	{drivers.ClassConnect, []error{errUnconnected, errNotSent, errEarlier, zk.ErrNoServer}}, // it was not sent
	{drivers.ClassLimit, []error{errFull}},
	{drivers.ClassCanceled, []error{context.Canceled}},
	{drivers.ClassTimeout, []error{errNoReply, context.DeadlineExceeded}},
	{drivers.ClassAuth, []error{zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL}},
	{drivers.ClassClosed, []error{ // the server has not said which request it was
		zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrSessionExpired, zk.ErrSessionMoved, errClosed,
	}},
	{drivers.ClassServer, []error{ // nothing has happened
		zk.ErrShortBuffer, zk.ErrInvalidPath, zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrBadArguments,
		zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals,
	}},
}

// codes are the server's answers that the library has no names for.
var codes = map[string]struct {
	class      drivers.Class
	name, text string
}{
	"-1":   {drivers.ClassOther, "SYSTEMERROR", "the server has failed"},
	"-2":   {drivers.ClassOther, "RUNTIMEINCONSISTENCY", "the server has failed"},
	"-3":   {drivers.ClassOther, "DATAINCONSISTENCY", "the server's data are damaged"},
	"-4":   {drivers.ClassClosed, "CONNECTIONLOSS", "the server has lost a connection"},
	"-5":   {drivers.ClassServer, "MARSHALLINGERROR", "the server cannot read the request"},
	"-6":   {drivers.ClassServer, "UNIMPLEMENTED", "the server does not know this request: it takes 3.5 or later"},
	"-7":   {drivers.ClassTimeout, "OPERATIONTIMEOUT", "the server's time for the request was over"},
	"-119": {drivers.ClassReadOnly, "NOTREADONLY", "the server is read-only: it has lost the majority of its ensemble"},
	"-120": {drivers.ClassServer, "EPHEMERALONLOCALSESSION", "the session is local: set localSessionsUpgradingEnabled"},
	"-122": {drivers.ClassTimeout, "REQUESTTIMEOUT", "the server's time for the request was over"},
	"-124": {drivers.ClassAuth, "SESSIONCLOSEDREQUIRESASLAUTH", "the server requires a login: give user and password, " +
		"and if it is one by SASL, which the client library lacks, permit digest (enforce.auth.schemes)"},
	"-125": {drivers.ClassFull, "QUOTAEXCEEDED", "the quota of the node above is used up: raise it (setquota)"},
	"-127": {drivers.ClassServer, "THROTTLEDOP", "the server is overloaded, and has dropped the request"},
}

// fail returns the error of an operation, unless err is nil.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*drivers.Error](err); known {
		return err
	}
	class := drivers.ClassOf(err)
	for _, known := range slices.Backward(classes) { // the first that fits
		if slices.ContainsFunc(known.errs, func(one error) bool { return errors.Is(err, one) }) {
			class = known.class
		}
	}
	number, _ := strings.CutPrefix(err.Error(), "unknown error: ")
	if code, known := codes[number]; known {
		class, err = code.class, fmt.Errorf("%s (%s)", code.text, code.name)
	}
	return &drivers.Error{Class: class, Op: "zookeeper: " + op, Err: err}
}

// halfway returns fail for a later request, when an earlier one had an effect: then even a refusal does not mean that
// nothing has happened.
func halfway(op string, err error) error {
	if err = fail(op, err); drivers.NoEffect(err) {
		err = &drivers.Error{Class: drivers.ClassOther, Op: "zookeeper: " + op + ": halfway", Err: errors.Unwrap(err)}
	}
	return err
}
