// Package wire logs the requests to a Redis that go through a proxy. It is the witness of tests that hold a record against what
// happened: it reads bytes and clocks, and knows nothing of drivers, clients and harness.
package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
)

// Request is one command and its reply. All times are since the log began.
type Request struct {
	Args  []string
	Reply string // the first line, with its type: "+OK", ":1", "$-1", "_", "*2"

	Asked    time.Duration // it came from the client
	Sent     time.Duration // it went to the server
	Heard    time.Duration // its reply came from the server
	Answered time.Duration // its reply went to the client
}

// Log is what has gone over the wire.
type Log struct {
	began time.Time

	mu       sync.Mutex
	streams  map[any]*[2]stream
	requests []Request // answered
}

// stream is one direction of a connection: what has come of its next value, and of requests those without a reply.
type stream struct {
	rest    []byte
	waiting []Request
}

// New logs what goes through a proxy from now on.
func New(p *fault.Proxy) *Log {
	l := &Log{began: time.Now(), streams: map[any]*[2]stream{}}
	p.Watch(l.passes)
	return l
}

// Requests returns the requests that have been answered, in the order of their answers.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// passes reads a piece of a stream. A value counts as come with its last byte.
func (l *Log) passes(p fault.Passage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	both := l.streams[p.Link]
	if both == nil {
		both = new([2]stream)
		l.streams[p.Link] = both
	}
	came, went := p.Came.Sub(l.began), p.Went.Sub(l.began)
	s := &both[p.Direction]
	s.rest = append(s.rest, p.Data...)
	for {
		value, n := next(s.rest)
		if n == 0 {
			return
		}
		s.rest = s.rest[n:]
		asked := &both[fault.Requests]
		switch {
		case p.Direction == fault.Requests:
			asked.waiting = append(asked.waiting, Request{Args: value[1:], Asked: came, Sent: went})
		case strings.HasPrefix(value[0], ">") || len(asked.waiting) == 0: // a push
		default:
			r := asked.waiting[0]
			asked.waiting = asked.waiting[1:]
			r.Reply, r.Heard, r.Answered = value[0], came, went
			l.requests = append(l.requests, r)
		}
	}
}

// next returns the first value of a stream: its first line, and the texts of its elements if it is an array of texts. n is how many
// bytes it takes; 0 if it is not complete.
func next(b []byte) (value []string, n int) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 1 {
		return nil, 0
	}
	value, n = []string{string(b[:end])}, end+2
	length, _ := strconv.Atoi(string(b[1:end]))
	switch b[0] {
	case '$', '=', '!':
		if length < 0 {
			return value, n
		}
		if len(b) < n+length+2 {
			return nil, 0
		}
		return append(value, string(b[n:n+length])), n + length + 2
	case '%', '|':
		length *= 2
	case '*', '~', '>':
	default:
		return value, n
	}
	for range length {
		element, size := next(b[n:])
		if size == 0 {
			return nil, 0
		}
		value, n = append(value, element[len(element)-1]), n+size
	}
	if b[0] == '|' { // attributes of the value that follows
		_, size := next(b[n:])
		if size == 0 {
			return nil, 0
		}
		of, _ := next(b[n:])
		return of, n + size
	}
	return value, n
}

// Hold is a lock of the design set-nx, from its SET to the script that removes it.
type Hold struct {
	Key           string
	Take, Release Request
}

// Locked is for how long the key was locked on the server, if its lease did not end before.
func (h *Hold) Locked() time.Duration { return h.Release.Heard - h.Take.Heard }

// At returns a time as the log counts it.
func (l *Log) At(t time.Time) time.Duration { return t.Sub(l.began) }

// Holds returns those whose release has been answered, in the order of their grants.
func (l *Log) Holds() []Hold {
	var holds []Hold
	open, again := map[string]Request{}, map[string]time.Duration{} // by owner; when a script was sent that the server did not have
	for _, r := range l.Requests() {
		switch a := r.Args; {
		case len(a) > 2 && a[0] == "SET" && r.Reply == "+OK":
			open[a[2]] = r
		case len(a) > 4 && strings.HasPrefix(r.Reply, "-NOSCRIPT"):
			again[a[4]] = r.Asked
		case len(a) > 4 && strings.HasPrefix(a[0], "EVAL") && !strings.HasPrefix(r.Reply, "-"):
			if take, ok := open[a[4]]; ok {
				r.Asked = min(r.Asked, cmp.Or(again[a[4]], r.Asked))
				holds = append(holds, Hold{a[3], take, r})
				delete(open, a[4])
			}
		}
	}
	slices.SortFunc(holds, func(a, b Hold) int { return cmp.Compare(a.Take.Answered, b.Take.Answered) })
	return holds
}

// Doubles returns how many locks were granted while another client believed that it held the key.
func Doubles(holds []Hold) (n int) {
	believed := map[string]time.Duration{} // until when
	for _, h := range holds {
		if h.Take.Answered < believed[h.Key] {
			n++
		}
		believed[h.Key] = max(believed[h.Key], h.Release.Asked)
	}
	return n
}

// Gaps returns the times from a release to the answer of the next grant of its key, where no two held it at once.
func Gaps(holds []Hold) (gaps []time.Duration) {
	released := map[string]time.Duration{}
	for _, h := range holds {
		if from, ok := released[h.Key]; ok && from < h.Take.Answered {
			gaps = append(gaps, h.Take.Answered-from)
		}
		released[h.Key] = max(released[h.Key], h.Release.Asked)
	}
	return gaps
}
