// The page of -live: how far a command is, and how its trial goes.

package cli

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	draw "github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/observe"
)

const (
	liveEvery  = 900 * time.Millisecond // so that snapshots four times a second make a drawing a second
	knownEvery = 5 * time.Second        // which takes ten times as long as a drawing
	leastIdle  = 20                     // times as long as a drawing takes until the next one
)

// livePage draws it. A nil *livePage draws nothing.
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

// newLivePage returns the page of a command; nil without -live.
func newLivePage(p *program, o *options, command string) *livePage {
	if !o.on("live") {
		return nil
	}
	page := observe.NewPage(draw.LivePage(command), draw.LivePolicy())
	return &livePage{Page: page, hide: p.secrets.Hide, state: report.Live{Command: command}}
}

// Send sends what has no secret.
func (l *livePage) Send(name string, data []byte) { l.Page.Send(name, []byte(l.hide(string(data)))) }

// begin shows what is under way, and how long what comes after it is planned to take.
func (l *livePage) begin(doing string, after time.Duration) {
	if l == nil {
		return
	}
	l.state = report.Live{Command: l.state.Command, Doing: doing}
	l.after = after
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
