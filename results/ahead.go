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
	parsed chan struct{}

	rec *Record
	bad error // why there is no record
}

// parsed calls each with all lines but blank ones, in order and from this goroutine, until it returns an error. It
// reads some lines further than that. Only this goroutine reads, so that nobody reads on when parsed has returned.
func (l *lineReader) parsed(each func(*entry) error) error {
	var ahead []*entry
	handOut := func(keep int) error {
		for len(ahead) > keep {
			e := ahead[0]
			ahead = ahead[1:]
			<-e.parsed
			if err := each(e); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		line, ended := l.next()
		if ended == nil && len(bytes.TrimSpace(line)) == 0 && !l.tooLong {
			continue
		}
		alone := len(line) > maxAhead
		if ended != nil || alone {
			if err := handOut(0); err != nil {
				return err
			}
		}
		switch {
		case ended == io.EOF:
			return nil
		case ended != nil:
			return fmt.Errorf("results: read: line %d: %w", l.number, ended)
		}
		e := &entry{at: *l, parsed: make(chan struct{})}
		keep := 0
		if !alone {
			line = bytes.Clone(line) // the reader reads on
			keep = min(perProcessor*runtime.GOMAXPROCS(0), maxInFlight) - 1
		}
		go func() {
			e.rec, e.bad = e.at.record(line)
			close(e.parsed)
		}()
		ahead = append(ahead, e)
		if err := handOut(keep); err != nil {
			return err
		}
	}
}
