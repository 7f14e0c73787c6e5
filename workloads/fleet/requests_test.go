package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// silent is no answer.
const silent = "silent"

// speak answers each request with what answer returns, in which ID and AT are replaced, until that is empty.
func speak(conn io.ReadWriter, answer func(op string) string) {
	clock := drivers.NewClock()
	for in := bufio.NewScanner(conn); in.Scan(); {
		var h lines.RequestHeader
		if json.Unmarshal(in.Bytes(), &h) != nil {
			return
		}
		text := answer(h.Op)
		switch text {
		case "":
			return
		case silent:
			continue
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
		"no rank":         {"hello", ok, "does not know the token"},
		"no proof":        {"hello", `{"id":ID,"at_ns":AT,"rank":1}`, "does not know the token"},
		"reflected proof": {"hello", `{"id":ID,"at_ns":AT,"rank":0,"proof":"` + proof(token, "bound", 0) + `"}`, "does not know the token"},
		"unbound proof":   {"hello", `{"id":ID,"at_ns":AT,"rank":1,"proof":"` + proof(token, "elsewhere", 1) + `"}`, "does not know the token"},
		"endless hello":   {"hello", strings.Repeat("x", 2*beforeProof), "it has said 65536 bytes and proved nothing"},
		"no name":         {"welcome", ok, "rank 1 does not say who it is"},
		"another's name":  {"welcome", `{"id":ID,"at_ns":AT,"hello":{"rank":2,"host":"h"}}`, "rank 1 does not say who it is"},
		"no JSON":         {"hello", `hello`, "the line is no JSON"},
		"no answer id":    {"hello", `{"id":99,"at_ns":AT}`, "not that of an open request"},
		"bad snapshot":    {"ping", `{"id":ID,"at_ns":AT,"snapshot":{"Phase":5}}`, "Phase"},
		"endless line":    {"part", strings.Repeat("x", 2<<20), "longer than"},
		"no part":         {"part", ok, "its figures make no sense: EOF"},
		"bad part":        {"part", `{"id":ID,"at_ns":AT,"chunk":"AAAA"}`, "its figures make no sense"},
		"clients":         {"part", partOf(`{"Rank":{"Rank":1,"Clients":-1}}`), "its figures are those of rank 1 with -1 clients, and it has 2"},
		"another's part":  {"part", partOf(`{"Rank":{"Rank":2,"Clients":2}}`), "its figures are those of rank 2"},
		"endless part":    {"part", `{"id":ID,"at_ns":AT,"chunk":"` + strings.Repeat("ICAg", 128<<10) + `","more":true}`, "its figures are longer than"},
		"empty chunks":    {"part", `{"id":ID,"at_ns":AT,"more":true}`, "is empty, and not the last"},
		"bad holds":       {"part", partOf(`{"Rank":{"Rank":1,"Clients":2}}nonsense`), "the logs of a rank are damaged"},
		"no holds":        {"part", partOf(`{"Rank":{"Rank":1,"Clients":2}}`), "the logs of a rank are damaged"},
		"refused":         {"trial", `{"id":ID,"at_ns":AT,"error":{"class":"other","text":"no room"}}`, "rank 1 on h: trial: no room"},
		"closed":          {"part", "", "rank 1 on h (process 0) was lost: the connection has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "endless part" && testing.Short() {
				t.Skip("reads 64 MiB")
			}
			l := NewLeader(identity(2), token)
			r := l.planted(t, func(op string) (text string, ok bool) { return test.answer, op == test.op })
			err := l.greet(t.Context(), r, silence)
			if test.op == "hello" || test.op == "welcome" {
				check(t, err, test.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			l.ranks = []*rank{r}
			defer l.Close(nil)
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

// planted returns a rank that gives those answers, and else makes sense.
func (l *Leader) planted(t *testing.T, answers func(op string) (text string, ok bool)) *rank {
	near, far := net.Pipe()
	script(t, far, func(op string) string {
		text, ok := answers(op)
		switch {
		case ok:
			return text
		case op == "hello":
			return `{"id":ID,"at_ns":AT,"rank":1,"proof":"` + proof(token, "bound", 1) + `"}`
		case op == "welcome":
			h := hello{Identity: identity(2), Rank: 1, Host: "h"}
			text, _ := json.Marshal(answer{LineHeader: lines.LineHeader{ID: 1}, Hello: &h})
			return strings.NewReplacer(`"id":1`, `"id":ID`, `"at_ns":0`, `"at_ns":AT`).Replace(string(text))
		}
		return `{"id":ID,"at_ns":AT}`
	})
	r := l.newRank("rank", near, "bound", nil, near.Close)
	t.Cleanup(func() { r.lose(nil) })
	return r
}

// TestNoFigures: a rank that answers pings and hands in nothing is given up when its load must be over, and after a number of
// operations, which may take any time, when the run is stopped.
func TestNoFigures(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*spec.Plan){
		"duration":   func(*spec.Plan) {},
		"operations": func(p *spec.Plan) { p.Duration, p.Ops = 0, 10 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := loadPlan()
			p.Clients, p.Processes, p.IOTimeout = 4, 2, 10*ms
			set(&p)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			l := NewLeader(identity(2), token)
			r := l.planted(t, func(op string) (string, bool) {
				if op == "part" && p.Ops > 0 {
					stop()
				}
				return silent, op == "part"
			})
			if err := l.greet(ctx, r, silence); err != nil {
				t.Fatal(err)
			}
			l.ranks = []*rank{r}
			defer l.Close(nil)
			rec, err := trial(ctx, l, p, server(t).Addr(), nil, nil)
			if err != nil || len(rec.Ranks) != 1 {
				t.Fatalf("%v, %+v", err, rec)
			}
			check(t, errors.New(rec.Partial), "rank 1 on h (process 0) was lost: it answers, but has not handed in its figures for 8.04s")
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
	if _, err := c.Ask(t.Context(), welcome(token)); err != nil {
		t.Fatal(err)
	}
	return c, over
}

// welcome returns the request of who knows a token.
func welcome(token string) *request {
	q := plain("welcome")
	q.Proof = proof(token, "bound", 0)
	return q
}

// openTrial returns the request that opens a trial.
func openTrial() *request {
	q := plain("trial")
	q.Trial = &Trial{Digest: Digest(loadPlan()), Prefix: "test:"}
	return q
}

// TestUnknownLeader: a rank does nothing for who does not know the token.
func TestUnknownLeader(t *testing.T) {
	for _, op := range []string{"ping", "trial", "bye", "end", "nonsense"} {
		c, over := asked(t, nil)
		if _, err := c.Ask(t.Context(), plain(op)); err == nil {
			t.Errorf("%s is answered", op)
		}
		check(t, <-over, "has not proved that it knows the token")
	}
	c, over := asked(t, nil)
	_, err := c.Ask(t.Context(), welcome("guessed"))
	check(t, err, "the tokens of rank 0 and rank 1 differ")
	check(t, <-over, "the tokens of rank 0 and rank 1 differ")
	c, over = asked(t, nil)
	_, _ = c.Ask(t.Context(), refusal("%s", strings.Repeat("\x1b]0;x", 1000)))
	check(t, <-over, "the tokens of rank 0 and rank 1 differ")
	c, over = asked(t, nil)
	_, _ = c.Ask(t.Context(), refusal("%s", strings.Repeat("x", 2*beforeProof)))
	check(t, <-over, "it has said 65536 bytes and proved nothing")
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
	open, start, stop := openTrial(), plain("start"), plain("stop")
	ask(plain("trial"), "trial: is missing")
	for _, op := range []string{"start", "stop", "part", "nonsense"} {
		ask(plain(op), "there is no trial")
	}
	ask(plain("end"), "")
	ask(open, "")
	ask(open, "the trial before has not ended")
	ask(plain("nonsense"), `"nonsense" is unknown`)
	ask(stop, "")
	ask(plain("part"), "rank 0 has stopped it")
	ask(plain("end"), "")

	ask(open, "")
	start.At = ask(plain("ping"), "").At
	ask(start, "")
	ask(start, "it has started")
	ask(stop, "")
	for ask(plain("part"), "").More {
	}
	ask(plain("part"), "") // nothing is left
	ask(plain("end"), "")

	ask(open, "")
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
		_, err := c.Ask(context.Background(), openTrial())
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
	if _, err := c.Ask(t.Context(), openTrial()); err != nil {
		t.Fatal(err)
	}
	a, err := c.Ask(t.Context(), plain("ping"))
	if err == nil {
		start := plain("start")
		start.At = a.At
		_, err = c.Ask(t.Context(), start)
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

// TestGivenUpAsWritten: a request that is given up while it is written leaves the connection to a rank whole.
func TestGivenUpAsWritten(t *testing.T) {
	m := meet(t, 2)
	over := join(t.Context(), m.Addr(), 1, identity(2), token, nil)
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	r := m.leader.ranks[0]
	for i := range 15_000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, _ = r.ask(ctx, plain("ping"))
		if i%1000 < 999 {
			continue
		}
		if _, err := r.ask(t.Context(), plain("ping")); err != nil { // which also lets the rank answer them all
			t.Fatal(err)
		}
	}
	m.leader.Close(nil)
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestNeverAsked: a rank that was not asked for a trial, since another one was lost just before, is not lost at its end.
func TestNeverAsked(t *testing.T) {
	s := server(t)
	m := meet(t, 3)
	ctx, kill := context.WithCancel(t.Context())
	kept := join(t.Context(), m.Addr(), 1, identity(3), token, opener(s.Addr(), 1))
	killed := join(ctx, m.Addr(), 2, identity(3), token, opener(s.Addr(), 2))
	if err := m.Wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	kill()
	m.ranks[1].lose(errors.New("planted"))
	<-killed
	for range 100 { // in many of them the lost rank is asked first
		d := m.Begin(Trial{Prefix: "test:"}, loadPlan())
		if _, err := d.Meet(t.Context()); err == nil {
			t.Fatal("the loss is not seen")
		}
		d.End()
		if text := m.ranks[0].lost(); text != "" {
			t.Fatal(text)
		}
	}
	m.Leader.Close(nil)
	if err := <-kept; err != nil {
		t.Error(err)
	}
}
