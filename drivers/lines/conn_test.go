package lines

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// peer is the other side of a Conn, by hand.
type peer struct {
	requests *bufio.Reader
	answers  *io.PipeWriter
}

// connect returns a connection, which is being read.
func connect(t *testing.T, o Options[*line]) (*Conn[*line], *peer) {
	t.Helper()
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	o.Who, o.Decode = "peer", Decode[line]
	c := New(in, o)
	go c.Read(out)
	t.Cleanup(func() {
		requests.Close() // requests that are not read fail
		answers.Close()
		<-c.Done()
	})
	return c, &peer{bufio.NewReader(requests), answers}
}

func (p *peer) read(t *testing.T) string {
	t.Helper()
	text, err := p.requests.ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	return text
}

func (p *peer) say(format string, args ...any) { fmt.Fprintf(p.answers, format, args...) }

func ping() *request { return &request{RequestHeader: RequestHeader{Op: "ping"}} }

// asked asks in another goroutine, and returns what takes the answer.
func asked(ctx context.Context, c *Conn[*line], r *request) <-chan error {
	got := make(chan error, 1)
	go func() {
		l, err := c.Ask(ctx, r)
		if err == nil && l.Key != r.Key {
			err = fmt.Errorf("the answer to %q is that to %q", r.Key, l.Key)
		}
		got <- err
	}()
	return got
}

// Answers may come in any order, also from a server, and tell between which times of this side's clock they were written.
func TestAnswersInAnyOrder(t *testing.T) {
	const n = 16
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	s := NewServer(answers)
	var waiting []func()
	served := make(chan error)
	go func() {
		err := s.Serve(t.Context(), requests, func(_ context.Context, op string, text []byte, answer func(Line, error)) bool {
			r, err := Decode[request](text)
			waiting = append(waiting, func() { answer(&line{Key: r.Key}, err) })
			if len(waiting) == n {
				go func() {
					for _, answer := range waiting {
						defer answer() // the last one first
					}
				}()
			}
			return true
		})
		answers.Close()
		served <- err
	}()
	c := New(in, Options[*line]{Who: "peer", Decode: Decode[line]})
	if low, high := c.Bounds(); low != math.MinInt64 || high != math.MaxInt64 {
		t.Errorf("before any line, the bounds are %v and %v", low, high)
	}
	go c.Read(out)
	truth := c.Clock.Reading(s.Clock.Time(0))
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			key := fmt.Sprint(i)
			l, err := c.Ask(t.Context(), &request{ping().RequestHeader, key})
			if err != nil || l.Key != key {
				t.Errorf("%s: %+v, %v", key, l, err)
			} else if at := l.At + truth; l.Sent > at || at > l.Read {
				t.Errorf("%s: sent at %v, written at %v, read at %v", key, l.Sent, at, l.Read)
			}
		})
	}
	wg.Wait()
	if low, high := c.Bounds(); low > truth || truth > high {
		t.Errorf("the bounds are %v and %v, and the truth is %v", low, high, truth)
	}
	if err := errors.Join(c.Close(), <-served); err != nil {
		t.Error(err)
	}
	<-c.Done()
	if _, err := c.Ask(t.Context(), ping()); drivers.ClassOf(err) != drivers.ClassClosed || err.Error() != "peer: the connection has ended" {
		t.Errorf("after the end: %v", err)
	}
}

