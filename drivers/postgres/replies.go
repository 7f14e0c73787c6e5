package postgres

// A check of what a server sends before the client library sees it: its size always, and its content during login. The
// library bounds each message, but not their number, and keeps all parameters that a server reports.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lockbench/lockbench/drivers"
)

// The limits of what a server may send: bytes of a message, which the library allocates after its head, bytes until the
// connection is open, bytes of a reply, and rows of a reply.
const maxMessage, maxLogin, maxReply, maxRows = 1 << 20, 256 << 10, 8 << 20, 1 << 16

// maxIterations bounds how often SCRAM hashes the password. Servers ask for 4,096 by default (scram_iterations). A
// million take about a second, during which time-outs do not work; the library's own limit is ten times that.
const maxIterations = 1_000_000

// replies is what a connection receives.
type replies struct {
	io.Reader
	left  int // bytes that the server may still send
	login *login
}

// expect begins a reply.
func (r *replies) expect() { r.left = maxReply }

// Read implements io.Reader.
func (r *replies) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if r.left -= n; r.left < 0 {
		return 0, protocolError(errors.New("the server sends more than any reply has"))
	}
	if r.login != nil {
		if err := r.login.check(b[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}

func protocolError(err error) error {
	return &drivers.Error{Class: drivers.ClassProtocol, Op: "read", Err: err}
}

// login follows the messages until the connection is open.
type login struct {
	head [5]byte // kind and length
	have int     // bytes of head so far
	left int     // bytes of the message that have not come
	auth []byte  // the current authentication request so far
}

// check reads the next piece of the stream.
func (l *login) check(b []byte) error {
	for len(b) > 0 {
		if l.have < len(l.head) {
			n := copy(l.head[l.have:], b)
			b = b[n:]
			if l.have += n; l.have < len(l.head) {
				return nil
			}
			l.left = max(0, int(int32(binary.BigEndian.Uint32(l.head[1:])))-4)
		}
		n := min(l.left, len(b))
		if l.head[0] == 'R' {
			l.auth = append(l.auth, b[:n]...) // at most maxLogin
		}
		b = b[n:]
		if l.left -= n; l.left > 0 {
			return nil
		}
		if err := checkIterations(l.auth); err != nil {
			return err
		}
		l.have, l.auth = 0, l.auth[:0]
	}
	return nil
}

// checkIterations checks the server's part of SCRAM, which ends with the number of iterations (RFC 5802, section 5.1).
func checkIterations(auth []byte) error {
	if len(auth) < 4 || binary.BigEndian.Uint32(auth) != pgproto3.AuthTypeSASLContinue {
		return nil
	}
	_, count, _ := bytes.Cut(auth, []byte(",i="))
	if n, err := strconv.Atoi(string(count)); err == nil && n > maxIterations {
		return protocolError(fmt.Errorf("the server asks for %d iterations of SCRAM, where %d are the most", n, maxIterations))
	}
	return nil
}

// readError classifies an error of the library's Receive. One about the data has no class, or is io.EOF, which means a
// truncated message, because the end of the connection is io.ErrUnexpectedEOF.
func readError(err error) error {
	if err == io.EOF {
		err = errors.New("the server sends a message that is cut off")
	}
	if drivers.ClassOf(err) == drivers.ClassOther {
		err = protocolError(err)
	}
	return err
}
