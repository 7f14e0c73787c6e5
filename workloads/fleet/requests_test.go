package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/workloads"
)

// speak answers each request with what answer returns, in which ID and AT are replaced, until that is empty.
func speak(conn io.ReadWriter, answer func(op string) string) {
	clock := drivers.NewClock()
	for in := bufio.NewScanner(conn); in.Scan(); {
		var h lines.RequestHeader
		if json.Unmarshal(in.Bytes(), &h) != nil {
			return
		}
		text := answer(h.Op)
		if text == "" {
			return
		}
		text = strings.NewReplacer("ID", fmt.Sprint(h.ID), "AT", fmt.Sprint(int64(clock.Now()))).Replace(text)
		if _, err := io.WriteString(conn, text+"\n"); err != nil {
			return
		}
	}
}

// TestNonsense: a rank whose answers make no sense is lost, and rank 0 says why.
func TestNonsense(t *testing.T) {
	const ok = `{"id":ID,"at_ns":AT}`
	for name, test := range map[string]struct {
		op, answer, want string
	}{
		"no hello":        {"hello", ok, "has no hello"},
		"no proof":        {"hello", `{"id":ID,"at_ns":AT,"hello":{"rank":1,"host":"h"}}`, "rank 1 on h does not know the token"},
		"reflected proof": {"hello", `{"id":ID,"at_ns":AT,"hello":{"rank":0,"host":"h","proof":"` + proof(token, "bound", 0) + `"}}`, "rank 0 on h does not know"},
		"no JSON":         {"hello", `hello`, "the line is no JSON"},
		"no answer id":    {"hello", `{"id":99,"at_ns":AT}`, "not that of an open request"},
		"bad snapshot":    {"ping", `{"id":ID,"at_ns":AT,"snapshot":{"Phase":5}}`, "Phase"},
		"endless line":    {"part", strings.Repeat("x", 2<<20), "longer than"},
		"no part":         {"part", ok, "its figures make no sense"},
		"bad part":        {"part", `{"id":ID,"at_ns":AT,"chunk":"AAAA"}`, "its figures make no sense"},
		"clients":         {"part", partOf(`{"Rank":{"Rank":1,"Clients":-1}}`), "its figures are those of rank 1 with -1 clients, and it has 2"},
		"another's part":  {"part", partOf(`{"Rank":{"Rank":2,"Clients":2}}`), "its figures are those of rank 2"},
		"endless part":    {"part", `{"id":ID,"at_ns":AT,"chunk":"` + strings.Repeat("A", 512<<10) + `","more":true}`, "its figures are longer than"},
		"empty chunks":    {"part", `{"id":ID,"at_ns":AT,"more":true}`, "is empty, and not the last"},
		"bad holds":       {"holds", `{"id":ID,"at_ns":AT,"chunk":"AAAA"}`, "the logs of a rank are damaged"},
		"empty holds":     {"holds", `{"id":ID,"at_ns":AT,"more":true}`, "is empty, and not the last"},
		"refused":         {"trial", `{"id":ID,"at_ns":AT,"error":{"class":"other","text":"no room"}}`, "rank 1 on h: trial: no room"},
		"closed":          {"part", "", "rank 1 on h (process 0) was lost: the connection has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "endless part" && testing.Short() {
				t.Skip("reads 64 MiB")
			}
			l := NewLeader(identity(2), token)
			near, far := net.Pipe()
			script(t, far, func(op string) string {
				switch {
				case op == test.op:
					return test.answer
				case op == "hello":
					h := hello{Identity: identity(2), Rank: 1, Host: "h", Proof: proof(token, "bound", 1)}
					text, _ := json.Marshal(answer{LineHeader: lines.LineHeader{ID: 1}, Hello: &h})
					return strings.NewReplacer(`"id":1`, `"id":ID`, `"at_ns":0`, `"at_ns":AT`).Replace(string(text))
				case op == "part":
					return partOf(`{"Rank":{"Rank":1,"Clients":2}}`)
				}
				return ok
			})
			r := l.newRank("rank", near, "bound", nil, near.Close)
			defer func() { r.lose(nil) }()
			err := l.greet(t.Context(), r, silence)
			if test.op == "ping" || test.op == "hello" {
				check(t, err, test.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			l.ranks = []*rank{r}
			defer l.Close()
			p := loadPlan()
			p.Clients, p.Processes = 4, 2
			rec, err := trial(t.Context(), l, p, server(t).Addr(), nil, nil)
			if err == nil {
				err = fmt.Errorf("%s", rec.Partial)
			}
			check(t, err, test.want)
		})
	}
}

