// Progress on stderr: one line that is rewritten on a terminal, a plain line every few seconds elsewhere.

package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/results/render"
	"github.com/lockbench/lockbench/workloads"
)

// plainEvery is the time between two lines of progress where they cannot be rewritten, such as in a build's log.
const plainEvery = 5 * time.Second

// progress shows how far the trials are. A nil *progress shows nothing.
type progress struct {
	w       *lineWriter
	tty     bool
	columns int
	now     func() time.Time

	turn, turns int
	label       string
	measured    time.Duration // length of the present trial's measured window
	after       time.Duration // planned length of all later trials

	lines    int       // shown for this trial
	shown    time.Time // when the last line was shown or, at first, the trial began
	acquired int64     // by then
}

func newProgress(w *lineWriter, turns int) *progress {
	columns, tty := terminal(w.w)
	return &progress{w: w, tty: tty, columns: columns, now: time.Now, turns: turns}
}

// begin announces trial number turn, from 1.
func (p *progress) begin(turn int, label string, measured, after time.Duration) {
	if p == nil {
		return
	}
	p.turn, p.label, p.measured, p.after = turn, label, measured, after
	p.lines, p.shown, p.acquired = 0, p.now(), 0
}

// update takes a snapshot; the engine calls it about four times a second, from one goroutine. The load's first
// is shown everywhere, so that a log tells what is under way.
func (p *progress) update(s workloads.Snapshot) {
	now := p.now()
	since := now.Sub(p.shown)
	begun := s.Phase == workloads.PhaseWarmup || s.Phase == workloads.PhaseMeasure
	if first := p.lines == 0 && begun; !p.tty && !first && since < plainEvery {
		return
	}
	rate := 0.0
	if since > 0 {
		rate = float64(s.Acquired-p.acquired) / since.Seconds()
	}
	p.lines++
	p.shown, p.acquired = now, s.Acquired
	line := p.line(s, rate)
	if p.tty {
		p.w.status(clip(line, p.columns-1))
		return
	}
	fmt.Fprintln(p.w, line)
}

// end takes the line away.
func (p *progress) end() {
	if p != nil && p.tty {
		p.w.status("")
	}
}

func (p *progress) line(s workloads.Snapshot, rate float64) string {
	var b strings.Builder
	if p.turns > 1 {
		fmt.Fprintf(&b, "trial %d of %d", p.turn, p.turns)
		if p.label != "" {
			fmt.Fprintf(&b, " (%s)", p.label)
		}
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s %s", s.Phase, seconds(s.Elapsed))
	if s.Total > 0 {
		fmt.Fprintf(&b, " of %s", seconds(s.Total))
	}
	fmt.Fprintf(&b, " | %s locks/s | %s | %s", render.Thousands(int64(rate)), render.Many(s.Violations, "violation"), render.Many(s.Errors, "error"))
	if left := p.left(s); left > 0 {
		fmt.Fprintf(&b, " | about %s left", seconds(left))
	}
	return b.String()
}

// left is the planned time that remains, of this trial and all later ones.
func (p *progress) left(s workloads.Snapshot) time.Duration {
	left := p.after + max(0, s.Total-s.Elapsed)
	if s.Phase == workloads.PhaseWarmup {
		left += p.measured
	}
	return left
}

// seconds writes a time to the second: 45s, 2m, 1m30s.
func seconds(d time.Duration) string {
	s := d.Round(time.Second).String()
	if short, ok := strings.CutSuffix(s, "m0s"); ok {
		return short + "m"
	}
	return s
}

// clip cuts a line so that it cannot wrap, since a wrapped line cannot be rewritten. Progress lines are ASCII.
func clip(s string, columns int) string {
	if columns > 0 && len(s) > columns {
		return s[:columns]
	}
	return s
}

// lineWriter lets messages and a status line share a terminal: a message takes the status line's place. It is safe
// for concurrent use.
type lineWriter struct {
	mu    sync.Mutex
	w     io.Writer
	drawn bool
}

const eraseLine = "\r\x1b[K"

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	return l.w.Write(p)
}

// status replaces the status line; an empty one takes it away.
func (l *lineWriter) status(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	if s != "" {
		io.WriteString(l.w, s)
		l.drawn = true
	}
}

func (l *lineWriter) erase() {
	if l.drawn {
		io.WriteString(l.w, eraseLine)
		l.drawn = false
	}
}
