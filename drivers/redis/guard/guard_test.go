package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// feed gives a scanner a stream in pieces of that size, and returns what it passes on and how many values it saw end.
func feed(s *scanner, stream []byte, piece int) (passed []byte, values int, err error) {
	s.ended = func() error { values++; return nil }
	for part := range slices.Chunk(stream, piece) {
		n, err := s.scan(part)
		passed = append(passed, part[:n]...)
		if err != nil {
			return passed, values, err
		}
	}
	return passed, values, nil
}

// TestScanner reads what servers send, and what they must not, in one piece and byte by byte.
func TestScanner(t *testing.T) {
	deep := strings.Repeat("*1\r\n", maxNesting)
	for _, c := range []struct {
		stream string
		values int
		passed string // of a stream that is not read to its end
	}{
		{stream: "+OK\r\n:1\r\n-ERR no\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5\r\n(123\r\n", values: 9},
		{stream: "$5\r\na\r\nb\n\r\n$0\r\n\r\n=5\r\ntxt:a\r\n", values: 3},
		{stream: "*2\r\n$1\r\na\r\n*2\r\n:1\r\n*0\r\n%1\r\n+a\r\n~1\r\n:1\r\n>2\r\n+a\r\n+b\r\n", values: 3},
		{stream: "|1\r\n+ttl\r\n:1\r\n$1\r\nv\r\n+OK\r\n"},
		{stream: "!5\r\nMOVED\r\n"},
		{stream: "-ERR MOVED\r\n"},
		{stream: "*1\r\n>2\r\n+a\r\n+b\r\n", passed: "*1\r\n"},
		{stream: deep + ":1\r\n", values: 1},
		{stream: "-MOVED 1 127.0.0.1:1\r\n-ASK 1 a:1\r\n-REDIRECT a:1\r\n", values: 3},
		{stream: "+OK\r\n$1048577\r\n", values: 1, passed: "+OK\r\n"},
		{stream: "$9999999999\r\n"},
		{stream: "$4611686018427387904\r\n"},
		{stream: "$-5\r\n"},
		{stream: "$+5\r\n"},
		{stream: "$\r\n"},
		{stream: "$?\r\n"},
		{stream: "%-1\r\n"},
		{stream: "*16385\r\n"},
		{stream: "*2\r\n*10000\r\n" + strings.Repeat(":1\r\n", 10000) + "*10000\r\n", passed: "*2\r\n*10000\r\n" + strings.Repeat(":1\r\n", 10000)},
		{stream: deep + "*1\r\n", passed: deep},
		{stream: "_1\r\n"},
		{stream: "#tt\r\n"},
		{stream: "+OK\n"},
		{stream: "\r\n"},
		{stream: "HTTP/1.1 200 OK\r\n"},
		{stream: "-MOVED\r\n"},
		{stream: "-MOVED 1\r\n"},
		{stream: "-REDIRECT\r\n"},
		{stream: "+" + strings.Repeat("a", maxLine+1)},
	} {
		bad := c.values == 0 || c.passed != ""
		for _, piece := range []int{len(c.stream), 1, 3} {
			passed, values, err := feed(&scanner{limit: maxWeight}, []byte(c.stream), piece)
			switch {
			case bad != (err != nil) || values != c.values || bad && drivers.ClassOf(err) != drivers.ClassProtocol:
				t.Errorf("%.60q in pieces of %d: %d values and %v, want %d", c.stream, piece, values, err, c.values)
			case !bad && string(passed) != c.stream || piece == len(c.stream) && bad && string(passed) != c.passed:
				t.Errorf("%.60q in pieces of %d: %.60q passed", c.stream, piece, passed)
			case strings.HasSuffix(string(passed), c.stream):
				if bad {
					t.Errorf("%.60q in pieces of %d: all of it passed", c.stream, piece)
				}
			}
		}
	}
}

// FuzzScanner compares the scanner with itself: the pieces in which a stream comes make no difference. What it passes
// on can be read without a value of an absurd size.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nfoo\r\n%1\r\n+a\r\n:1\r\n-MOVED\r\n"), 3)
	f.Add([]byte("|1\r\n+a\r\n:1\r\n>2\r\n+message\r\n_\r\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		if len(stream) == 0 {
			return
		}
		whole, values, err := feed(&scanner{limit: maxWeight}, stream, len(stream))
		parts, again, err2 := feed(&scanner{limit: maxWeight}, stream, 1+max(piece, -piece, 0)%7)
		if values != again || (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(whole, parts) {
			t.Errorf("%q: %d values and %v, in pieces %d and %v", stream, values, err, again, err2)
		}
	})
}