// A peer that makes no sense ends the connection for the request that is under way and those that follow.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		says  string
		class drivers.Class
		want  string // after "peer: "
	}{
		"no JSON":        {"hello\n", drivers.ClassProtocol, `the line is no JSON: invalid character 'h' looking for beginning of value, in the line ` + "`hello`"},
		"unknown field":  {`{"id":1,"at_ns":1,"x":1}` + "\n", drivers.ClassProtocol, "x: is unknown, in the line `{\"id\":1,\"at_ns\":1,\"x\":1}`"},
		"unknown id":     {`{"id":7,"at_ns":1}` + "\n", drivers.ClassProtocol, `id: 7 is not that of an open request, in the line `},
		"id 0":           {`{"id":0,"at_ns":1}` + "\n", drivers.ClassProtocol, "id: is missing, and so is event, in the line "},
		"negative id":    {`{"id":-1,"at_ns":1}` + "\n", drivers.ClassProtocol, "id: -1 is not that of an open request, in the line "},
		"id and event":   {`{"id":1,"event":"e","at_ns":1}` + "\n", drivers.ClassProtocol, "event: is in an answer, in the line "},
		"unknown event":  {`{"event":"e","at_ns":1}` + "\n", drivers.ClassProtocol, `event: "e" is unknown, in the line `},
		"clock":          {`{"event":"ok","at_ns":2}` + "\n" + `{"event":"ok","at_ns":1}` + "\n", drivers.ClassProtocol, "at_ns: is 1, after 2, in the line "},
		"crash":          {`{"event":"crash","at_ns":1}` + "\n", drivers.ClassProtocol, "panic: planted, in "},
		"not understood": {`{"at_ns":1,"error":{"class":"protocol","text":"what?"}}` + "\n", drivers.ClassProtocol, "the peer has not understood a request: what?, in the line "},
		"long line":      {strings.Repeat("x", maxLine+1), drivers.ClassProtocol, "a line is longer than 1048576 bytes"},
		"half a line":    {`{"id":1,`, drivers.ClassClosed, "the connection has ended: the last line is incomplete"},
		"nothing":        {"", drivers.ClassClosed, "the connection has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := connect(t, Options[*line]{Event: func(l *line) error {
				switch l.Event {
				case "ok":
					return nil
				case "crash":
					panic("planted")
				}
				return Refuse("event", "%q is unknown", l.Event)
			}})
			got := asked(t.Context(), c, ping())
			p.read(t)
			go func() {
				p.say("%s", tt.says)
				p.answers.Close()
			}()
			err := <-got
			if err == nil || !strings.HasPrefix(err.Error(), "peer: "+tt.want) || drivers.ClassOf(err) != tt.class {
				t.Errorf("%v (%s)\nwant %s (%s)", err, drivers.ClassOf(err), tt.want, tt.class)
			}
			if _, again := c.Ask(t.Context(), ping()); again != err || c.Err() != err {
				t.Errorf("then %v, and %v", again, c.Err())
			}
		})
	}
}

