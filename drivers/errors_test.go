package drivers_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

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

// TestCertificateHint shakes hands with a server whose certificate has one fault, and then does what the hint says.
func TestCertificateHint(t *testing.T) {
	const unverified = "(-tls-skip-verify)"
	never := func(*x509.Certificate) {}
	for _, tt := range []struct {
		name    string
		fault   func(*x509.Certificate)
		trusted bool
		hint    string // empty: no fault
		remedy  func(*tls.Config, *x509.CertPool)
	}{
		{"none", never, true, "", nil},
		{"another authority", never, false, "(-tls-ca)", func(c *tls.Config, all *x509.CertPool) { c.RootCAs = all }},
		{"another name", func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"db"}, nil }, true, "(-tls-server-name)",
			func(c *tls.Config, _ *x509.CertPool) { c.ServerName = "db" }},
		{"a common name alone", func(c *x509.Certificate) { c.IPAddresses = nil }, true, "subjectAltName", nil},
		{"expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, true, "renew", nil},
		{"not valid yet", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, true, "clock",
			func(c *tls.Config, _ *x509.CertPool) {
				c.Time = func() time.Time { return time.Now().Add(2 * time.Minute) }
			}},
		{"for clients", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, true, "replace", nil},
	} {
		own := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		}
		tt.fault(own)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.CreateCertificate(rand.Reader, own, own, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		all := x509.NewCertPool()
		all.AddCert(parsed)
		client := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
		if tt.trusted {
			client.RootCAs = all
		}
		err = handshake(client, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
		if err == nil {
			if tt.hint != "" {
				t.Errorf("%s: no error", tt.name)
			}
			continue
		}
		hint := drivers.CertificateHint(err)
		if tt.hint == "" || !strings.Contains(hint, tt.hint) || !strings.Contains(hint, unverified) {
			t.Errorf("%s: %v: %q; want %q and %q", tt.name, err, hint, tt.hint, unverified)
		}
		if other := "(-tls-server-name)"; tt.hint != other && strings.Contains(hint, other) {
			t.Errorf("%s: %q", tt.name, hint)
		}
		if tt.remedy != nil {
			better := client.Clone()
			tt.remedy(better, all)
			if err := handshake(better, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}); err != nil {
				t.Errorf("%s: the remedy does not help: %v", tt.name, err)
			}
		}
		client.InsecureSkipVerify = true
		if err := handshake(client, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}); err != nil {
			t.Errorf("%s: without verification: %v", tt.name, err)
		}
	}
	for text, hint := range map[string]string{
		"tls: failed to parse certificate from server: x509: negative serial number": "replace the server's certificate",
		"remote error: tls: certificate required":                                    "(-tls-cert)",
		"read: connection reset by peer":                                             "",
	} {
		if got := drivers.CertificateHint(errors.New(text)); !strings.Contains(got, hint) || strings.Contains(got, unverified) ||
			hint == "" && got != "" {
			t.Errorf("%s: %q; want %q", text, got, hint)
		}
	}
}

// handshake returns the client's error of a handshake with a server that has the certificate.
func handshake(client *tls.Config, certificate tls.Certificate) error {
	server, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return err
	}
	defer server.Close()
	go func() {
		if conn, err := server.Accept(); err == nil {
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	conn, err := tls.Dial("tcp", server.Addr().String(), client)
	if err == nil {
		conn.Close()
	}
	return err
}
