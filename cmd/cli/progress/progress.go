// Package progress shows on stderr how far a run is: one line that is rewritten on a terminal, a plain line every few
// seconds elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads"
)

// plainEvery is the time between two lines of progress where they cannot be rewritten, such as in a build's log.
const plainEvery = 5 * time.Second

// Line shows how far the trials are. A nil *Line shows nothing.
type Line struct {
	w       *Writer
	tty     bool
	columns int
	now     func() time.Time

	trials          int
	trial, label    string
	measured, after time.Duration // length of the present trial's window, and planned for all later trials

	first bool               // nothing is shown of this trial yet
	shown time.Time          // when the last line was shown or, at first, the trial began
	last  workloads.Snapshot // by then
}

// New returns a line for that many trials; 0 if nobody knows how many.
func New(w *Writer, trials int) *Line {
	columns, tty := Terminal(w)
	return &Line{w: w, tty: tty, columns: columns, now: time.Now, trials: trials}
}

// Terminal reports whether w is a terminal, and its width in columns.
func Terminal(w io.Writer) (columns int, tty bool) {
	if l, ok := w.(*Writer); ok {
		w = l.W
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = 80
	}
	return columns, true
}

// Trial says which trial it is of so many; 0 if nobody knows how many.
func Trial(n, of int) string {
	if of == 0 {
		return fmt.Sprintf("trial %d", n)
	}
	return fmt.Sprintf("trial %d of %d", n, of)
}

// Begin announces a trial by its number, from 1. measured is the length of its window, after the planned time of all
// later trials.
func (p *Line) Begin(trial int, label string, measured, after time.Duration) {
	if p == nil {
		return
	}
	if p.trials != 1 {
		p.trial, p.label = Trial(trial, p.trials)+": ", label
	}
	p.measured, p.after = measured, after
	p.first, p.shown, p.last = true, p.now(), workloads.Snapshot{}
}

// Update shows a snapshot; the engine calls it about four times a second, from one goroutine. The first one of the
// load is shown everywhere, so that a log says what is under way.
func (p *Line) Update(s workloads.Snapshot) {
	if p == nil {
		return
	}
	now := p.now()
	since := now.Sub(p.shown)
	begun := s.Phase == workloads.PhaseWarmup || s.Phase == workloads.PhaseMeasure
	if !p.tty && !(p.first && begun) && since < plainEvery {
		return
	}
	line := p.line(s, since)
	p.first, p.shown, p.last = false, now, s
	if !p.tty {
		fmt.Fprintln(p.w, line)
		return
	}
	if short := []rune(line); len(short) >= p.columns { // a line that wraps cannot be rewritten
		line = string(short[:p.columns-1])
	}
	p.w.status(line)
}

// End removes the line.
func (p *Line) End() {
	if p != nil && p.tty {
		p.w.status("")
	}
}

// line returns the snapshot in words, what matters most first, since a terminal may cut the rest; since is the time
// since the last one that was shown.
func (p *Line) line(s workloads.Snapshot, since time.Duration) string {
	rate := func(n, before int64) string { return format.Count(int64(float64(n-before) / max(since, 1).Seconds())) }
	parts := []string{p.trial + Phase(s)}
	add := func(show bool, text string) {
		if show {
			parts = append(parts, text)
		}
	}
	acquired := rate(s.Acquired, p.last.Acquired)
	left := Left(s, p.measured, p.after)
	add(!s.Open, acquired+" locks/s")
	add(s.Open, rate(s.Offered, p.last.Offered)+" arrivals/s, "+acquired+" granted")
	add(s.Violations > 0, format.Plural(s.Violations, "violation"))
	add(s.Errors > 0, format.Plural(s.Errors, "error"))
	add(s.P99 > 0, "p99 "+format.Duration(s.P99))
	add(s.Open, "queue "+format.Count(s.Queue))
	add(s.Dropped > 0, format.Count(s.Dropped)+" dropped")
	add(left > 0, Seconds(left)+" left")
	add(p.label != "", p.label)
	return strings.Join(parts, " | ")
}

// Phase says what a trial does, and for how long.
func Phase(s workloads.Snapshot) string {
	text := fmt.Sprintf("%s %s", s.Phase, Seconds(s.Elapsed))
	if s.Total > 0 {
		text += " of " + Seconds(s.Total)
	}
	return text
}

// Left returns the planned time that remains, of a trial with a window of that length and of all after it.
func Left(s workloads.Snapshot, measured, after time.Duration) time.Duration {
	left := after + max(0, s.Total-s.Elapsed)
	if s.Phase == workloads.PhaseWarmup {
		left += measured
	}
	return left
}

// Seconds formats a time to the second: 45s, 2m, 1m30s.
func Seconds(d time.Duration) string {
	s := d.Round(time.Second).String()
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		return short + "m"
	}
	return s
}

// Writer lets messages and a status line share a terminal: a message takes the status line's place. It is safe for
// concurrent use.
type Writer struct {
	W     io.Writer
	Scrub func(string) string // changes each message, which is written whole; may be nil

	mu    sync.Mutex
	drawn bool
}

const eraseLine = "\r\x1b[K"

func (l *Writer) Write(p []byte) (int, error) { return len(p), l.replace(string(p), false) }

// status replaces the status line; an empty one takes it away.
func (l *Writer) status(s string) { l.replace(s, s != "") }

// replace writes a text in the place of the status line, which it may be.
func (l *Writer) replace(text string, status bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Scrub != nil {
		text = l.Scrub(text)
	}
	if l.drawn {
		text = eraseLine + text
	}
	l.drawn = status
	_, err := io.WriteString(l.W, text)
	return err
}

// Still keeps a message, which may quote a file or a server, from moving the cursor.
func Still(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return format.Visible(r)
	}, text)
}
