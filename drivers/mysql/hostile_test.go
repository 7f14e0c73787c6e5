package mysql

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// greeting returns the greeting of a server with TLS and mysql_native_password.
func greeting() []byte {
	const capabilities = 1 | 1<<9 | 1<<11 | 1<<15 | 1<<19 | 1<<24
	body := slices.Concat([]byte("\x0a8.4.0\x00\x01\x00\x00\x0012345678\x00"),
		[]byte{capabilities & 0xff, capabilities >> 8 & 0xff, 45, 2, 0, capabilities >> 16 & 0xff, capabilities >> 24, 21},
		make([]byte, 10), []byte("123456789012\x00mysql_native_password\x00"))
	return packet(0, body...)
}

// receive reads one packet.
func receive(conn net.Conn) bool {
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return false
	}
	_, err := io.CopyN(io.Discard, conn, int64(head[0])|int64(head[1])<<8|int64(head[2])<<16)
	return err == nil
}

// TestHostileServer makes servers send invalid data, in clear text and under TLS: instead of the login, or as the
// answer to the first query.
func TestHostileServer(t *testing.T) {
	cert := httptest.NewTLSServer(nil)
	defer cert.Close()
	long := append([]byte{0xff, 0xff, 0xff, 1}, make([]byte, 1<<24-1)...)
	big := func(number byte) []byte { return append([]byte{0xff, 0xff, 0x0f, number}, make([]byte, 0x0fffff)...) }
	ok := func(number byte) []byte { return packet(number, 0, 0, 0, 2, 0, 0, 0) }
	column := packet(2, []byte("\x03def\x00\x00\x00\x01a\x00\x0c\x2d\x00\x00\x00\x00\x00\xfd\x00\x00\x00")...)
	for name, c := range map[string]struct {
		login   bool
		text    []byte
		endless bool
		want    string
	}{
		"instead of a login, no end": {true, big(2), true, "more than any reply has"},
		"16 million columns":         {false, packet(1, 0xfd, 0xff, 0xff, 0xff), false, "more columns"},
		"columns for all memory":     {false, packet(1, 0xfe, 0, 0, 0, 0, 0xff), false, "more columns"},
		"a packet without end":       {false, long, true, "a packet of 16777215 bytes"},
		"an error that is cut off":   {false, packet(1, 0xff), false, "panic"},
		"long rows without end":      {false, slices.Concat(packet(1, 1), column, big(3), big(4), big(5), big(6), big(7), big(8), big(9), big(10), big(11)), false, "more than any reply has"},
	} {
		for _, encrypted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", TLS"}[encrypted], func(t *testing.T) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				all.Go(func() {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					defer conn.Close()
					defer context.AfterFunc(t.Context(), func() { conn.Close() })()
					conn.Write(greeting())
					number := byte(2)
					if encrypted {
						if receive(conn) {
							conn = tls.Server(conn, cert.TLS)
						}
						number++
					}
					receive(conn)
					if !c.login {
						conn.Write(ok(number))
						receive(conn) // SET autocommit
						conn.Write(ok(1))
						receive(conn)
					}
					for _, err := conn.Write(c.text); c.endless && err == nil; {
						_, err = conn.Write(c.text)
					}
					for receive(conn) {
					}
				})
				t.Cleanup(func() { l.Close(); all.Wait() })
				cfg := drivers.Config{Lock: "get-lock", Addrs: []string{l.Addr().String()}, Username: "u", IOTimeout: 20 * time.Second}
				if encrypted {
					cfg.TLS = &tls.Config{InsecureSkipVerify: true}
				}
				s, err := Driver.Open(t.Context(), cfg)
				if err == nil {
					s.Close()
					t.Fatal("it opens")
				}
				if !strings.Contains(err.Error(), c.want) || drivers.ClassOf(err) != drivers.ClassProtocol {
					t.Errorf("%v of class %s, want %q", err, drivers.ClassOf(err), c.want)
				}
			})
		}
	}
}
