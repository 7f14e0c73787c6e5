// Dialling, for both client libraries, and a first greeting that checks the server.
package redis

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/traffic"
)

// Dial makes one connection to the target within the I/O time-out, including TLS, which counts what is sent. Client
// libraries use it instead of their own, so that dialling is the same for all. Its errors are of class connect, or
// canceled if ctx is.
func (o Options) Dial(ctx context.Context) (net.Conn, error) {
	return o.dialCounted(ctx, o.Target)
}

// DialTo is Dial for a server that another one named, at host:port.
func (o Options) DialTo(ctx context.Context, addr string) (net.Conn, error) {
	t, err := o.at(addr)
	if err != nil {
		return nil, &drivers.Error{Class: drivers.ClassConnect, Op: "connect", Err: err}
	}
	return o.dialCounted(ctx, t)
}

func (o Options) dialCounted(ctx context.Context, t Target) (net.Conn, error) {
	conn, err := o.dial(ctx, t)
	if err != nil {
		return nil, err
	}
	return o.sent.Count(conn, traffic.Commands()), nil
}

// at returns a target for an address named by a server, with the same login as the given one.
func (o Options) at(addr string) (Target, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return Target{}, err
	}
	t := o.Target
	host = cmp.Or(host, t.Host)
	t.Host = host
	if t.Port, err = strconv.Atoi(port); err != nil {
		return Target{}, err
	}
	if t.TLS != nil && (o.TLS == nil || o.TLS.ServerName == "") {
		t.TLS = t.TLS.Clone()
		t.TLS.ServerName = host
	}
	return t, nil
}

func (o Options) dial(ctx context.Context, t Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.IO())
	defer cancel()
	network := "tcp"
	if t.Path != "" {
		network = "unix"
	}
	connect := o.connect
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	conn, err := connect(ctx, network, t.Addr())
	if err != nil {
		return nil, unconnected(ctx, err)
	}
	if t.TLS == nil {
		return conn, nil
	}
	secure := tls.Client(conn, t.TLS)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, unconnected(ctx, explainTLS(t.Addr(), err))
	}
	return secure, nil
}

// unconnected returns the error of a connection that was not made, perhaps because ctx was cancelled.
func unconnected(ctx context.Context, err error) error {
	class := drivers.ClassConnect
	if errors.Is(ctx.Err(), context.Canceled) {
		class = drivers.ClassCanceled
	}
	return &drivers.Error{Class: class, Op: "connect", Err: err}
}

func explainTLS(addr string, err error) error {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	certificate := drivers.CertificateError(addr, err)
	switch {
	case certificate != nil:
		return certificate
	case noTLS, errors.Is(err, io.EOF):
		return fmt.Errorf("the port does not speak TLS (%w): give a port that does, or redis:// in place of rediss://", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer to the TLS handshake (%w): if the port does not speak TLS, write redis:// in place of rediss://", err)
	}
	return fmt.Errorf("TLS handshake with %s: %w", addr, err)
}

// greet checks that there is a Redis server at the target that accepts the login and answers; then it calls more. It
// uses no client library, because libraries differ in how they report a web server, a missing TLS layer or a wrong
// password, and how long they take.
func (o Options) greet(ctx context.Context, t Target, more func(*link) error) error {
	conn, err := o.dial(ctx, t)
	if err != nil {
		return err
	}
	defer conn.Close()
	return o.introduce(ctx, t, &link{conn: conn, r: bufio.NewReader(conn)}, more)
}

// introduce logs in on a new connection and then calls more. It leaves no deadline on it.
func (o Options) introduce(ctx context.Context, t Target, l *link, more func(*link) error) error {
	deadline := time.Now().Add(o.IO())
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := l.conn.SetDeadline(deadline); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.conn.Close() })()
	for _, command := range greeting(t) {
		if _, err := l.conn.Write(encode(command)); err != nil {
			return explainGreeting(ctx, t, err)
		}
		line, err := l.r.ReadSlice('\n')
		if err := checkGreeting(line, err); err != nil {
			return explainGreeting(ctx, t, err)
		}
	}
	if err := more(l); err != nil {
		return explainGreeting(ctx, t, err)
	}
	return l.conn.SetDeadline(time.Time{})
}

func greeting(t Target) (commands [][]string) {
	switch {
	case t.Username != "":
		commands = append(commands, []string{"AUTH", t.Username, string(t.Password)})
	case t.Password != "":
		commands = append(commands, []string{"AUTH", string(t.Password)})
	}
	if t.Database != 0 {
		commands = append(commands, []string{"SELECT", strconv.Itoa(t.Database)})
	}
	return append(commands, []string{"PING"})
}

// checkGreeting checks the first line of a reply.
func checkGreeting(line []byte, err error) error {
	switch {
	case bytes.HasPrefix(line, []byte("HTTP/")):
		return notRedis("it is a web server")
	case len(line) > 0 && line[0] == 0x15: // a TLS alert
		return notRedis("it speaks TLS: write rediss:// in place of redis://")
	case len(line) > 0 && line[0] != '+' && line[0] != '-' || errors.Is(err, bufio.ErrBufferFull):
		return notRedis("its answer is in another protocol")
	case err != nil:
		return err
	case line[0] == '-':
		return NewServerError(string(bytes.TrimRight(line[1:], "\r\n")))
	}
	return nil
}

func notRedis(why string) error {
	return &drivers.Error{Class: drivers.ClassProtocol, Op: "greeting", Err: errors.New("the server is not Redis: " + why)}
}

func explainGreeting(ctx context.Context, t Target, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if certificate := drivers.CertificateError(t.Addr(), err); certificate != nil { // the server may say so after the handshake
		return certificate
	}
	hint := ""
	if t.TLS == nil && t.Path == "" {
		hint = "; if the port speaks TLS, write rediss:// in place of redis://"
	}
	switch drivers.ClassOf(err) {
	case drivers.ClassTimeout:
		return fmt.Errorf("no answer to the greeting, is it a Redis server%s: %w", hint, err)
	case drivers.ClassClosed:
		return fmt.Errorf("the server hung up on the greeting, is it a Redis server%s: %w", hint, err)
	}
	if e, ok := asServerError(err); ok && e.Class() == drivers.ClassAuth {
		switch e.Code() {
		case "NOAUTH":
			return fmt.Errorf("the server wants a password: %w", err)
		case "NOPERM":
			return fmt.Errorf("the server does not permit PING: %w", err)
		}
		return fmt.Errorf("the server rejects the user or the password: %w", err)
	}
	return err
}

// encode encodes a command in the server's protocol.
func encode(command []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(command))
	for _, arg := range command {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}
