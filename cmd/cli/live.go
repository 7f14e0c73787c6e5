// What watches the trials of a command: the progress line, -metrics-addr, and the page of -live.

package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/observe"
	"github.com/lockbench/lockbench/workloads/runner"
)

// observer is a runner.Observer. It shows trials on the progress line, as metrics, and on the page of -live.
type observer struct {
	*program
	command string
	of      string // " of 12"; empty: nobody knows how many trials
	label   func(runner.Job) string

	columns int // of the terminal that the line is on; 0: of a log, or of a dumb terminal, which cannot erase it
	quiet   bool
	metrics *observe.Metrics // nil without -metrics-addr and -live
	page    *observe.Page    // nil without -live, and after its end

	job  runner.Job
	view workloads.View     // of its trial
	last workloads.Snapshot // that the line has shown of it; without a phase: none yet
	at   time.Time          // when it was shown; at first when the trial began

	shown report.Live      // on the page
	found *report.Document // so far
	next  time.Time        // for a drawing
}

// open opens what the options ask for, and prints where it is.
func (w *observer) open(ctx context.Context, o *options, version string) (err error) {
	w.quiet = o.on("quiet")
	if term, _ := w.env.lookup("TERM"); term != "dumb" {
		w.columns = progress.Terminal(w.stderr)
	}
	at, live := o.text("metrics-addr"), o.on("live")
	if at == "" && !live {
		return nil
	}
	addr, err := observe.ParseAddr(cmp.Or(at, "0"))
	if err != nil {
		return usageErrorf("-metrics-addr %s: %w", at, err)
	}
	if live {
		w.page = observe.NewPage(draw.LivePage(w.command), draw.LivePolicy())
	}
	if w.metrics, err = observe.Listen(ctx, addr, version, w.page); err != nil {
		return fmt.Errorf("-metrics-addr %s: %w", cmp.Or(at, addr), err)
	}
	w.metrics.Hide(w.secrets.Hide)
	if live {
		w.say("live at %s", w.metrics.PageURL())
	}
	if at != "" {
		w.say("metrics at %s", w.metrics.URL())
	}
	return nil
}

func (w *observer) close() {
	w.end(context.Background(), nil)
	w.metrics.Close()
}

func (w *observer) Begin(j runner.Job) {
	w.job, w.last, w.at = j, workloads.Snapshot{}, time.Now()
	w.doing(format.Join(w.trial(), w.label(j)))
}

// trial says which one it is; empty if there is one.
func (w *observer) trial() string {
	if w.of == " of 1" {
		return ""
	}
	return fmt.Sprintf("trial %d%s", w.job.Number, w.of)
}

func (w *observer) Watch(v workloads.View, t matrix.Trial) {
	w.metrics.Begin(v, observe.Trial{Cell: t.Cell, Trial: t.Trial})
	w.view = v
}

// Update shows a snapshot; the engine calls it about four times a second, from one goroutine.
func (w *observer) Update(s workloads.Snapshot) {
	if !w.quiet {
		w.line(s)
	}
	if s.Phase == workloads.PhaseOpen || time.Now().Before(w.next) {
		return
	}
	w.draw(func() {
		plan := w.view.Plan()
		w.shown = report.Live{Command: w.command, Doing: w.shown.Doing, Words: w.words(s), Series: w.view.Series(),
			Length: plan.Warmup + plan.Duration, Violated: s.Violations > 0}
	})
}

func (w *observer) End() {
	if !w.quiet {
		w.stderr.Status("")
	}
	w.metrics.End()
}

// plainEvery is the time between two lines where they cannot be rewritten, such as in a build's log.
const plainEvery = 5 * time.Second

