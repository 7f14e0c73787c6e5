// Those who watch the trials of a command: the progress line, -metrics-addr, and the page of -live.

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/observe"
	"github.com/lockbench/lockbench/workloads/runner"
)

// observer shows trials to those who watch, of whom each may be nil.
type observer struct {
	line    *progress.Line
	metrics *observe.Metrics
	page    *livePage
	label   func(runner.Job) string
	trials  int // 0: nobody knows how many
}

// checkLive checks what can be checked before anything is opened. It leaves nothing behind.
func checkLive(o *options) error {
	if opt := o.find("metrics-addr"); opt != nil && opt.text != "" {
		if _, err := observe.ParseAddr(opt.text); err != nil {
			return usageErrorf("-metrics-addr %s: %w", opt.text, err)
		}
	}
	return nil
}

// openObserver listens for readers of what a command measures, and prints where.
func openObserver(ctx context.Context, p *program, t task) (w *observer, err error) {
	w = &observer{label: t.label, trials: t.trials}
	if w.page, w.metrics, err = p.openLive(ctx, t.options, t.command, t.Env.Lockbench); err != nil {
		return nil, err
	}
	if !t.options.on("quiet") {
		w.line = progress.New(p.stderr, t.trials)
	}
	return w, nil
}

// openLive opens the page of a command and its metrics, as far as the options ask for them.
func (p *program) openLive(ctx context.Context, o *options, command, version string) (page *livePage, metrics *observe.Metrics, err error) {
	flag, text := "-metrics-addr", ""
	if opt := o.find("metrics-addr"); opt != nil {
		text = opt.text
	}
	alone := text == "" // nobody has asked for metrics
	var shown *observe.Page
	if o.on("live") {
		shown = observe.NewPage(draw.LivePage(command), draw.LivePolicy())
		page = &livePage{Page: shown, hide: p.secrets.Hide, state: report.Live{Command: command}}
		if alone {
			flag, text = "-live", "0"
		}
	}
	if text == "" {
		return nil, nil, nil
	}
	addr, err := observe.ParseAddr(text)
	if err == nil {
		metrics, err = observe.Listen(ctx, addr, version, shown)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: %w", flag, text, err)
	}
	metrics.Hide(p.secrets.Hide)
	who := ""
	if !metrics.Local() {
		who = ", for whoever reaches this machine (-metrics-addr PORT: for itself alone)"
	}
	if page != nil {
		p.say("live at %s%s", metrics.PageURL(), who)
	}
	if !alone {
		p.say("metrics at %s%s", metrics.URL(), who)
	}
	return page, metrics, nil
}

// close closes all.
func (w *observer) close() {
	w.page.end("It has ended without a report: the terminal says why.", nil)
	w.metrics.Close()
}

// Begin implements runner.Observer.
func (w *observer) Begin(j runner.Job) {
	label := w.label(j)
	w.line.Begin(j.Number, label, j.Plan.Duration, j.After)
	w.page.begin(format.Join(progress.Trial(j.Number, w.trials), label), j.After)
}

// Update implements runner.Observer.
func (w *observer) Update(s workloads.Snapshot) {
	w.line.Update(s)
	w.page.update(s)
}

// Watch implements runner.Observer.
func (w *observer) Watch(v workloads.View, t matrix.Trial) {
	w.metrics.Begin(v, observe.Trial{Cell: t.Cell, Trial: t.Trial})
	if w.page != nil {
		w.page.view = v
	}
}

// End implements runner.Observer.
func (w *observer) End() {
	w.line.End()
	w.metrics.End()
}

const (
	liveEvery  = 900 * time.Millisecond // so that snapshots four times a second make a drawing a second
	knownEvery = 5 * time.Second        // which takes ten times as long as a drawing
	leastIdle  = 20                     // times as long as a drawing takes until the next one
)

// livePage is the page of -live: how far a command is, and how its trial goes. A nil one draws nothing.
type livePage struct {
	*observe.Page
	hide  func(string) string
	state report.Live
	found *report.Document // so far
	after time.Duration    // planned for what comes after the present part
	view  workloads.View
	next  time.Time // for a drawing
	known time.Time // when the record of the trial was made
	ended bool
}

// Send sends what has no secret.
func (l *livePage) Send(name string, data []byte) { l.Page.Send(name, []byte(l.hide(string(data)))) }

// begin shows what is under way, and how long what comes after it is planned to take.
func (l *livePage) begin(doing string, after time.Duration) {
	if l == nil {
		return
	}
	l.state, l.after = report.Live{Command: l.state.Command, Doing: doing}, after
	l.Send("status", []byte(format.Line(doing)))
	l.draw()
	l.next = time.Time{}
}

// update shows how the trial goes.
func (l *livePage) update(s workloads.Snapshot) {
	if l == nil || s.Phase == workloads.PhaseOpen || time.Now().Before(l.next) {
		return
	}
	r := l.record()
	l.state = report.Live{
		Command: l.state.Command, Doing: l.state.Doing, Phase: progress.Phase(s), Trial: r, Length: r.Plan.Warmup + r.Plan.Duration,
		Errors: s.Errors, Violations: s.Violations, Open: s.Open, Queue: s.Queue, Dropped: s.Dropped,
	}
	if left := progress.Left(s, r.Plan.Duration, l.after); left > 0 {
		l.state.Left = progress.Seconds(left) + " left"
	}
	l.draw()
}

// record returns what is known of the trial, of its window as it was knownEvery ago or later.
func (l *livePage) record() *results.Record {
	if before := l.state.Trial; before != nil && before.Elapsed > 0 && time.Since(l.known) < knownEvery {
		r := *before
		r.Series = l.view.Series()
		return &r
	}
	l.known = time.Now()
	return l.view.Record()
}

// draw draws the page. One that cannot be drawn stays as it is: what is measured does not end with it.
func (l *livePage) draw() {
	defer drivers.Catch(new(error))
	began := time.Now()
	if html, err := draw.Live(l.state.Document(l.found)); err == nil {
		l.Send("live", html)
	}
	l.next = time.Now().Add(max(liveEvery, leastIdle*time.Since(began)))
}

// soFar shows what is known by now.
func (l *livePage) soFar(known func() *report.Document) {
	if l == nil {
		return
	}
	defer drivers.Catch(new(error))
	l.found = known()
	l.draw()
}

// end puts the report in place of the page, and says what it is.
func (l *livePage) end(status string, draw func(w io.Writer) error) {
	if l == nil || l.ended {
		return
	}
	l.ended = true
	defer func() {
		l.Send("end", nil)
		l.End()
	}()
	defer drivers.Catch(new(error))
	l.Send("status", []byte(format.Line(status)))
	var page bytes.Buffer
	if draw != nil && draw(&page) == nil {
		l.Send("report", page.Bytes())
	}
}

// endAs ends it with the report of a command that was stopped, or came to its end.
func (l *livePage) endAs(stopped error, draw func(w io.Writer) error) {
	if stopped != nil {
		l.end(fmt.Sprintf("It was %v. This is the report of what was measured until then.", stopped), draw)
		return
	}
	l.end("It has ended. This is its report.", draw)
}