// TestGuard lets a server send replies out of order.
func TestGuard(t *testing.T) {
	subscribe := string(encode([]string{"SUBSCRIBE", "a", "b"}))
	ping := string(encode([]string{"PING"}))
	confirm := func(open string) string { return open + "3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n" }
	message := func(open string) string { return open + "3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n" }
	unsubscribe, left := string(encode([]string{"UNSUBSCRIBE"})), ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
	hello := func(version string) string { return string(encode([]string{"HELLO", version})) }
	speaks := func(open, version string) string {
		return open + "\r\n+server\r\n$5\r\nredis\r\n+version\r\n+7\r\n$5\r\nproto\r\n" + version + "\r\n"
	}
	event := func(words ...string) string { return ">" + string(encode(words))[1:] }
	get, leave := string(encode([]string{"GET", "a"})), string(encode([]string{"UNSUBSCRIBE", "a"}))
	one, ask := string(encode([]string{"SUBSCRIBE", "a"})), string(encode([]string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "m"}))
	for _, c := range []struct {
		name, sent, replies string
		good                bool
	}{
		{"as asked", ping + ping, "+PONG\r\n-ERR\r\n", true},
		{"one too many", ping, "+PONG\r\n+PONG\r\n", false},
		{"answers about locks", get + get + get + get, "+OK\r\n:1\r\n_\r\n$-1\r\n", true},
		{"one such too many", get + get + get, strings.Repeat(":1\r\n", 4), false},
		{"one such in place of a version", get + get + hello("3") + get, strings.Repeat("+OK\r\n", 4), false},
		{"one too many for an argument that begins with *", string(encode([]string{"GET", "*\xff"})), "_\r\n_\r\n", false},
		{"one too many for an argument like a command", string(encode([]string{"GET", ping})), "_\r\n_\r\n", false},
		{"a push", ping, ">2\r\n+invalidate\r\n_\r\n+PONG\r\n", true},
		{"messages", subscribe, confirm(">") + confirm(">") + strings.Repeat(message(">"), 5), true},
		{"messages of version 2", subscribe, confirm("*") + confirm("*") + strings.Repeat(message("*"), 5), true},
		{"one confirmation too many", subscribe, strings.Repeat(confirm(">"), 3), false},
		{"one of version 2 too many", subscribe, strings.Repeat(confirm("*"), 3), false},
		{"a reply after a confirmation", subscribe, confirm(">") + confirm(">") + "+OK\r\n", false},
		{"a reply after the end of a subscription", unsubscribe, left + left + "+OK\r\n", false},
		{"a refused subscription", string(encode([]string{"SUBSCRIBE", "a"})) + unsubscribe, "-NOPERM\r\n-NOPERM\r\n", true},
		{"ends of subscriptions", subscribe + unsubscribe + ping, left + confirm(">") + confirm(">") + left + left + "+PONG\r\n", true},
		{"an end among confirmations", subscribe + unsubscribe, confirm(">") + left + confirm(">") + left, false},
		{"a confirmation before an earlier reply", get + one, confirm(">") + "_\r\n", false},
		{"a reply before the confirmation", one + get, "_\r\n" + confirm(">"), false},
		{"a reply in its place", one, "+OK\r\n", false},
		{"a queued subscription", one, "-QUEUED\r\n", false},
		{"an error among confirmations", subscribe, confirm(">") + "-ERR\r\n", false},
		{"a confirmation with an attribute", get, "|0\r\n" + confirm(">"), false},
		{"a confirmation as an array", ping, confirm("*"), false},
		{"a confirmation as a set", ping, confirm("~"), false},
		{"a reply in place of the end", leave + ping, "+PONG\r\n+PONG\r\n", false},
		{"an end that is refused like a PING", leave + ping, "-LOADING\r\n-LOADING\r\n", false},
		{"a PING behind an end that is refused", leave + ping, left + "-MISCONF\r\n", false},
		{"a PING behind an end while the server loads", leave + ping, left + "-LOADING\r\n", true},
		{"a pong of version 2", one + ping, confirm("*") + "*2\r\n$4\r\npong\r\n$0\r\n\r\n", true},
		{"a short pong", one + ping, confirm("*") + "*1\r\n$4\r\npong\r\n", false},
		{"pongs unasked", one, confirm("*") + "*2\r\n$4\r\npong\r\n$0\r\n\r\n", false},
		{"empty arrays unasked", one, confirm("*") + "*0\r\n", false},
		{"nulls unasked", one, confirm("*") + "*-1\r\n", false},
		{"an array in reply to PING", ping, "*1\r\n:5\r\n", false},
		{"a short confirmation", one, ">1\r\n+subscribe\r\n", false},
		{"a confirmation without a number", one, event("subscribe", "a", "1"), false},
		{"an empty push", ping, ">0\r\n", false},
		{"a push without a name", ping, ">2\r\n*1\r\n$7\r\nmessage\r\n+a\r\n", false},
		{"a short message", one, confirm(">") + event("message", "a"), false},
		{"a message that is no string", one, confirm(">") + ">3\r\n+message\r\n+a\r\n:1\r\n", false},
		{"a short message for a pattern", one, confirm(">") + event("pmessage", "a", "b"), false},
		{"an event that is unknown", ping, event("unheard-of", "a") + "+PONG\r\n", true},
		{"keys that changed", ping, ">2\r\n+invalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n+PONG\r\n", true},
		{"keys that are no strings", ping, ">2\r\n+invalidate\r\n*1\r\n:1\r\n+PONG\r\n", false},
		{"a key that is no array", ping, ">2\r\n+invalidate\r\n+a\r\n+PONG\r\n", false},
		{"a new primary", one, confirm(">") + event("message", "+switch-master", "m 127.0.0.1 1 127.0.0.1 2"), true},
		{"half a new primary", one, confirm(">") + event("message", "+switch-master", "m 127.0.0.1 1"), false},
		{"half a sentinel", one, confirm(">") + event("message", "+sentinel", "sentinel"), false},
		{"half a restart", one, confirm(">") + event("message", "+reboot", "master m"), false},
		{"a role", string(encode([]string{"ROLE"})), "*1\r\n+master\r\n", true},
		{"no role", string(encode([]string{"role"})), "*0\r\n", false},
		{"a primary", ask, "*2\r\n$1\r\nh\r\n$1\r\n1\r\n", true},
		{"an unknown primary", ask, "*-1\r\n", true},
		{"half a primary", ask, "*1\r\n$1\r\nh\r\n", false},
		{"version 3", hello("3"), speaks("%3", ":3"), true},
		{"version 3 as an array", hello("3"), speaks("*6", ":3"), true},
		{"version 2 where 3 was asked for", hello("3"), speaks("*6", ":2"), true},
		{"version 3 where 2 was asked for", hello("2"), speaks("*6", ":3"), false},
		{"a version that is no number", hello("3"), speaks("%3", "+abc"), false},
		{"no version", hello("3"), "%0\r\n", false},
		{"confirmation of nothing", ping, confirm(">"), false},
		{"message without subscription", ping, message("*") + message("*"), false},
		{"message that is no push", hello("3") + subscribe, speaks("%3", ":3") + strings.Repeat(message("*"), 3), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, there := net.Pipe()
			defer there.Close()
			conn := New(here, nil, false)
			defer conn.Close()
			go func() {
				io.ReadFull(there, make([]byte, len(c.sent)))
				io.WriteString(there, c.replies)
				there.Close()
			}()
			if _, err := io.WriteString(conn, c.sent); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if c.good && (err != nil || string(got) != c.replies) || !c.good && drivers.ClassOf(err) != drivers.ClassProtocol {
				t.Errorf("got %q and %v", got, err)
			}
			if _, again := conn.Read(make([]byte, 1)); !c.good && !errors.Is(again, err) {
				t.Errorf("the next Read returns %v", again)
			}
		})
	}
}

