package zookeeper

import (
	"encoding/binary"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// words returns a sequence of 32-bit numbers in ZooKeeper's encoding.
func words(numbers ...int64) (b []byte) {
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// goodGreeting opens a session with a time-out of 10 s and a password of 16 bytes.
var goodGreeting = append(words(0, 10_000, 0, 1, 16), make([]byte, 16)...)

// request returns a packet for an operation as number 1, without its body.
func request(op int64) []byte { return words(8, 1, op) }

// answer returns a successful answer to number 1.
func answer(body []byte) []byte { return append(words(1, 0, 0, 0), body...) }

func TestFrames(t *testing.T) {
	stat, done := make([]byte, statSize), append(words(-1), 1, 0xff, 0xff, 0xff, 0xff)
	result := func(kind int64, body ...byte) []byte { return append(append(words(kind), 0, 0, 0, 0, 0), body...) }
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	for _, c := range []struct {
		name string
		op   int64 // 0: the greeting
		body []byte
		good bool
	}{
		{"greeting", 0, goodGreeting, true},
		{"greeting of an expired session", 0, words(0, 0, 0, 0, 16, 0, 0, 0, 0), true},
		{"greeting without a time-out", 0, words(0, 0, 0, 1, 0), false},
		{"greeting with a negative one", 0, words(0, -1, 0, 1, 0), false},
		{"greeting that is cut off", 0, words(0, 10_000, 0, 1), false},
		{"greeting with a huge password", 0, words(0, 10_000, 0, 1, 0x7fffffff), false},
		{"greeting of many bytes", 0, make([]byte, maxGreeted+1), false},
		{"head that is cut off", 3, words(1, 0), false},
		{"error", opMulti, words(1, 0, 0, -101), true},
		{"exists", 3, answer(stat), true},
		{"data", opGetData, answer(join(words(3), []byte("abc"), stat)), true},
		{"no data", opGetData, answer(join(words(-1), stat)), true},
		{"huge data", opGetData, answer(words(0x7fffffff)), false},
		{"children", opChildren2, answer(join(words(2), words(1), []byte("a"), words(1), []byte("b"), stat)), true},
		{"no child", opChildren2, answer(join(words(0), stat)), true},
		{"children without number", opChildren2, answer(nil), false},
		{"a billion children", opChildren2, answer(words(1<<30, 1, 1)), false},
		{"minus one child", opChildren, answer(words(-1)), false},
		{"transaction", opMulti, answer(join(result(opCreateResult, join(words(2), []byte("/a"))...), result(2), done)), true},
		{"failed transaction", opMulti, answer(join(result(opErrorResult, words(-110)...), done)), true},
		{"transaction without end", opMulti, answer(result(2)), false},
		{"empty transaction", opMulti, answer(nil), false},
		{"transaction that is cut off", opMulti, answer(result(opCreateResult, words(5)...)), false},
		{"transaction of a negative length", opMulti, answer(result(opCreateResult, words(-9)...)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			go func() {
				defer there.Close()
				if c.op != 0 {
					there.Write(append(words(int64(len(goodGreeting))), goodGreeting...))
				}
				there.Write(append(words(int64(len(c.body))), c.body...))
			}()
			w := &wire{Conn: here, c: &conn{to: &endpoint{granted: new(atomic.Int64)}}}
			if c.op != 0 {
				if _, err := readAll(w, 4+len(goodGreeting)); err != nil {
					t.Fatal(err)
				}
				w.frames.sent(request(c.op))
			}
			got, err := readAll(w, 4+len(c.body))
			if c.good && (err != nil || string(got[4:]) != string(c.body)) || !c.good && drivers.ClassOf(err) != drivers.ClassProtocol {
				t.Errorf("got %d bytes and %v", len(got), err)
			}
			if (w.breach == nil) != c.good {
				t.Errorf("breach: %v", w.breach)
			}
		})
	}
}

// readAll reads n bytes in small pieces.
func readAll(w *wire, n int) (all []byte, err error) {
	piece := make([]byte, 5)
	for len(all) < n && err == nil {
		var k int
		k, err = w.Read(piece)
		all = append(all, piece[:k]...)
	}
	return all, err
}

// TestHostileGreeting opens the driver on servers that begin with an invalid frame: the library would allocate 4 GiB,
// or crash in a goroutine of its own.
func TestHostileGreeting(t *testing.T) {
	for name, c := range map[string]struct {
		frame []byte
		says  string
	}{
		"huge":    {words(0xffffffff), "a frame of 4294967295 bytes"},
		"timeout": {append(words(int64(len(goodGreeting))), append(words(0, 0, 0, 1, 16), make([]byte, 16)...)...), "a session time-out of 0 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					conn.Write(c.frame)
					go func() { // until the client closes
						for b := make([]byte, 64); ; {
							if _, err := conn.Read(b); err != nil {
								conn.Close()
								return
							}
						}
					}()
				}
			}()
			s, err := driver{}.Open(t.Context(), drivers.Config{
				Lock: "sequential", Addrs: []string{ln.Addr().String()}, Prefix: "p", IOTimeout: time.Second,
			})
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// FuzzFrames looks for bodies that crash the checks.
func FuzzFrames(f *testing.F) {
	f.Add(goodGreeting, int32(0))
	f.Add(answer(append(words(-1), 1, 0, 0, 0, 0)), int32(opMulti))
	f.Add(answer(words(1, 1, 0)), int32(opChildren2))
	f.Fuzz(func(t *testing.T, body []byte, op int32) {
		w := frames{greeted: op != 0, ops: map[int32]int32{1: op}}
		if err := w.check(body); err != nil && drivers.ClassOf(err) != drivers.ClassProtocol {
			t.Errorf("%v has the class %s", err, drivers.ClassOf(err))
		}
	})
}
