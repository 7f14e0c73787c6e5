package exec

import (
	"errors"
	"io"
	"testing"
	"time"
)

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// The parent knows between which times of its own clock a line was written, from the requests before it and from when
// it was read.
func TestBounds(t *testing.T) {
	const ms = time.Millisecond
	c := newConn(discard{io.Discard}, nil, func(err error) error { return err })
	sent := func(id int64, at time.Duration) { c.pending[id] = pending{sent: at, answer: make(chan line, 1)} }
	event := func(at, read time.Duration) *Event {
		t.Helper()
		e, err := c.take(line{Event: eventGap, At: at, Gap: 60 * ms}, read)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	// The worker's clock is 1000 ms behind the parent's.
	if e := event(1*ms, 1003*ms); !e.After.IsZero() {
		t.Errorf("before any answer, it is known to be after %v", e.After)
	}
	sent(1, 1009*ms)
	if _, err := c.take(line{ID: 1, At: 10 * ms}, 1015*ms); err != nil {
		t.Fatal(err)
	}
	if e := event(500*ms, 1900*ms); c.clock.Reading(e.After) != 1499*ms || c.clock.Reading(e.Read) != 1900*ms {
		t.Errorf("between %v and %v", c.clock.Reading(e.After), c.clock.Reading(e.Read))
	}
	// The first line was read 2 ms after it was written, so nothing takes longer to be written than that.
	written := c.clock.Time(1502 * ms)
	c.gaps = []gap{{60 * ms, 500 * ms}}
	for _, tt := range []struct {
		stopped, continued time.Duration
		found              bool
	}{
		{1430 * ms, 1490 * ms, true},
		{1300 * ms, 1490 * ms, false}, // the pause was longer
		{1600 * ms, 1660 * ms, false}, // the gap had ended before
	} {
		p := Pause{Stopped: c.clock.Time(tt.stopped), Continued: c.clock.Time(tt.continued)}
		if got := c.findGap(p); (got > 0) != tt.found {
			t.Errorf("a gap that ended by %v is evidence of a pause from %v to %v: %v", written, tt.stopped, tt.continued, got)
		}
	}
	// A request was sent after the worker had, by its clock, written the answer.
	sent(2, 1800*ms)
	var bad *refusal
	if _, err := c.take(line{ID: 2, At: 500 * ms}, 1900*ms); !errors.As(err, &bad) || bad.field != "at_ns" {
		t.Errorf("a clock that stands still: %v", err)
	}
}
