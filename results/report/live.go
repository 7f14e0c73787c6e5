package report

// The document of a command that goes on.

import (
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
)

// Live is how far a command is. Errors, violations and dropped arrivals count from when the load began.
type Live struct {
	Command, Doing string          // "lockbench run", "trial 3 of 12"
	Phase, Left    string          // "measuring 4 s of 10 s", "2 min left"
	Trial          *results.Record // what is known of the present one; nil: none is under way
	Length         time.Duration   // of its warm-up and window; 0: nobody knows
	Errors         int64
	Violations     int64
	Open           bool // arrivals come by themselves
	Queue          int  // those that wait for a client
	Dropped        int64
}

// Document returns what a command has found so far, which may be nil, with the present trial before it.
func (l *Live) Document(found *Document) *Document {
	d := &Document{Command: l.Command, When: format.Join(l.Doing, l.Phase, l.Left)}
	pace := l.pace()
	if found == nil {
		found, pace = &Document{Title: pace}, "" // once
	}
	if d.Title, d.Tone = found.Title, found.Tone; d.Title == "" {
		d.Title, d.When = l.Doing, format.Join(l.Phase, l.Left)
	}
	if l.Trial != nil {
		d.add(Block{Table: l.facts(pace)})
		d.Tone = max(d.Tone, Bad*Tone(min(1, l.Violations)))
		for _, c := range course([]*results.Record{l.Trial}, []string{""}) {
			c.X.Most = float64(l.Length)
			d.add(Block{Heading: c.Title, Chart: &c})
		}
	}
	d.add(found.Blocks...)
	return d
}

// pace returns the throughput and the wait of the last second; empty if there was none.
func (l *Live) pace() string {
	if l.Trial == nil || len(l.Trial.Series) == 0 {
		return ""
	}
	last, wait := l.Trial.Series[len(l.Trial.Series)-1], ""
	if results.Enough(last.Acquired, 0.99) {
		wait = "p99 " + format.Duration(last.P99)
	}
	rate := float64(last.Acquired) / max(last.Length.Seconds(), 1e-9)
	return format.Join(metric.PerSecond.Format(rate)+" locks/s", wait)
}

// facts are how often something went wrong, and the pace of a trial whose command has found something before.
func (l *Live) facts(pace string) *Table {
	t := facts("now", pace)
	for _, count := range []struct {
		label string
		has   bool
		n     int64
		tone  Tone
	}{
		{"errors", true, l.Errors, Warn}, {"violations", l.Trial.Plan.Oracle, l.Violations, Bad},
		{"queue", l.Open, int64(l.Queue), Plain}, {"dropped", l.Open, l.Dropped, Warn},
	} {
		if count.has {
			t.fact(count.tone*Tone(min(1, count.n)), count.label, format.Count(count.n))
		}
	}
	return t
}
