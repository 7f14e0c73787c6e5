package fleet

// Planted strangers: processes that speak the protocol and do not belong to the fleet.

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/workloads"
)

// listen is a stranger's rendezvous.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := listenTLS("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// never is the opener of a rank that must open nothing.
func never(t *testing.T) Opener {
	return func(context.Context, Trial) (*workloads.Run, func(), error) {
		t.Error("a stranger has had a rank open a service")
		return nil, nil, context.Canceled
	}
}

// TestRogueLeader listens where a rank expects rank 0. All that it learns is a proof that it can use nowhere else.
func TestRogueLeader(t *testing.T) {
	for name, guess := range map[string]func(binding string, said *answer) string{
		"no proof":    func(string, *answer) string { return "" },
		"no token":    func(binding string, _ *answer) string { return proof("", binding, 0) },
		"a guess":     func(binding string, _ *answer) string { return proof("guessed", binding, 0) },
		"its own":     func(_ string, said *answer) string { return said.Proof },
		"another's":   func(string, *answer) string { return proof(token, "of another connection", 0) },
		"not bound":   func(string, *answer) string { return proof(token, "", 0) },
		"of one rank": func(binding string, _ *answer) string { return proof(token, binding, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t)
			over := join(t.Context(), l.Addr().String(), 1, identity(3), token, never(t))
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			bound, err := binding(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			c := lines.New(conn, lines.Options[*answer]{Who: "rank", Decode: lines.Decode[answer]})
			go c.Read(conn)
			said, err := c.Ask(t.Context(), plain("hello"))
			if err != nil || said.Hello != nil || said.Rank != 1 {
				t.Errorf("it says %+v, %v", said, err)
			}
			q := plain("welcome")
			q.Proof = guess(bound, said)
			if said, err = c.Ask(t.Context(), q); err == nil || said.Hello != nil {
				t.Errorf("it says %+v", said)
			}
			_, _ = c.Ask(t.Context(), openTrial())
			check(t, <-over, "the tokens of rank 0 and rank 1 differ")
			<-c.Done()
		})
	}
}

// dial connects a stranger to a rendezvous.
func (m meeting) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, _, err := Join(t.Context(), m.Addr(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestRelayed stands between a rank and rank 0, which both know the token, or not the same.
func TestRelayed(t *testing.T) {
	for _, known := range []string{token, "another token, of 16 bytes"} {
		m := meet(t, 2)
		l := listen(t)
		over := join(t.Context(), l.Addr().String(), 1, identity(2), known, never(t))
		near, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		far := m.dial(t)
		done := make(chan string)
		for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				var passed strings.Builder
				_, _ = io.Copy(io.MultiWriter(ends[1], &passed), ends[0])
				_, _ = ends[0].Close(), ends[1].Close()
				done <- passed.String()
			}()
		}
		select {
		case err := <-over:
			check(t, err, "the tokens of rank 0 and rank 1 differ")
		case <-m.complete:
			t.Fatal("they have met")
		}
		for _, text := range []string{<-done, <-done} {
			if strings.Contains(text, `"op":"welcome"`) || strings.Contains(text, `"host"`) {
				t.Errorf("it could read %s", text)
			}
		}
		m.said.await(t, "does not know the token")
		m.close()
	}
}

// TestTalkers: what strangers say of themselves is neither printed at length nor as it is.
func TestTalkers(t *testing.T) {
	const strangers = 10
	long := strings.Repeat("\x1b[31mh\u202e", beforeProof/16)
	m := meet(t, 3)
	text, _ := json.Marshal(long)
	for i := range strangers {
		answers := []string{
			`{"id":ID,"at_ns":AT,"rank":1,"hello":{"rank":1,"version":` + string(text) + `,"host":` + string(text) + `}}`,
			`{"id":ID,"at_ns":AT,"error":{"class":"other","text":` + string(text) + `}}`, strings.Repeat("x", 1<<20), long,
		}
		speak(m.dial(t), func(string) string { return answers[i%len(answers)] })
	}
	m.close()
	said := m.said.text
	if n := strings.Count(said, "\n"); n != mostRefusals+1 || !strings.HasSuffix(said, "refused: 2 more\n") || len(said) > (mostRefusals+1)*400 {
		t.Errorf("%d lines, %d bytes: %s", n, len(said), said)
	}
	if strings.ContainsAny(said, "\x1b\u202e") {
		t.Errorf("%q", said)
	}
}