// line shows a snapshot on the progress line. The first one of the load is shown everywhere, so that a log says what is
// under way.
func (w *observer) line(s workloads.Snapshot) {
	first := w.last.Phase == "" && (s.Phase == workloads.PhaseWarmup || s.Phase == workloads.PhaseMeasure)
	since := time.Since(w.at)
	if w.columns == 0 && !first && since < plainEvery {
		return
	}
	rate := func(n, before int64) string { return format.Count(int64(float64(n-before) / max(since, 1).Seconds())) }
	pace := rate(s.Acquired, w.last.Acquired) + " locks/s"
	if s.Open {
		pace = rate(s.Offered, w.last.Offered) + " arrivals/s, " + rate(s.Acquired, w.last.Acquired) + " granted"
	}
	w.last, w.at = s, time.Now()
	parts := slices.Insert(w.words(s), 1, pace)
	if label := w.label(w.job); label != "" {
		parts = append(parts, label)
	}
	text := strings.TrimPrefix(w.trial()+": "+strings.Join(parts, " | "), ": ")
	if w.columns == 0 {
		fmt.Fprintln(w.stderr, text)
		return
	}
	if short := []rune(text); len(short) >= w.columns { // a line that wraps cannot be rewritten
		text = string(short[:w.columns-1])
	}
	w.stderr.Status(text)
}

// words returns what a trial does and for how long, and how it goes: what matters most first, since a terminal may cut
// the rest.
func (w *observer) words(s workloads.Snapshot) []string {
	phase := fmt.Sprintf("%s %s", s.Phase, seconds(s.Elapsed))
	left := w.job.After + max(0, s.Total-s.Elapsed)
	if s.Phase == workloads.PhaseWarmup {
		left += w.job.Plan.Duration
	}
	if s.Total > 0 {
		phase += " of " + seconds(s.Total)
	}
	parts := []string{phase}
	add := func(show bool, text string) {
		if show {
			parts = append(parts, text)
		}
	}
	add(s.Violations > 0, format.Plural(s.Violations, "violation"))
	add(s.Errors > 0, format.Plural(s.Errors, "error"))
	add(s.Waiting > 0, format.Count(s.Waiting)+" waiting")
	add(s.P99 > 0, "p99 "+format.Duration(s.P99))
	add(s.Open, "queue "+format.Count(s.Queue))
	add(s.Dropped > 0, format.Count(s.Dropped)+" dropped")
	add(left > 0, seconds(left)+" left")
	return parts
}

// seconds formats a time to the second: 45s, 2m, 1m30s.
func seconds(d time.Duration) string { return spec.Brief(d.Round(time.Second)) }

// doing shows on the page what is under way.
func (w *observer) doing(text string) {
	w.draw(func() {
		w.shown = report.Live{Command: w.command, Doing: text}
		w.send("status", format.Line(text))
	})
	w.next = time.Time{} // its first figures come at once
}

// soFar shows on the page what is known by now.
func (w *observer) soFar(known func() *report.Document) { w.draw(func() { w.found = known() }) }

const (
	liveEvery = 900 * time.Millisecond // so that snapshots four times a second make a drawing a second
	leastIdle = 20                     // times as long as a drawing takes until the next one
)

// draw changes what the page shows, and draws it. What is measured does not end with a page that cannot be drawn.
func (w *observer) draw(change func()) {
	if w.page == nil {
		return
	}
	defer drivers.Catch(new(error))
	began := time.Now()
	change()
	if html, err := draw.Live(w.shown.Document(w.found)); err == nil {
		w.send("live", string(html))
	}
	w.next = time.Now().Add(max(liveEvery, leastIdle*time.Since(began)))
}

// end puts the report in place of the page, and says what it is; nil if there is none.
func (w *observer) end(ctx context.Context, found *report.Document) {
	if w.page == nil {
		return
	}
	status := "It has ended without a report: the terminal says why."
	var page bytes.Buffer
	if found != nil && draw.Page(&page, found) == nil {
		status = "It has ended. This is its report."
		if ctx.Err() != nil {
			status = fmt.Sprintf("It was %v. This is the report of what was measured until then.", context.Cause(ctx))
		}
		w.send("report", page.String())
	}
	w.send("status", status)
	w.send("end", "")
	w.page.End()
	w.page = nil
}

// send sends what has no secret.
func (w *observer) send(name, text string) { w.page.Send(name, []byte(w.secrets.Hide(text))) }
