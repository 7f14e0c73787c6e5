package drivers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// Class sorts errors into the few kinds that a reader of a report can act on.
type Class string

const (
	ClassTimeout  Class = "timeout"  // no reply in time
	ClassCanceled Class = "canceled" // the caller withdrew
	ClassConnect  Class = "connect"  // no connection could be made
	ClassClosed   Class = "closed"   // the connection broke with a request under way
	ClassAuth     Class = "auth"     // the server rejected the credentials or the permission
	ClassServer   Class = "server"   // the server answered with an error
	ClassUnacked  Class = "unacked"  // too few replicas acknowledged it in time, and it was undone
	ClassProtocol Class = "protocol" // the reply makes no sense
	ClassPanic    Class = "panic"    // a driver or its client library panicked
	ClassOther    Class = "other"
)

// Error is an error whose class the driver knows better than ClassOf could guess.
type Error struct {
	Class Class
	Op    string // what was attempted, "redis: release"
	Err   error
}

func (e *Error) Error() string { return e.Op + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Malformed returns an error of class protocol; format describes what the server sent.
func Malformed(format string, args ...any) error {
	return &Error{Class: ClassProtocol, Op: "reply", Err: fmt.Errorf("the server sends "+format, args...)}
}

// ClassOf returns the class of err: that of the Error in its chain, if any, else the one that fits the standard
// library's errors.
func ClassOf(err error) Class {
	var e *Error
	var op *net.OpError
	var ne net.Error
	switch {
	case errors.As(err, &e):
		return e.Class
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

// NoEffect reports whether err says for certain that the request had no effect: the server refused or undid it, or
// there was no connection to send it on. Every other error leaves the outcome unknown.
func NoEffect(err error) bool {
	switch ClassOf(err) {
	case ClassConnect, ClassAuth, ClassServer, ClassUnacked:
		return true
	}
	return false
}
