package exec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
)

// A gap is evidence of a pause that it covers, and the parent knows between which times of its own clock it was told.
func TestGaps(t *testing.T) {
	const ms = time.Millisecond
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	events := make(chan Event, 3)
	c := newConn("worker", 0, in, func(e Event) { events <- e }, func(err error) error { return errors.Join(errEnded, err) })
	go c.Read(out)
	say := func(format string, args ...any) {
		if _, err := fmt.Fprintf(answers, format+"\n", args...); err != nil {
			t.Fatal(err)
		}
	}
	say(`{"event":"gap","at_ns":1,"gap_ns":60000000}`)
	if e := <-events; !e.After.IsZero() || e.Gap != 60*ms {
		t.Errorf("before any answer: %+v", e)
	}
	go func() {
		_, _ = bufio.NewReader(requests).ReadString('\n')
		say(`{"id":1,"at_ns":10}`)
	}()
	if _, err := c.ask(t.Context(), &request{RequestHeader: lines.RequestHeader{Op: "close"}}); err != nil {
		t.Fatal(err)
	}
	c.forgetGaps()
	say(`{"event":"gap","at_ns":500000000,"gap_ns":60000000}`)
	e := <-events
	low, high := c.Bounds()
	if c.Clock.Reading(e.After) != 500*ms+low || c.Clock.Reading(e.Read) > high+500*ms {
		t.Errorf("between %v and %v, with bounds of %v and %v", e.After, e.Read, low, high)
	}
	written := c.Clock.Time(500*ms + high) // or earlier
	for _, tt := range []struct {
		stopped, continued time.Duration // after written
		found              bool
	}{
		{-72 * ms, -12 * ms, true},
		{-202 * ms, -12 * ms, false}, // the pause was longer
		{98 * ms, 158 * ms, false},   // the gap had ended before
	} {
		p := Pause{Stopped: written.Add(tt.stopped), Continued: written.Add(tt.continued)}
		if got := c.findGap(p); (got > 0) != tt.found {
			t.Errorf("a gap is evidence of a pause from %v to %v after it: %v", tt.stopped, tt.continued, got)
		}
	}
	answers.Close()
	<-c.Done()
}

// What a wait has acquired is the next try's, without a request, and its lease began at the latest when the answer was written.
func TestWaitThatHolds(t *testing.T) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	c := newConn("adapter", 0, in, nil, func(err error) error { return errors.Join(errEnded, err) })
	go c.Read(out)
	began, written := time.Now(), time.Duration(0)
	go func() {
		r := bufio.NewReader(requests)
		for id, what := range []string{"", `,"held":true,"owner":"me","fence":7`, `,"owned":true`} {
			text, err := r.ReadString('\n')
			if err != nil || id > 0 && !strings.Contains(text, `"lease":1,"key":"k"`) {
				t.Errorf("request %q, %v", text, err)
			}
			at := time.Since(began)
			if id == 1 {
				written = at
			}
			fmt.Fprintf(answers, `{"id":%d,"at_ns":%d%s}`+"\n", id+1, at, what)
		}
		answers.Close()
	}()
	s, err := c.session(t.Context(), claims{Traits: drivers.Traits{Waits: true}})
	if err != nil {
		t.Fatal(err)
	}
	l := &drivers.Lease{Key: "k", TTL: time.Minute}
	if err := s.(drivers.Waiter).Wait(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	held(t, s, l)
	_, high := c.Bounds()
	if want := c.Clock.Time(written + high + l.TTL); l.Owner != "me" || l.Fence != 7 || !l.ValidUntil.Equal(want) {
		t.Errorf("got %+v, want it until %v", l, want)
	}
	if owned, err := s.Release(t.Context(), l); !owned || err != nil {
		t.Errorf("Release: %v, %v", owned, err)
	}
	<-c.Done()
}

// answering returns the connection to an adapter which, having heard these requests, tells something and answers the
// last one with such fields. end ends it, and returns the requests.
func answering(answer func(ops []string) (told, fields string)) (c *conn, end func() []string) {
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	c = newConn("adapter", 0, in, nil, func(err error) error { return errors.Join(errEnded, err) })
	go c.Read(out)
	var ops []string
	go func() {
		defer answers.Close()
		r := bufio.NewReader(requests)
		for id := 1; ; id++ {
			text, err := r.ReadString('\n')
			if err != nil {
				return
			}
			ops = append(ops, regexp.MustCompile(`"op":"(\w+)"`).FindStringSubmatch(text)[1])
			told, fields := answer(ops)
			fmt.Fprintf(answers, `%s{"id":%d,"at_ns":%d%s}`+"\n", told, id, id, fields)
		}
	}()
	return c, func() []string {
		in.Close()
		<-c.Done()
		return ops
	}
}

// A wait that ended with an error is released before the next attempt with its lease, not after it.
func TestWaitThatFails(t *testing.T) {
	c, end := answering(func(ops []string) (told, fields string) {
		return "", map[string]string{
			"wait": `,"error":{"class":"closed","text":"cut"}`, "release": `,"owned":true`, "try": `,"held":true,"owner":"me"`,
		}[ops[len(ops)-1]]
	})
	s, err := c.session(t.Context(), claims{Traits: drivers.Traits{Waits: true}})
	if err != nil {
		t.Fatal(err)
	}
	w, l := s.(drivers.Waiter), &drivers.Lease{Key: "k", TTL: time.Minute}
	if err := w.Wait(t.Context(), l); drivers.ClassOf(err) != drivers.ClassClosed {
		t.Error(err)
	}
	held(t, s, l)
	if err := w.Leave(t.Context(), l); err != nil {
		t.Error(err)
	}
	if want, ops := []string{"session", "wait", "release", "try"}, end(); !slices.Equal(ops, want) {
		t.Errorf("requests %v, want %v", ops, want)
	}
}
