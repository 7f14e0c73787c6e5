package report

// The document of a command that goes on.

import (
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
)

// Live is how far a command is.
type Live struct {
	Command, Doing string             // "lockbench run", "trial 3 of 12"
	Words          []string           // "measure 4s of 10s", "2 errors", "2m left"; nil: no trial is under way
	Series         []results.Interval // of the present one
	Length         time.Duration      // of its warm-up and window; 0: nobody knows
	Violated       bool               // the oracle has seen a violation
}

// Document returns what a command has found so far, which may be nil, with the present trial before it.
func (l *Live) Document(found *Document) *Document {
	pace, doing := l.pace(), l.Doing
	if found == nil {
		found, pace = &Document{Title: pace}, "" // once
	}
	d := &Document{Command: l.Command, Title: found.Title, Tone: found.Tone}
	if d.Title == "" {
		d.Title, doing = doing, ""
	}
	d.When = format.Join(append([]string{doing}, l.Words...)...)
	if l.Words != nil {
		d.add(Block{Table: facts("now", pace)})
		if l.Violated {
			d.Tone = Bad
		}
		for _, c := range course([]curve{{cells: []*results.Cell{{Trials: []*results.Record{{Series: l.Series}}}}}}) {
			c.X.Most = float64(l.Length)
			d.add(Block{Heading: c.Title, Chart: &c})
		}
	}
	d.add(found.Blocks...)
	return d
}

// pace returns the throughput and the wait of the last second; empty if there was none.
func (l *Live) pace() string {
	if len(l.Series) == 0 {
		return ""
	}
	last, wait := l.Series[len(l.Series)-1], ""
	if results.Enough(last.Acquired, 0.99) {
		wait = "p99 " + format.Duration(last.P99)
	}
	return format.Join(metric.PerSecond.Format(perSecond(last))+" locks/s", wait)
}
