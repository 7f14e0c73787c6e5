package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// timeout is a net.Error like those of client libraries.
type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestClassOf(t *testing.T) {
	op := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	for _, test := range []struct {
		name    string
		err     error
		class   drivers.Class
		refused bool
	}{
		{"cancelled", context.Canceled, drivers.ClassCanceled, false},
		{"deadline", context.DeadlineExceeded, drivers.ClassTimeout, false},
		{"read deadline", op("read", os.ErrDeadlineExceeded), drivers.ClassTimeout, false},
		{"library's time-out", timeout{}, drivers.ClassTimeout, false},
		{"dial refused", op("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), drivers.ClassConnect, true},
		{"dial timed out", op("dial", timeout{}), drivers.ClassConnect, true},
		{"refused, no more known", syscall.ECONNREFUSED, drivers.ClassConnect, true},
		{"cancelled during the dial", op("dial", context.Canceled), drivers.ClassCanceled, false},
		{"end of file", io.EOF, drivers.ClassClosed, false},
		{"unexpected end of file", io.ErrUnexpectedEOF, drivers.ClassClosed, false},
		{"reset", op("read", os.NewSyscallError("read", syscall.ECONNRESET)), drivers.ClassClosed, false},
		{"broken pipe", op("write", os.NewSyscallError("write", syscall.EPIPE)), drivers.ClassClosed, false},
		{"used after Close", op("read", net.ErrClosed), drivers.ClassClosed, false},
		{"anything else", errors.New("?"), drivers.ClassOther, false},
		{"none", nil, drivers.ClassOther, false},
		{"the driver's word goes first", &drivers.Error{Class: drivers.ClassServer, Op: "x", Err: io.EOF}, drivers.ClassServer, true},
		{"authentication", &drivers.Error{Class: drivers.ClassAuth, Op: "x", Err: errors.New("NOAUTH")}, drivers.ClassAuth, true},
		{"protocol", &drivers.Error{Class: drivers.ClassProtocol, Op: "x", Err: errors.New("?")}, drivers.ClassProtocol, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, err := range []error{test.err, fmt.Errorf("redis: release: %w", test.err), errors.Join(test.err, errors.New("also"))} {
				if test.err == nil && err != nil {
					continue // wrapping nothing makes another error
				}
				if class := drivers.ClassOf(err); class != test.class {
					t.Errorf("ClassOf(%v) = %q, want %q", err, class, test.class)
				}
				if refused := drivers.NoEffect(err); refused != test.refused {
					t.Errorf("NoEffect(%v) = %v, want %v", err, refused, test.refused)
				}
			}
		})
	}
}

// TestRealConnectErrors checks the classes with real errors of the operating system.
func TestRealConnectErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	for network, addr := range map[string]string{"tcp": addr, "unix": t.TempDir() + "/none"} {
		_, err := net.Dial(network, addr)
		if err == nil {
			t.Fatalf("dialled %s %s", network, addr)
		}
		if class := drivers.ClassOf(err); class != drivers.ClassConnect {
			t.Errorf("ClassOf(%v) = %q, want %q", err, class, drivers.ClassConnect)
		}
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("NOAUTH Authentication required")
	err := &drivers.Error{Class: drivers.ClassAuth, Op: "redis: release", Err: cause}
	if got, want := err.Error(), "redis: release: NOAUTH Authentication required"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	if !errors.Is(err, cause) {
		t.Error("the error does not unwrap to its cause")
	}
}
