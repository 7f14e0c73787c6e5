// Progress on stderr: one line that is rewritten on a terminal, a plain line every few seconds elsewhere.

package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

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

	lines int                // shown for this trial
	shown time.Time          // when the last line was shown or, at first, the trial began
	last  workloads.Snapshot // by then
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
	p.lines, p.shown, p.last = 0, p.now(), workloads.Snapshot{}
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
	line := p.line(s, since)
	p.lines++
	p.shown, p.last = now, s
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

// lineWidth is how long a line gets at the most, so that a log is read without scrolling.
const lineWidth = 99

// part is a piece of a line. A line that gets too long takes short forms instead, which may be nothing, those of the
// highest rank first.
type part struct {
	text, short string
	rank        int
}

// line is the snapshot in words; since is the time since the last one that was shown. Nothing that went wrong is ever
// left out of it.
func (p *progress) line(s workloads.Snapshot, since time.Duration) string {
	var parts []part
	add := func(text, short string, rank int) { parts = append(parts, part{text, short, rank}) }
	fault := func(n int64, text string, rank int) {
		if n == 0 {
			add(text, "", rank)
		} else {
			add(text, text, 0)
		}
	}
	phase := fmt.Sprintf("%s %s", s.Phase, seconds(s.Elapsed))
	if s.Total > 0 {
		add(phase+" of "+seconds(s.Total), phase, 4)
	} else {
		add(phase, phase, 0)
	}
	rates := p.rates(s, since)
	add(rates, rates, 0)
	if s.P99 > 0 {
		text := "p99 " + threeDigits(s.P99)
		add(text, text, 0)
	}
	if s.Open {
		fault(int64(s.Queue), "queue "+render.Thousands(int64(s.Queue)), 5)
	}
	if s.Dropped > 0 {
		add(render.Thousands(s.Dropped)+" dropped", "", 3)
	}
	fault(s.Violations, render.Many(s.Violations, "violation"), 2)
	fault(s.Errors, render.Many(s.Errors, "error"), 6)
	if left := p.left(s); left > 0 {
		add(seconds(left)+" left", "", 1)
	}
	return p.fit(parts)
}

// rates is the throughput since the last line and, in an open loop, what was due meanwhile.
func (p *progress) rates(s workloads.Snapshot, since time.Duration) string {
	rate := func(n, before int64) string {
		if since <= 0 {
			return "0"
		}
		return render.Thousands(int64(float64(n-before) / since.Seconds()))
	}
	acquired := rate(s.Acquired, p.last.Acquired)
	if s.Open {
		return fmt.Sprintf("%s of %s locks/s", acquired, rate(s.Offered, p.last.Offered))
	}
	return acquired + " locks/s"
}

// fit joins the parts and puts the trial before them, with as much of its label as there is room for.
func (p *progress) fit(parts []part) string {
	trial, label := "", ""
	if p.turns > 1 {
		trial = fmt.Sprintf("trial %d of %d: ", p.turn, p.turns)
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
const minLabel = 12

// threeDigits writes a latency in ASCII: 850us, 12.3ms.
func threeDigits(d time.Duration) string {
	unit := time.Duration(1)
	for d.Round(unit) >= 1000*unit {
		unit *= 10
	}
	return strings.Replace(d.Round(unit).String(), "\u00b5", "u", 1)
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
	scrub func(string) string // takes secrets out of a message; nil: there are none
	drawn bool
}

const eraseLine = "\r\x1b[K"

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	text := string(p)
	if l.scrub != nil {
		text = l.scrub(text)
	}
	if _, err := io.WriteString(l.w, strings.Map(still, text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// still keeps a message, which may quote a file or a server, from moving the cursor.
func still(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return ' '
	}
	return r
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
