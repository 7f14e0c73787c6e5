package fault

import (
	"strings"
	"testing"
)

func TestKeepAlive(t *testing.T) {
	frame := func(kind byte, payload string) string {
		return string([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, 0}) + payload
	}
	const (
		preface  = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		zkPing   = "\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b"
		zkPong   = "\x00\x00\x00\x10\xff\xff\xff\xfe\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00"
		zkCreate = "\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x0b"
	)
	settings, ping, window := frame(4, ""), frame(6, "12345678"), frame(8, "\x00\x00\x01\x00")
	for piece, want := range map[string]bool{
		"":                                 false,
		"*1\r\n$4\r\nPING\r\n":             true,
		"*1\r\n$4\r\nping\r\n":             true,
		"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\n": false,
		"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n":   false,
		"+PONG\r\n":                        true,
		"+OK\r\n":                          false,
		zkPing:                             true,
		zkPong:                             true,
		zkPing + zkPing:                    false,
		zkCreate:                           false,
		preface:                            true,
		preface + settings + window:        true,
		settings:                           true,
		window + ping:                      true,
		ping + frame(1, "headers"):         false,
		frame(0, "data"):                   false,
		ping[:len(ping)-1]:                 false,
		ping + window[:5]:                  false,
		"\x01\x00\x00\x00\x0e":             false, // MySQL's COM_PING
		"Q\x00\x00\x00\x0dSELECT 1\x00":    false, // PostgreSQL
		strings.Repeat("\x00", 9):          false,
		"\x07\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00": false, // MySQL's OK
	} {
		if got := keepAlive([]byte(piece)); got != want {
			t.Errorf("%q: %t", piece, got)
		}
	}
}

func FuzzKeepAlive(f *testing.F) {
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"))
	f.Add([]byte("\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"))
	f.Add([]byte("\x00\x00\x00\x08\xff\xff\xff\xfe\x00\x00\x00\x0b"))
	f.Fuzz(func(t *testing.T, piece []byte) {
		if keepAlive(piece) && keepAlive(append(piece, "SET"...)) {
			t.Errorf("%q is a keep-alive with a request behind it", piece)
		}
	})
}
