package drivers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Class sorts errors into the few kinds that a reader of a report can act on.
type Class string

const (
	ClassTimeout  Class = "timeout"  // no reply in time
	ClassCanceled Class = "canceled" // the caller withdrew
	ClassConnect  Class = "connect"  // no connection could be made
	ClassClosed   Class = "closed"   // the connection broke with a request under way
	ClassAuth     Class = "auth"     // the server rejected the credentials or the permission
	ClassServer   Class = "server"   // the server answered with another error
	ClassFull     Class = "full"     // the server has no room left, and refuses writes
	ClassReadOnly Class = "readonly" // the server takes no writes: it is a replica, or set so, or lacks replicas
	ClassLimit    Class = "limit"    // the server, or the user's role, may have no more connections
	ClassEnded    Class = "ended"    // the server ended the request at a limit that is set for its user
	ClassUnacked  Class = "unacked"  // too few replicas acknowledged it in time, and it was undone
	ClassProtocol Class = "protocol" // the reply makes no sense
	ClassPanic    Class = "panic"    // a driver or its client library panicked
	ClassOther    Class = "other"
)

// Classes are all of them.
var Classes = []Class{
	ClassTimeout, ClassCanceled, ClassConnect, ClassClosed, ClassAuth, ClassServer, ClassFull, ClassReadOnly, ClassLimit, ClassEnded,
	ClassUnacked, ClassProtocol, ClassPanic, ClassOther,
}

// Error is an error whose class the driver knows better than ClassOf could guess.
type Error struct {
	Class Class
	Op    string // what was attempted, "redis: release"
	Err   error
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err: that of the Error in its chain, if any, else the one that fits the standard
// library's errors.
func ClassOf(err error) Class {
	known, ok := errors.AsType[*Error](err)
	var op *net.OpError
	var ne net.Error
	switch {
	case ok:
		return known.Class
	case errors.Is(err, context.Canceled):
		return ClassCanceled
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, syscall.ECONNREFUSED):
		return ClassConnect
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &ne) && ne.Timeout():
		return ClassTimeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ClassClosed
	}
	return ClassOther
}

// PrefixRemedy is the remedy if a user may not use the names of keys and channels of a run.
const PrefixRemedy = "permit them, or name a beginning that this user may use (-prefix)"

// CertificateHint returns what helps against an error of a TLS connection that is about a certificate, the server's or
// ours. It is empty for any other error.
func CertificateHint(err error) string {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, roots := errors.AsType[x509.SystemRootsError](err)
	name, misnamed := errors.AsType[x509.HostnameError](err)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
	remedy := "replace the server's certificate"
	switch text := err.Error(); {
	case authority, roots:
		remedy = "give the certificate of the authority that has signed the server's (-tls-ca)"
	case misnamed && len(name.Certificate.DNSNames)+len(name.Certificate.IPAddresses) == 0:
		remedy = "give the server a certificate with a subjectAltName, the only names that count"
	case misnamed:
		remedy = "give a name that the server's certificate has (-tls-server-name)"
	case invalid.Reason == x509.Expired:
		remedy = "renew the server's certificate, or correct the clock"
	case strings.Contains(text, "failed to parse certificate"): // even unverified ones are parsed
		return remedy
	case strings.Contains(text, "x509:"):
	case strings.Contains(text, "remote error: tls:") && strings.Contains(text, "certificate"):
		return "the server wants a certificate from us: give one that it accepts (-tls-cert)"
	default:
		return ""
	}
	return remedy + ", or do without verification (-tls-skip-verify)"
}

// CertificateError returns an error with that hint and the server's address, or nil if there is none.
func CertificateError(addr string, err error) error {
	if hint := CertificateHint(err); hint != "" {
		return fmt.Errorf("TLS with %s: %w: %s", addr, err, hint)
	}
	return nil
}

// NoEffect reports whether err says for certain that the request had no effect: the server refused or undid it, or
// there was no connection to send it on. Every other error leaves the outcome unknown.
func NoEffect(err error) bool {
	switch ClassOf(err) {
	case ClassConnect, ClassAuth, ClassServer, ClassFull, ClassReadOnly, ClassLimit, ClassEnded, ClassUnacked:
		return true
	}
	return false
}

// Stands reports whether a request that failed so will fail again until somebody changes the server or its users. A
// server that has granted locks may be read-only only until a fail-over is complete.
func (c Class) Stands(granted bool) bool {
	return c == ClassFull || c == ClassAuth || c == ClassReadOnly && !granted
}

const (
	cleanupPause    = 50 * time.Millisecond // before the second attempt; it doubles before each further one
	maxCleanupPause = 2 * time.Second
	cleanupTimeouts = 2 // attempts in a row that may time out
)

// RetryCleanup calls attempt, which deletes what a run has made, until it succeeds or ctx is done, because a server
// that restarts or loads its data soon answers again. It gives up earlier if the server rejects the login, or hangs,
// that is, two attempts in a row time out. It returns the error of the last attempt that failed before ctx was done.
func RetryCleanup(ctx context.Context, attempt func() error) error {
	var reason error
	timeouts := 0
	for pause := cleanupPause; ; pause = min(2*pause, maxCleanupPause) {
		err := attempt()
		if err == nil {
			return nil
		}
		if reason == nil || ctx.Err() == nil { // otherwise err only says that ctx is done
			reason = err
		}
		if timeouts++; !TimedOut(err) {
			timeouts = 0
		}
		if timeouts == cleanupTimeouts || ClassOf(err) == ClassAuth {
			return reason
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return reason
		}
	}
}

// CloseAll closes all of them, and joins their errors.
func CloseAll[C io.Closer](all iter.Seq[C]) error {
	var errs []error
	for c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// TimedOut reports whether a request or a connection attempt timed out. The class of the latter is connect.
func TimedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return ClassOf(err) == ClassTimeout || errors.As(err, &timeout) && timeout.Timeout()
}

// Catch turns a panic into an error of class panic:
//
//	defer drivers.Catch(&err)
//
// It must be deferred, and does not see panics in goroutines that a client library has started.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = Panicked(v)
	}
}

// Panicked returns the error of class panic for a value returned by recover. It names the innermost functions that were
// running. Only the deferred function itself, or a function that it calls, may call it.
func Panicked(v any) error {
	return &Error{Class: ClassPanic, Op: "panic", Err: fmt.Errorf("%v, in %s", v, strings.Join(panicking(3), " < "))}
}

// panicking returns the n innermost functions that a panic ended, innermost first, with their files.
func panicking(n int) (list []string) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		panicked = panicked || frame.Function == "runtime.gopanic" // what lies above it is recovering
		if panicked && !inRuntime {
			file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]
			list = append(list, fmt.Sprintf("%s (%s:%d)", frame.Function, file, frame.Line))
		}
		if !more || len(list) == n {
			return list
		}
	}
}
