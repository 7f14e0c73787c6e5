package report

// The document of a command in progress: how far it is, and how its present trial goes.

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// Live is a command that is under way.
type Live struct {
	Command string     // "lockbench plan"
	Doing   string     // the part of it that is: "trial 3 of 12"
	Share   float64    // of the whole that is over
	Left    string     // the time until all of it is, as planned; empty: nobody knows
	Trial   *LiveTrial // nil: none is under way
}

// LiveTrial is a trial that is under way. Errors, violations and arrivals count from when its load began.
type LiveTrial struct {
	Record             *results.Record // what is known so far
	Phase              string          // what it does, and for how long
	Share              float64         // of it that is over
	Length             time.Duration   // of warm-up and window; 0: nobody knows
	Errors, Violations int64
	Open               bool      // arrivals come by themselves
	Waiting            []Waiting // then, one a second
}

// Waiting is what an open loop has not served.
type Waiting struct {
	At      time.Duration // since the load began
	Queue   int
	Dropped int64
}

// Document returns what is known. Its picture is the present trial.
func (l *Live) Document() *Document {
	text := format.Percent(l.Share)
	if l.Left != "" {
		text += ", about " + l.Left + " left"
	}
	d := &Document{Kind: l.Command, Title: format.Upper(l.Doing)}
	d.Picture = Section{ID: "trial", Title: "Now", Blocks: []Block{Progress{Name: "all", Share: l.Share, Text: text}}}
	if t := l.Trial; t != nil {
		d.Title, d.When, d.Key = trialTitle(&t.Record.Plan), format.Join(l.Doing, t.Phase), t.key()
		if t.Violations > 0 {
			d.Tone = Alarm
		}
		d.Picture.Blocks = append(d.Picture.Blocks, Progress{Name: "this trial", Share: t.Share, Text: t.Phase})
		d.Picture.Blocks = append(d.Picture.Blocks, t.limit()...)
		if len(t.Record.Series) > 1 {
			d.Picture.Blocks = append(d.Picture.Blocks, Charts{t.chart()})
		}
	}
	return d
}

// key is the figures of the last second, and how often something went wrong.
func (t *LiveTrial) key() []Figure {
	var last results.Interval
	if n := len(t.Record.Series); n > 0 {
		last = t.Record.Series[n-1]
	}
	all := []Figure{{metric.PerSecond.Format(perSecond(last.Acquired, last.Length)), "locks/s"}}
	if last.Acquired > 0 {
		all = append(all, Figure{format.Duration(last.P50), "p50"}, Figure{format.Duration(last.P99), "p99"})
	}
	count := func(n int64, what string) {
		number, noun, _ := strings.Cut(format.Plural(n, what), " ")
		all = append(all, Figure{number, noun})
	}
	count(t.Errors, "error")
	if t.Record.Plan.Oracle {
		count(t.Violations, "violation")
	}
	if n := len(t.Waiting); t.Open && n > 0 {
		all = append(all, Figure{format.Count(t.Waiting[n-1].Queue), "in the queue"}, Figure{format.Count(t.Waiting[n-1].Dropped), "dropped"})
	}
	return all
}

// limit says what limits the trial so far.
func (t *LiveTrial) limit() []Block {
	if t.Record.Elapsed <= 0 {
		return nil
	}
	cells, err := results.Group([]*results.Record{t.Record})
	if err != nil {
		return nil
	}
	if text := view.Limit(cells[0]); text != "" {
		return []Block{Facts{fact("limited by", text+" (so far)")}}
	}
	return nil
}

// chart is the course of the trial, which grows to the right.
func (t *LiveTrial) chart() Chart {
	c := secondsOf(t.Record)
	c.X.Most = max(c.X.Most, float64(t.Length)/1.04)
	c.Of = fmt.Sprint(t.Record.Plan.Driver, " ", t.Record.Plan.Lock)
	p50, errors := Series{Name: "p50", Colour: 2}, Series{Area: true, Tone: Bad}
	waits := &c.Panels[1]
	failed := 0.0
	for _, i := range t.Record.Series {
		x, y := float64(i.At+i.Length/2), math.NaN()
		if i.P50 > 0 {
			y = float64(i.P50)
			waits.Y.take(y)
		}
		p50.Points = append(p50.Points, Point{X: x, Y: y})
		its := perSecond(i.Errors, i.Length)
		failed = max(failed, its)
		errors.Points = append(errors.Points, Point{X: x, Y: its})
	}
	waits.Head, waits.Series = "wait", append(waits.Series, p50)
	panel := func(head string, most float64, s Series) {
		c.Panels = append(c.Panels, Panel{Head: head, Y: Axis{Unit: PerSecond, Most: most}, Series: []Series{s}})
	}
	if failed > 0 {
		panel("errors/s", failed, errors)
	}
	if len(t.Waiting) > 1 {
		queue, dropped := Series{Area: true, Colour: 3}, Series{Area: true, Tone: Bad}
		longest, most := 0.0, 0.0
		for i, w := range t.Waiting {
			its := perSecond(w.Dropped, w.At)
			if i > 0 {
				its = perSecond(w.Dropped-t.Waiting[i-1].Dropped, w.At-t.Waiting[i-1].At)
			}
			longest, most = max(longest, float64(w.Queue)), max(most, its)
			queue.Points = append(queue.Points, Point{X: float64(w.At), Y: float64(w.Queue)})
			dropped.Points = append(dropped.Points, Point{X: float64(w.At), Y: its})
		}
		panel("queue", longest, queue)
		panel("dropped/s", most, dropped)
	}
	return c
}