func partOf(text string) string {
	chunk, _ := json.Marshal([]byte(text))
	return `{"id":ID,"at_ns":AT,"chunk":` + string(chunk) + `}`
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// asked is rank 0 by hand, of a rank that follows.
func asked(t *testing.T, open Opener) (c *lines.Conn[*answer], over <-chan error) {
	t.Helper()
	near, far := net.Pipe()
	c = lines.New(near, lines.Options[*answer]{Who: "rank 1", Decode: lines.Decode[answer]})
	go c.Read(near)
	ended := make(chan error, 1)
	go func() { ended <- Follow(context.Background(), far, "bound", 1, identity(3), token, open) }()
	t.Cleanup(func() {
		_ = near.Close()
		<-c.Done()
	})
	return c, ended
}

func greeted(t *testing.T, open Opener) (c *lines.Conn[*answer], over <-chan error) {
	t.Helper()
	c, over = asked(t, open)
	if _, err := c.Ask(t.Context(), &helloRequest{lines.RequestHeader{Op: "hello"}, proof(token, "bound", 0)}); err != nil {
		t.Fatal(err)
	}
	return c, over
}

// TestUnknownLeader: a rank does nothing for who does not know the token.
func TestUnknownLeader(t *testing.T) {
	for _, op := range []string{"ping", "trial", "bye", "end", "nonsense"} {
		c, over := asked(t, nil)
		if _, err := c.Ask(t.Context(), plain(op)); err == nil {
			t.Errorf("%s is answered", op)
		}
		check(t, <-over, "has not said that it knows the token")
	}
	c, over := asked(t, nil)
	_, err := c.Ask(t.Context(), &helloRequest{lines.RequestHeader{Op: "hello"}, proof("guessed", "bound", 0)})
	check(t, err, "the tokens of rank 0 and rank 1 differ")
	check(t, <-over, "the tokens of rank 0 and rank 1 differ")
}

// TestOrder: requests in an order that makes no sense are refused, and the rank goes on.
func TestOrder(t *testing.T) {
	s := server(t)
	c, over := greeted(t, opener(s.Addr(), 1))
	ask := func(r lines.Request, want string) *answer {
		t.Helper()
		a, err := c.Ask(t.Context(), r)
		if want != "" {
			check(t, err, want)
		} else if err != nil {
			t.Fatal(err)
		}
		return a
	}
	open := &trialRequest{lines.RequestHeader{Op: "trial"}, Trial{Plan: loadPlan(), Prefix: "test:"}}
	start := &startRequest{lines.RequestHeader{Op: "start"}, 0}
	stop := &stopRequest{lines.RequestHeader{Op: "stop"}, ""}
	for _, op := range []string{"start", "stop", "part", "holds", "end", "nonsense"} {
		ask(plain(op), "there is no trial")
	}
	ask(open, "")
	ask(open, "the trial before has not ended")
	ask(plain("nonsense"), `"nonsense" is unknown`)
	ask(stop, "")
	ask(plain("part"), "rank 0 has stopped it")
	ask(plain("holds"), "rank 0 has stopped it")
	ask(plain("end"), "")

	ask(open, "")
	start.At = ask(plain("ping"), "").At
	ask(start, "")
	ask(start, "it has started")
	ask(stop, "")
	ask(plain("part"), "")
	for ask(plain("holds"), "").More {
	}
	ask(plain("holds"), "") // nothing is left
	ask(plain("end"), "")

	bad := open
	bad.Plan.Lock = "nonsense"
	ask(&trialRequest{lines.RequestHeader{Op: "trial"}, bad.Trial}, "")
	ask(plain("end"), "")
	ask(plain("bye"), "")
	if err := <-over; err != nil {
		t.Error(err)
	}
	if keys := s.Keys(); len(keys) > 0 {
		t.Errorf("left: %v", keys)
	}
}

// TestEndDuringOpen: the service that opens late is closed all the same.
func TestEndDuringOpen(t *testing.T) {
	opening := make(chan struct{})
	c, over := greeted(t, func(ctx context.Context, _ Trial) (_ *workloads.Run, _ func(), err error) {
		close(opening)
		<-ctx.Done()
		return nil, nil, context.Cause(ctx)
	})
	failed := make(chan error, 1)
	go func() {
		_, err := c.Ask(context.Background(), &trialRequest{lines.RequestHeader{Op: "trial"}, Trial{Plan: loadPlan()}})
		failed <- err
	}()
	<-opening
	if _, err := c.Ask(t.Context(), plain("end")); err != nil {
		t.Error(err)
	}
	check(t, <-failed, "canceled")
	_ = c.Close()
	check(t, <-over, "rank 0 has ended")
}

// TestSilentLeader: a rank whose rank 0 says nothing gives its locks back, and ends.
func TestSilentLeader(t *testing.T) {
	t.Parallel()
	s := server(t)
	c, over := greeted(t, opener(s.Addr(), 1))
	if _, err := c.Ask(t.Context(), &trialRequest{lines.RequestHeader{Op: "trial"}, Trial{Plan: loadPlan(), Prefix: "test:"}}); err != nil {
		t.Fatal(err)
	}
	a, err := c.Ask(t.Context(), plain("ping"))
	if err == nil {
		_, err = c.Ask(t.Context(), &startRequest{lines.RequestHeader{Op: "start"}, a.At})
	}
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	check(t, <-over, "rank 0 has said nothing for 4s")
	t.Logf("it has ended after %v", time.Since(since))
	if keys := s.Keys(); len(keys) > 0 {
		t.Errorf("left: %v", keys)
	}
}
