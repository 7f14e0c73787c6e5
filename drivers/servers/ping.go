package servers

// The little RESP that is needed to learn whether a Redis server answers.

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

// askTimeout bounds one connection and its commands; a server that is loading or stopped is asked again.
const askTimeout = 20 * time.Second

// maxBulk bounds a bulk string, the longest of which is the answer to INFO server: less than 1 KB.
const maxBulk = 64 << 10

// login is the address of a server and its credentials.
type login struct {
	network, address   string
	tls                *tls.Config // nil: none
	username, password string
}

// ping connects, authenticates if there is a password, and expects a PONG from the process with that number. Another
// server may have taken the port, and must not be loaded.
func ping(ctx context.Context, l login, pid int) error {
	return converse(ctx, l, func(ask func(command ...string) (string, error)) error {
		pong, err := ask("PING")
		if err != nil {
			return err
		}
		if pong != "PONG" {
			return fmt.Errorf("PING: answered %q", pong)
		}
		info, err := ask("INFO", "server")
		if err != nil {
			return err
		}
		if !strings.Contains(info, fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)) {
			return fmt.Errorf("another server answers at %s: its process is not %d", l.address, pid)
		}
		return nil
	})
}

// converse connects, authenticates if there is a password, and calls talk. An error names its command.
func converse(ctx context.Context, l login, talk func(ask func(command ...string) (string, error)) error) error {
	deadline := time.Now().Add(askTimeout)
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := dial(dialCtx, l)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	replies := bufio.NewReaderSize(conn, 512)
	ask := func(command ...string) (string, error) {
		reply, err := ask(conn, replies, command...)
		if err != nil {
			return "", fmt.Errorf("%s: %w", command[0], err)
		}
		return reply, nil
	}
	switch {
	case l.username != "":
		_, err = ask("AUTH", l.username, l.password)
	case l.password != "":
		_, err = ask("AUTH", l.password)
	}
	if err != nil {
		return err
	}
	return talk(ask)
}

// command sends one command on a connection of its own and returns the text of the reply.
func (r *Redis) command(ctx context.Context, command ...string) (reply string, err error) {
	err = converse(ctx, r.login, func(ask func(...string) (string, error)) error {
		reply, err = ask(command...)
		return err
	})
	return reply, err
}

func dial(ctx context.Context, l login) (net.Conn, error) {
	if l.tls != nil {
		d := tls.Dialer{Config: l.tls}
		return d.DialContext(ctx, l.network, l.address)
	}
	var d net.Dialer
	return d.DialContext(ctx, l.network, l.address)
}

// ask sends one command and returns the text of its reply.
func ask(w io.Writer, replies *bufio.Reader, command ...string) (string, error) {
	if _, err := w.Write(appendCommand(nil, command...)); err != nil {
		return "", err
	}
	return readReply(replies)
}

// appendCommand appends a command in RESP: an array of bulk strings.
func appendCommand(b []byte, command ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(command))
	for _, word := range command {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(word)), 10)
		b = append(append(append(b, "\r\n"...), word...), "\r\n"...)
	}
	return b
}

// readReply reads a simple string (+OK), a bulk string ($2 OK) or the digits of an integer (:1), or turns an error
// reply (-LOADING …) into an error.
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
	case ok && (strings.HasPrefix(text, "+") || strings.HasPrefix(text, ":")):
		return text[1:], nil
	case ok && strings.HasPrefix(text, "-"):
		return "", fmt.Errorf("answered the error %q", text[1:])
	case ok && strings.HasPrefix(text, "$"):
		if n, err := strconv.Atoi(text[1:]); err == nil && n >= 0 && n <= maxBulk {
			bulk := make([]byte, n+len("\r\n"))
			if _, err := io.ReadFull(r, bulk); err != nil {
				return "", err
			}
			return string(bulk[:n]), nil
		}
	}
	return "", fmt.Errorf("answered %q, which is no reply to expect from Redis", text)
}