// An answer that is refused ends its own request, too.
func TestClockSteps(t *testing.T) {
	c, p := connect(t, Options[*line]{})
	for id, at := range []time.Duration{time.Millisecond, time.Hour} {
		got := asked(t.Context(), c, ping())
		p.read(t)
		p.say(`{"id":%d,"at_ns":%d}`+"\n", id+1, at)
		err, want := <-got, []string{"<nil>", "peer: at_ns: has jumped against our clock"}[id]
		if !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// An answer that comes after its request was given up is dropped. A second one is nonsense.
func TestLateAndTwice(t *testing.T) {
	c, p := connect(t, Options[*line]{})
	ctx, cancel := context.WithCancel(t.Context())
	got := asked(ctx, c, ping())
	if text := p.read(t); text != `{"id":1,"op":"ping"}`+"\n" {
		t.Error(text)
	}
	cancel()
	if err := <-got; err == nil || err.Error() != "peer: ping: no answer: context canceled" {
		t.Error(err)
	}
	if _, err := c.Ask(ctx, ping()); err == nil || err.Error() != "peer: ping: not sent: context canceled" {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	got = asked(ctx, c, &request{ping().RequestHeader, "second"})
	if text := p.read(t); !strings.HasPrefix(text, `{"id":2,"op":"ping","timeout_ns":3`) {
		t.Error(text)
	}
	p.say(`{"id":1,"at_ns":1}` + "\n" + `{"id":2,"at_ns":2,"key":"second"}` + "\n")
	if err := <-got; err != nil {
		t.Error(err)
	}
	p.say(`{"id":2,"at_ns":3,"key":"second"}` + "\n")
	<-c.Done()
	if err := c.Err(); !strings.HasPrefix(err.Error(), "peer: id: 2 is not that of an open request") {
		t.Error(err)
	}
}

// Many ask at once, some give up, and each of the others gets its own answer.
func TestManyAskers(t *testing.T) {
	c, p := connect(t, Options[*line]{})
	clock := drivers.NewClock()
	go func() {
		for {
			text, err := p.requests.ReadBytes('\n')
			if err != nil {
				return
			}
			r, err := Decode[request](text)
			if err != nil {
				t.Error(err)
			}
			p.say(`{"id":%d,"at_ns":%d,"key":%q}`+"\n", r.ID, clock.Now(), r.Key)
		}
	}()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for j := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if j%3 == 0 {
					go cancel()
				}
				r := ping()
				r.Key = fmt.Sprint(i, "/", j)
				if l, err := c.Ask(ctx, r); err == nil && l.Key != r.Key || err != nil && ctx.Err() == nil {
					t.Errorf("%s: %+v, %v", r.Key, l, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

// noticed is a pipe that tells of writes.
type noticed struct {
	*os.File
	writes chan struct{}
}

func (n *noticed) Write(p []byte) (int, error) {
	n.writes <- struct{}{}
	return n.File.Write(p)
}

// fill fills a pipe, and returns with how much.
func fill(t *testing.T, in *os.File) (size int) {
	t.Helper()
	raw, err := in.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Write(func(fd uintptr) bool {
		for err == nil {
			var n int
			n, err = syscall.Write(int(fd), []byte("\n"))
			size += max(n, 0)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
	return size
}

// A peer that does not read makes nobody wait for longer than a context lasts, and misses nothing when it reads again.
func TestPeerThatDoesNotRead(t *testing.T) {
	requests, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer requests.Close()
	filled := fill(t, in)
	out, answers := io.Pipe()
	w := &noticed{in, make(chan struct{}, 100)}
	c := New[*line](w, Options[*line]{Who: "peer", Decode: Decode[line]})
	go c.Read(out)
	ctx, cancel := context.WithCancel(t.Context())
	first := asked(ctx, c, ping())
	<-w.writes
	impatient, giveUp := context.WithCancel(t.Context())
	second := asked(impatient, c, ping())
	testwait.Until(t, "the second request waits to be written", func() bool { return c.queued() > 0 })
	giveUp()
	if err := <-second; err == nil || err.Error() != "peer: ping: it does not read: context canceled" {
		t.Errorf("behind another: %v", err)
	}
	cancel()
	if err := <-first; err == nil || err.Error() != "peer: ping: no answer: context canceled" {
		t.Error(err)
	}
	large := &request{ping().RequestHeader, strings.Repeat("x", maxLine-100)}
	gone, cancel := context.WithCancel(t.Context())
	cancelled := make([]<-chan error, maxQueued/maxLine+1)
	for i := range cancelled {
		cancelled[i] = asked(gone, c, &request{large.RequestHeader, large.Key})
	}
	testwait.Until(t, "as much waits as may", func() bool { return c.queued() > maxQueued })
	if _, err := c.Ask(t.Context(), ping()); drivers.ClassOf(err) != drivers.ClassTimeout || !strings.Contains(err.Error(), "requests before it have no answer") {
		t.Errorf("behind too many: %v", err)
	}
	cancel()
	for _, err := range cancelled {
		<-err
	}
	p := bufio.NewReader(requests)
	if _, err := p.Discard(filled); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			text, err := p.ReadBytes('\n')
			if err != nil {
				return
			}
			r, _ := Decode[request](text)
			fmt.Fprintf(answers, `{"id":%d}`+"\n", r.ID)
		}
	}()
	testwait.Until(t, "it reads again", func() bool { return c.queued() == 0 })
	if _, err := c.Ask(t.Context(), ping()); err != nil {
		t.Error(err)
	}
	answers.Close()
	<-c.Done()
}

// queued returns how many bytes wait to be written.
func (c *Conn[L]) queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.buf)
}

// short writes half a request, and ends the answers when it is closed.
type short struct{ *io.PipeWriter }

func (s short) Write(p []byte) (int, error) { return len(p) / 2, os.ErrDeadlineExceeded }

// Half a request ends the connection, with the explanation of the end.
func TestHalfARequest(t *testing.T) {
	out, answers := io.Pipe()
	c := New(short{answers}, Options[*line]{Decode: Decode[line], Explain: func(reason error) error {
		return fmt.Errorf("explained: %v", reason)
	}})
	go c.Read(out)
	if _, err := c.Ask(t.Context(), ping()); err == nil || err.Error() != "explained: <nil>" {
		t.Error(err)
	}
}

// Events come in order, and this side knows between which times of its own clock they were written.
func TestBounds(t *testing.T) {
	const ms = time.Millisecond
	var events []*line
	c := New(nil, Options[*line]{Event: func(l *line) error { events = append(events, l); return nil }})
	take := func(h LineHeader) error { return c.take(&line{LineHeader: h}) }
	sent := func(id int64, at time.Duration) {
		c.pending[id] = pending[*line]{sent: at, answer: make(chan *line, 1)}
	}
	// The peer's clock is 1000 ms behind.
	if err := take(LineHeader{Event: "e", At: 1 * ms, Read: 1003 * ms}); err != nil || len(events) != 1 {
		t.Error(err)
	}
	if low, high := c.Bounds(); low != math.MinInt64 || high != 1002*ms {
		t.Errorf("before any answer: %v to %v", low, high)
	}
	sent(1, 1009*ms)
	if err := take(LineHeader{ID: 1, At: 10 * ms, Read: 1015 * ms}); err != nil {
		t.Error(err)
	}
	if low, high := c.Bounds(); low != 999*ms || high != 1002*ms {
		t.Errorf("%v to %v", low, high)
	}
	// The clocks drift apart, as those of two machines do.
	sent(2, 3_600_000*ms)
	if err := take(LineHeader{ID: 2, At: 3_598_900 * ms, Read: 3_600_001 * ms}); err != nil {
		t.Error(err)
	}
	// A request was sent after the peer had, by its clock, written the answer.
	sent(3, 3_700_000*ms)
	err := take(LineHeader{ID: 3, At: 3_598_900 * ms, Read: 3_700_001 * ms})
	if f := FailureOf(err); f.Field != "at_ns" || f.Class != drivers.ClassProtocol {
		t.Errorf("a clock that stands still: %v", err)
	}
}
