// Those who watch the trials of a command: the progress line, -metrics-addr, and the page of -live.

package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/observe"
	"github.com/lockbench/lockbench/workloads/runner"
)

// observer shows trials on the progress line, as metrics, and on the page of -live. Each of the three may be nil.
type observer struct {
	line    *progress.Line
	metrics *observe.Metrics
	page    *livePage
	trials  int // 0: nobody knows how many
	command string
	label   func(runner.Job) string
}

// openLive opens the page of a command and its metrics, as far as the options ask for them, and prints where they are.
func (p *program) openLive(ctx context.Context, o *options, command, version string) (
	page *livePage, metrics *observe.Metrics, err error) {
	at := o.text("metrics-addr")
	if at == "" && !o.on("live") {
		return nil, nil, nil
	}
	addr, err := observe.ParseAddr(cmp.Or(at, "0"))
	if err != nil {
		return nil, nil, usageErrorf("-metrics-addr %s: %w", at, err)
	}
	var shown *observe.Page
	if o.on("live") {
		shown = observe.NewPage(draw.LivePage(command), draw.LivePolicy())
		page = &livePage{Page: shown, hide: p.secrets.Hide, state: report.Live{Command: command}}
	}
	if metrics, err = observe.Listen(ctx, addr, version, shown); err != nil {
		return nil, nil, fmt.Errorf("-metrics-addr %s: %w", cmp.Or(at, addr), err)
	}
	metrics.Hide(p.secrets.Hide)
	who := ""
	if !metrics.Local() {
		who = ", for whoever reaches this machine (-metrics-addr PORT: for itself alone)"
	}
	if page != nil {
		p.say("live at %s%s", metrics.PageURL(), who)
	}
	if at != "" {
		p.say("metrics at %s%s", metrics.URL(), who)
	}
	return page, metrics, nil
}

// close closes all.
func (w *observer) close() {
	w.page.end(context.Background(), nil)
	w.metrics.Close()
}

// Begin implements runner.Observer, as do the next three.
func (w *observer) Begin(j runner.Job) {
	label := w.label(j)
	w.line.Begin(j.Number, label, j.Plan.Duration, j.After)
	w.page.begin(format.Join(progress.Trial(j.Number, w.trials), label), j.After)
}

func (w *observer) Update(s workloads.Snapshot) {
	w.line.Update(s)
	w.page.update(s)
}

func (w *observer) Watch(v workloads.View, t matrix.Trial) {
	w.metrics.Begin(v, observe.Trial{Cell: t.Cell, Trial: t.Trial})
	if w.page != nil {
		w.page.view = v
	}
}

func (w *observer) End() {
	w.line.End()
	w.metrics.End()
}

const (
	liveEvery = 900 * time.Millisecond // so that snapshots four times a second make a drawing a second
	leastIdle = 20                     // times as long as a drawing takes until the next one
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
	ended bool
}

// send sends what has no secret.
func (l *livePage) send(name, text string) { l.Send(name, []byte(l.hide(text))) }

// begin shows what is under way, and how long what comes after it is planned to take.
func (l *livePage) begin(doing string, after time.Duration) {
	if l == nil {
		return
	}
	l.state, l.after = report.Live{Command: l.state.Command, Doing: doing}, after
	l.send("status", format.Line(doing))
	l.draw(time.Now())
	l.next = time.Time{}
}

// update shows how the trial goes.
func (l *livePage) update(s workloads.Snapshot) {
	began := time.Now()
	if l == nil || s.Phase == workloads.PhaseOpen || began.Before(l.next) {
		return
	}
	r := l.view.Record()
	l.state = report.Live{
		Command: l.state.Command, Doing: l.state.Doing, Phase: progress.Phase(s), Trial: r, Length: r.Plan.Warmup + r.Plan.Duration,
		Errors: s.Errors, Violations: s.Violations, Open: s.Open, Queue: s.Queue, Dropped: s.Dropped,
	}
	if left := progress.Left(s, r.Plan.Duration, l.after); left > 0 {
		l.state.Left = progress.Seconds(left) + " left"
	}
	l.draw(began)
}

// soFar shows what is known by now.
func (l *livePage) soFar(known func() *report.Document) {
	if l != nil {
		defer drivers.Catch(new(error))
		began := time.Now()
		l.found = known()
		l.draw(began)
	}
}

// draw draws the page, and puts off the next drawing as the work since began asks for. What is measured does not end with
// a page that cannot be drawn.
func (l *livePage) draw(began time.Time) {
	defer drivers.Catch(new(error))
	if html, err := draw.Live(l.state.Document(l.found)); err == nil {
		l.send("live", string(html))
	}
	l.next = time.Now().Add(max(liveEvery, leastIdle*time.Since(began)))
}

// end puts the report, if there is one, in place of the page, and says what it is. It counts once.
func (l *livePage) end(ctx context.Context, draw func(w io.Writer) error) {
	if l == nil || l.ended {
		return
	}
	l.ended = true
	defer l.End()
	defer l.send("end", "")
	defer drivers.Catch(new(error))
	status := "It has ended. This is its report."
	var page bytes.Buffer
	switch {
	case draw == nil || draw(&page) != nil:
		page.Reset()
		status = "It has ended without a report: the terminal says why."
	case ctx.Err() != nil:
		status = fmt.Sprintf("It was %v. This is the report of what was measured until then.", context.Cause(ctx))
	}
	l.send("status", status)
	if page.Len() > 0 {
		l.send("report", page.String())
	}
}