// TestGuardCounts cuts commands in two at each byte: no cut may hide or add a command or a subscription.
func TestGuardCounts(t *testing.T) {
	var stream []byte
	commands := [][]string{{"PING"}, {"SET", "k*", "*", "", "*1\r\n$4\r\nPING\r\n"}, {"ssubscribe", "a", "b"}, {"UNSUBSCRIBE", "a"}, {"PUNSUBSCRIBE", "a"}}
	for _, c := range commands {
		stream = append(stream, encode(c)...)
	}
	want := []expectation{{1, pong, 0, false}, {3, subscription, 2, false}, {4, unsubscription, 0, false}, {5, unsubscription, 0, false}}
	for cut := range stream {
		g := New(sink{}, nil, false).(*guard)
		g.Write(stream[:cut])
		g.Write(stream[cut:])
		if asked := g.asked.Load(); asked != int64(len(commands)) || !slices.Equal(g.expected, want) {
			t.Errorf("cut at %d: %d commands, of which %v, want %v", cut, asked, g.expected, want)
		}
	}
}

// sink is a connection that accepts everything.
type sink struct{ net.Conn }

func (sink) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkGuard is the cost of the guard for a command and a reply, in a batch as usual with many clients.
func BenchmarkGuard(b *testing.B) {
	const batch = 64
	set := encode([]string{"SET", "lockbench:0123456789abcdef:17", "0123456789abcdef0123456789abcdef", "NX", "PX", "30000"})
	commands, replies := bytes.Repeat(set, batch), bytes.Repeat([]byte("+OK\r\n:1\r\n_\r\n$-1\r\n"), batch/4)
	g := New(sink{}, nil, false).(*guard)
	b.Run("command", func(b *testing.B) {
		for i := 0; i < b.N; i += batch {
			g.Write(commands)
		}
	})
	b.Run("reply", func(b *testing.B) {
		for i := 0; i < b.N; i += batch {
			g.asked.Add(batch)
			if _, err := g.replies.scan(replies); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// encode writes a command as clients do.
func encode(args []string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
