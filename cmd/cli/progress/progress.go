// Package progress shows on stderr how far a run is: one line that is rewritten on a terminal, a plain line every few seconds
// elsewhere.
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

	trial, trials int
	label         string
	measured      time.Duration // length of the present trial's measured window
	after         time.Duration // planned length of all later trials

	lines int                // shown for this trial
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

// Begin announces a trial by its number, from 1. measured is the length of its window, after the planned time of all later
// trials.
func (p *Line) Begin(trial int, label string, measured, after time.Duration) {
	if p == nil {
		return
	}
	p.trial, p.label, p.measured, p.after = trial, label, measured, after
	p.lines, p.shown, p.last = 0, p.now(), workloads.Snapshot{}
}

// Update shows a snapshot; the engine calls it about four times a second, from one goroutine. The first one of the load is
// shown everywhere, so that a log says what is under way.
func (p *Line) Update(s workloads.Snapshot) {
	if p == nil {
		return
	}
	now := p.now()
	since := now.Sub(p.shown)
	begun := s.Phase == workloads.PhaseWarmup || s.Phase == workloads.PhaseMeasure
	if first := p.lines == 0 && begun; !p.tty && !first && since < plainEvery {
		return
	}
	line := p.line(s, since)
	p.lines++
	p.shown, p.last = now, s
	if p.tty {
		p.w.status(clip(line, p.columns-1))
		return
	}
	fmt.Fprintln(p.w, line)
}

// End removes the line.
func (p *Line) End() {
	if p != nil && p.tty {
		p.w.status("")
	}
}

// lineWidth is how long a line gets at the most, so that a log is read without scrolling.
const lineWidth = 99

// part is a piece of a line. A line that gets too long takes short forms instead, which may be nothing, those of the
// highest rank first.
type part struct {
	text, short string
	rank        int
}

// line returns the snapshot in words; since is the time since the last one that was shown. Nothing that went wrong is ever
// left out of it.
func (p *Line) line(s workloads.Snapshot, since time.Duration) string {
	var parts []part
	add := func(text, short string, rank int) { parts = append(parts, part{text, short, rank}) }
	fault := func(n int64, text string, rank int) {
		if n == 0 {
			add(text, "", rank)
		} else {
			add(text, text, 0)
		}
	}
	phase := Phase(s)
	short, _, long := strings.Cut(phase, " of ")
	if long {
		add(phase, short, 4)
	} else {
		add(phase, phase, 0)
	}
	rates := p.rates(s, since)
	add(rates, strings.Replace(rates, " arrivals/s", "/s", 1), 1)
	if s.P99 > 0 {
		text := "p99 " + threeDigits(s.P99)
		add(text, text, 0)
	}
	if s.Open {
		fault(int64(s.Queue), "queue "+format.Count(s.Queue), 5)
	}
	if s.Dropped > 0 {
		add(format.Count(s.Dropped)+" dropped", "", 1)
	}
	fault(s.Violations, format.Plural(s.Violations, "violation"), 2)
	fault(s.Errors, format.Plural(s.Errors, "error"), 6)
	if left := Left(s, p.measured, p.after); left > 0 {
		add(Seconds(left)+" left", "", 3)
	}
	return p.fit(parts)
}

// rates returns the throughput since the last line and, in an open loop, what was due meanwhile.
func (p *Line) rates(s workloads.Snapshot, since time.Duration) string {
	rate := func(n, before int64) string {
		if since <= 0 {
			return "0"
		}
		return format.Count(int64(float64(n-before) / since.Seconds()))
	}
	acquired := rate(s.Acquired, p.last.Acquired)
	if s.Open {
		return fmt.Sprintf("%s arrivals/s, %s granted", rate(s.Offered, p.last.Offered), acquired)
	}
	return acquired + " locks/s"
}

// fit joins the parts and puts the trial before them, with as much of its label as there is room for.
func (p *Line) fit(parts []part) string {
	trial, label := "", ""
	switch {
	case p.trials > 1:
		trial = fmt.Sprintf("trial %d of %d: ", p.trial, p.trials)
		label = p.label
	case p.trials == 0:
		trial = fmt.Sprintf("trial %d: ", p.trial)
		label = p.label
	}
	keep := 0 // of the label, with its parentheses
	if label != "" {
		keep = min(len(label), minLabel) + len(" ()")
	}
	for rank := 6; rank > 0 && len(trial)+keep+len(join(parts)) > lineWidth; rank-- {
		for i := range parts {
			if parts[i].rank == rank {
				parts[i].text = parts[i].short
			}
		}
	}
	line := join(parts)
	if room := lineWidth - len(trial) - len(line) - len(" ()"); label != "" && room >= keep-len(" ()") {
		if len(label) > room {
			label = label[:room-len("..")] + ".."
		}
		trial = strings.TrimSuffix(trial, ": ") + " (" + label + "): "
	}
	return trial + line
}

func join(parts []part) string {
	var texts []string
	for _, p := range parts {
		if p.text != "" {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, " | ")
}

// minLabel is how much of a label is worth showing.
const minLabel = 20

// threeDigits formats a latency in ASCII: 850us, 12.3ms.
func threeDigits(d time.Duration) string {
	unit := time.Duration(1)
	for d.Round(unit) >= 1000*unit {
		unit *= 10
	}
	return strings.Replace(d.Round(unit).String(), "\u00b5", "u", 1)
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

// clip cuts a line so that it cannot wrap, since a wrapped line cannot be rewritten. Progress lines are ASCII.
func clip(s string, columns int) string {
	if columns > 0 && len(s) > columns {
		return s[:columns]
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

func (l *Writer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	if _, err := io.WriteString(l.W, l.scrub(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *Writer) scrub(text string) string {
	if l.Scrub != nil {
		return l.Scrub(text)
	}
	return text
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

// status replaces the status line; an empty one takes it away.
func (l *Writer) status(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	if s != "" {
		io.WriteString(l.W, l.scrub(s))
		l.drawn = true
	}
}

func (l *Writer) erase() {
	if l.drawn {
		io.WriteString(l.W, eraseLine)
		l.drawn = false
	}
}
