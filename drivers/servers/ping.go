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
	"slices"
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
	replies, err := l.ask(ctx, command{"PING"}, command{"INFO", "server"})
	switch {
	case err != nil:
		return err
	case replies[0] != "PONG":
		return fmt.Errorf("PING: answered %q", replies[0])
	case !strings.Contains(replies[1], fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)):
		return fmt.Errorf("another server answers at %s: its process is not %d", l.address, pid)
	}
	return nil
}

// command is a command and its arguments.
type command []string

// ask connects, authenticates if there is a password, and sends the commands one after the other, until one fails. It returns the
// texts of the replies; an error names its command.
func (l login) ask(ctx context.Context, commands ...command) (list []string, err error) {
	deadline := time.Now().Add(askTimeout)
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	conn, err := dial(dialCtx, l)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	var auth []command
	switch {
	case l.username != "":
		auth = []command{{"AUTH", l.username, l.password}}
	case l.password != "":
		auth = []command{{"AUTH", l.password}}
	}
	replies := bufio.NewReaderSize(conn, 512)
	for _, c := range slices.Concat(auth, commands) {
		if _, err := conn.Write(appendCommand(nil, c...)); err != nil {
			return nil, fmt.Errorf("%s: %w", c[0], err)
		}
		reply, err := readReply(replies)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c[0], err)
		}
		list = append(list, reply)
	}
	return list[len(auth):], nil
}

// command sends one command on a connection of its own and returns the text of the reply.
func (r *Redis) command(ctx context.Context, words ...string) (reply string, err error) {
	replies, err := r.login.ask(ctx, words)
	if err != nil {
		return "", err
	}
	return replies[0], nil
}

func dial(ctx context.Context, l login) (net.Conn, error) {
	if l.tls != nil {
		d := tls.Dialer{Config: l.tls}
		return d.DialContext(ctx, l.network, l.address)
	}
	var d net.Dialer
	return d.DialContext(ctx, l.network, l.address)
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
