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
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/observe"
)

const (
	liveEvery  = 900 * time.Millisecond // so that snapshots four times a second make a drawing a second
	knownEvery = 5 * time.Second        // which takes ten times as long as a drawing
	maxWaiting = 600                    // seconds that are kept; of more than that every other is left out, and so on
)

// livePage draws it. A nil *livePage draws nothing.
type livePage struct {
	*observe.Page
	hide  func(string) string
	state report.Live
	step  float64       // the share of the whole that the present part is
	over  float64       // the share that was over before it
	after time.Duration // planned for what comes after it
	view  workloads.View
	drawn time.Time
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

// begin shows what is under way: the next step, when so much is over.
func (l *livePage) begin(doing string, over, step float64, after time.Duration) {
	if l == nil {
		return
	}
	l.state.Doing, l.state.Share, l.state.Trial = doing, over, nil
	l.over, l.step, l.after, l.drawn = over, step, after, time.Time{}
	l.Send("status", []byte(format.Line(format.Upper(l.state.Doing))))
	l.draw()
}

// update shows how the trial goes.
func (l *livePage) update(s workloads.Snapshot) {
	if l == nil || s.Phase == workloads.PhaseOpen || time.Since(l.drawn) < liveEvery {
		return
	}
	l.drawn = time.Now()
	r := l.record()
	t := &report.LiveTrial{Record: r, Errors: s.Errors, Violations: s.Violations, Open: s.Open, Length: r.Plan.Warmup + r.Plan.Duration}
	done := t.Length
	switch s.Phase {
	case workloads.PhaseWarmup:
		done = s.Elapsed
	case workloads.PhaseMeasure:
		done, t.Length = r.Plan.Warmup+s.Elapsed, r.Plan.Warmup+s.Total
	}
	if t.Length > 0 {
		t.Share = min(1, float64(done)/float64(t.Length))
	}
	t.Phase = progress.Phase(s)
	if before := l.state.Trial; before != nil {
		t.Waiting = before.Waiting
	}
	if s.Open {
		t.Waiting = append(t.Waiting, report.Waiting{At: time.Since(l.view.Began()), Queue: s.Queue, Dropped: s.Dropped})
	}
	if len(t.Waiting) > maxWaiting {
		for i := range maxWaiting / 2 {
			t.Waiting[i] = t.Waiting[2*i]
		}
		t.Waiting = t.Waiting[:maxWaiting/2]
	}
	l.state.Trial, l.state.Share, l.state.Left = t, l.over+l.step*t.Share, ""
	if left := progress.Left(s, r.Plan.Duration, l.after); left > 0 {
		l.state.Left = progress.Seconds(left)
	}
	l.draw()
}

// record returns what is known of the trial, of its window as it was knownEvery ago or later.
func (l *livePage) record() *results.Record {
	if t := l.state.Trial; t != nil && t.Record.Elapsed > 0 && time.Since(l.known) < knownEvery {
		r := *t.Record
		r.Series = l.view.Series()
		return &r
	}
	l.known = time.Now()
	return l.view.Record()
}

// A page that cannot be drawn stays as it is: what is measured does not end with it.

func (l *livePage) draw() {
	defer drivers.Catch(new(error))
	if head, trial, err := draw.LiveNow(l.state.Document()); err == nil {
		l.Send(draw.LiveHead, head)
		l.Send(draw.LiveTrial, trial)
	}
}

// soFar shows what is known by now.
func (l *livePage) soFar(known func() *report.Document) {
	if l == nil {
		return
	}
	defer drivers.Catch(new(error))
	if html, err := draw.SoFar(known()); err == nil {
		l.Send(draw.LiveSoFar, html)
	}
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

// endWith ends it with the report of a command that was stopped, or came to its end.
func (l *livePage) endWith(stopped error, d func() *report.Document) {
	l.endAs(stopped, func(w io.Writer) error { return draw.Page(w, d()) })
}

// endAs is endWith for what draws the report.
func (l *livePage) endAs(stopped error, draw func(w io.Writer) error) {
	if stopped != nil {
		l.end(fmt.Sprintf("It was %v. This is the report of what was measured until then.", stopped), draw)
		return
	}
	l.end("It has ended. This is its report.", draw)
}
