package results

// Reading ahead: lines are parsed while others are read, and handed out in order all the same.

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
)

const (
	maxAhead     = 256 << 10 // a longer line is parsed while there is no other: a hostile one takes fifty times as much
	maxInFlight  = 16        // lines that are parsed at once
	perProcessor = 2         // of these; those that are done wait until those before them are
)

// entry is a line that is being parsed.
type entry struct {
	at     lineReader // as it was then
	text   []byte
	parsed chan struct{}

	rec *Record
	bad error // why there is no record
}

func (e *entry) parse() {
	e.rec, e.bad = e.at.record(e.text)
	e.parsed <- struct{}{}
}

// parsed calls each with all lines but blank ones, in order and from this goroutine, until it returns an error. It
// reads some lines further than that. Only this goroutine reads, so that nobody reads on when parsed has returned.
func (l *lineReader) parsed(each func(*entry) error) error {
	ring := make([]entry, min(perProcessor*runtime.GOMAXPROCS(0), maxInFlight))
	for i := range ring {
		ring[i].parsed = make(chan struct{}, 1) // so that parsing ends, even if each has had enough
	}
	first, next := 0, 0 // numbers of the entries that are under way; their places are these modulo the ring's length
	await := func() *entry {
		e := &ring[first%len(ring)]
		first++
		<-e.parsed
		return e
	}
	for {
		line, ended := l.next()
		if ended == nil && len(bytes.TrimSpace(line)) == 0 && !l.tooLong {
			continue
		}
		room := len(ring) - 1
		if ended != nil || len(line) > maxAhead {
			room = 0
		}
		for next-first > room {
			if err := each(await()); err != nil {
				return err
			}
		}
		switch {
		case ended == io.EOF:
			return nil
		case ended != nil:
			return fmt.Errorf("results: read: line %d: %w", l.number, ended)
		}
		e := &ring[next%len(ring)]
		next++
		e.at = *l
		if len(line) <= maxAhead {
			e.text = append(e.text[:0], line...) // the reader reads on
			go e.parse()
			continue
		}
		short := e.text
		e.text = line
		e.parse()
		e.text = short
		if err := each(await()); err != nil {
			return err
		}
	}
}
