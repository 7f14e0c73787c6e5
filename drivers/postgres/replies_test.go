package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/lockbench/lockbench/drivers"
)

// message returns a message as servers send it; it may announce another length than it has.
func message(kind byte, announced int32, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(announced)), body...)
}

// whole returns a message that announces its real length.
func whole(kind byte, body string) []byte { return message(kind, int32(len(body)+4), body) }

var welcome = slices.Concat(whole('R', "\x00\x00\x00\x00"), whole('K', "\x00\x00\x00\x01\x00\x00\x00\x02"), whole('Z', "I"))

// serve calls f for each connection, once the client has sent its first message, until the test ends.
func serve(t *testing.T, f func(conn net.Conn, b *pgproto3.Backend)) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(t.Context(), func() { conn.Close() })()
				b := pgproto3.NewBackend(conn, conn)
				if first, err := b.ReceiveStartupMessage(); err == nil {
					if _, ok := first.(*pgproto3.StartupMessage); ok {
						f(conn, b)
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String()
}

// openHostile opens the driver on a server, which must fail.
func openHostile(t *testing.T, address string) error {
	clearEnv(t)
	s, err := driver{}.Open(t.Context(), drivers.Config{
		Addrs: []string{"postgres://u:p@" + address + "/db"}, IOTimeout: 20 * time.Second,
	})
	if err == nil {
		s.Close()
		t.Fatal("it opens")
	}
	return err
}

// hostile are invalid messages, and the client's errors about them.
var hostile = map[string]struct {
	text    []byte
	endless bool
	want    string
}{
	"a parameter of 1 GiB":    {message('S', 1<<30, ""), false, "body length"},
	"an error of 1 GiB":       {message('E', 1<<30, "SERROR\x00"), false, "body length"},
	"a row of 1 GiB":          {message('D', 1<<30, "\x00\x01"), false, "body length"},
	"a negative length":       {message('N', -1, ""), false, "invalid message length"},
	"an error without end":    {whole('E', "SERROR\x00C00000\x00Mno"), false, ""},
	"an error of no bytes":    {whole('E', ""), false, ""},
	"an unknown message":      {whole('?', ""), false, "unknown message type"},
	"notices without end":     {whole('N', "SNOTICE\x00M"+strings.Repeat("x", 10_000)+"\x00\x00"), true, "more than any reply"},
	"parameters without end":  {whole('S', "name\x00"+strings.Repeat("x", 10_000)+"\x00"), true, "more than any reply"},
	"a row that is cut off":   {whole('D', "\x00\x02\x00\x00\x00\x01x"), false, "invalid"},
	"a value of 1 GiB":        {whole('D', "\x00\x01\x40\x00\x00\x00x"), false, "invalid"},
	"columns without a value": {whole('D', "\xff\xff"), false, "invalid"},
}

// send sends a text, repeatedly until the client closes if it is endless.
func send(conn net.Conn, text []byte, endless bool) {
	for _, err := conn.Write(text); endless && err == nil; {
		_, err = conn.Write(text)
	}
	io.Copy(io.Discard, conn) // until the client closes
}

// TestHostileLogin: servers begin with messages that would take gigabytes, or have no end.
func TestHostileLogin(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			err := openHostile(t, serve(t, func(conn net.Conn, _ *pgproto3.Backend) { send(conn, c.text, c.endless) }))
			if !strings.Contains(err.Error(), c.want) || drivers.ClassOf(err) == drivers.ClassTimeout {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// awaitSync reads what the client sends, to the end of a packet of statements or of the connection.
func awaitSync(b *pgproto3.Backend) {
	for {
		m, err := b.Receive()
		if _, sync := m.(*pgproto3.Sync); err != nil || sync {
			return
		}
	}
}

// TestHostileReply: servers let the client in, and answer its first request with such messages.
func TestHostileReply(t *testing.T) {
	cases := map[string]struct {
		text    []byte
		endless bool
		want    string
	}{
		"rows without end": {whole('D', "\x00\x01\x00\x00\x00\x01x"), true, "more than 65536 rows"},
		"rows of 100 kB":   {whole('D', "\x61\xa8"+strings.Repeat("\xff\xff\xff\xff", 25_000)), true, "more than any reply"},
		"no row":           {whole('Z', "I"), false, "0 rows"},
		"too few columns":  {slices.Concat(whole('D', "\x00\x01\x00\x00\x00\x011"), whole('Z', "I")), false, "not 3 columns"},
		"a copy":           {whole('d', "x"), true, "CopyData"},
	}
	for name, c := range hostile {
		cases[name] = c
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := openHostile(t, serve(t, func(conn net.Conn, b *pgproto3.Backend) {
				conn.Write(welcome)
				awaitSync(b) // dial's own, after which the statements are prepared
				conn.Write(whole('Z', "I"))
				awaitSync(b)
				send(conn, c.text, c.endless)
			}))
			if !strings.Contains(err.Error(), c.want) || drivers.ClassOf(err) != drivers.ClassProtocol {
				t.Errorf("%v of class %s, want %q", err, drivers.ClassOf(err), c.want)
			}
		})
	}
}

// TestScramIterations asks for so many that the client would be busy for very long.
func TestScramIterations(t *testing.T) {
	err := openHostile(t, serve(t, func(conn net.Conn, b *pgproto3.Backend) {
		b.Send(&pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}})
		b.Flush()
		b.SetAuthType(pgproto3.AuthTypeSASL)
		m, err := b.Receive()
		first, ok := m.(*pgproto3.SASLInitialResponse)
		if err != nil || !ok {
			return
		}
		_, nonce, _ := bytes.Cut(first.Data, []byte(",r="))
		b.Send(&pgproto3.AuthenticationSASLContinue{Data: fmt.Appendf(nil, "r=%sx,s=c2FsdA==,i=%d", nonce, maxIterations+1)})
		b.Flush()
		io.Copy(io.Discard, conn)
	}))
	if !strings.Contains(err.Error(), "1000001 iterations") || drivers.ClassOf(err) != drivers.ClassProtocol {
		t.Errorf("%v of class %s", err, drivers.ClassOf(err))
	}
}

// TestLoginInPieces reads a valid beginning, and one with too many iterations, in pieces of all sizes.
func TestLoginInPieces(t *testing.T) {
	scram := func(n int) []byte { return whole('R', "\x00\x00\x00\x0b"+fmt.Sprintf("r=a,s=c2FsdA==,i=%d", n)) }
	for _, piece := range []int{1, 2, 7, 4096} {
		for n, good := range map[int]bool{4096: true, maxIterations: true, maxIterations + 1: false, 1 << 40: false} {
			stream := slices.Concat(whole('N', "M,i=9999999\x00\x00"), scram(n), welcome)
			var l login
			var err error
			for part := range slices.Chunk(stream, piece) {
				if err = l.check(part); err != nil {
					break
				}
			}
			if good != (err == nil) {
				t.Errorf("%d iterations in pieces of %d: %v", n, piece, err)
			}
		}
	}
}
