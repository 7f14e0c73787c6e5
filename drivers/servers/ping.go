package servers

// The few bytes of RESP that it takes to learn whether a Redis server answers.

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// askPatience bounds one connection and its commands; a server that is loading or stopped is asked again.
const askPatience = time.Second

// login is how to reach a server and what it wants to hear first.
type login struct {
	network, address   string
	tls                *tls.Config // nil: none
	username, password string
}

// ping connects, authenticates if there is a password, and expects a PONG.
func ping(ctx context.Context, l login) error {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	conn, err := dial(ctx, l)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	replies := bufio.NewReaderSize(conn, 512)
	switch {
	case l.username != "":
		err = ask(conn, replies, "OK", "AUTH", l.username, l.password)
	case l.password != "":
		err = ask(conn, replies, "OK", "AUTH", l.password)
	}
	if err != nil {
		return fmt.Errorf("AUTH: %w", err)
	}
	if err := ask(conn, replies, "PONG", "PING"); err != nil {
		return fmt.Errorf("PING: %w", err)
	}
	return nil
}

func dial(ctx context.Context, l login) (net.Conn, error) {
	if l.tls != nil {
		d := tls.Dialer{Config: l.tls}
		return d.DialContext(ctx, l.network, l.address)
	}
	var d net.Dialer
	return d.DialContext(ctx, l.network, l.address)
}

// ask sends one command and compares its reply, which has to be a simple string.
func ask(w io.Writer, replies *bufio.Reader, want string, command ...string) error {
	if _, err := w.Write(appendCommand(nil, command...)); err != nil {
		return err
	}
	got, err := readReply(replies)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("answered %q", got)
	}
	return nil
}

// appendCommand appends a command as RESP has it: an array of bulk strings.
func appendCommand(b []byte, command ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(command))
	for _, word := range command {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(word)), 10)
		b = append(append(append(b, "\r\n"...), word...), "\r\n"...)
	}
	return b
}

// readReply reads a simple string (+OK) or turns an error reply (-LOADING …) into an error.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", errors.New("the reply is too long")
	}
	if err != nil {
		return "", err
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	switch {
	case ok && strings.HasPrefix(text, "+"):
		return text[1:], nil
	case ok && strings.HasPrefix(text, "-"):
		return "", fmt.Errorf("answered the error %q", text[1:])
	}
	return "", fmt.Errorf("answered %q, which is no reply of Redis", text)
}
