package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// underWay is a trial of an open loop in its third second.
func underWay() *LiveTrial {
	r := &results.Record{
		Plan:   spec.Plan{Load: spec.Load{Clients: 8}, Driver: "rueidis", Lock: "set-nx", Wait: "poll", Keys: 2, Oracle: true},
		Series: []results.Interval{{Length: time.Second, Warmup: true, Acquired: 10, P50: 1e6, P99: 2e6, Max: 3e6}, {At: time.Second, Length: time.Second, Acquired: 1500, P50: 1e6, P99: 4e6, Max: 5e6, Errors: 3}},
	}
	return &LiveTrial{
		Record: r, Phase: "measure 1s of 3s", Share: 0.5, Length: 4 * time.Second, Errors: 3, Violations: 1, Open: true,
		Waiting: []Waiting{{time.Second, 3, 0}, {2 * time.Second, 70, 40}},
	}
}

func TestLive(t *testing.T) {
	l := &Live{Command: "lockbench run", Doing: "trial 2 of 4", Share: 0.375, Left: "9s"}
	d := l.Document()
	if d.Title != "Trial 2 of 4" || len(d.Picture.Blocks) != 1 || d.Picture.Blocks[0] != (Progress{"all", 0.375, "38 %, about 9s left"}) {
		t.Errorf("before a trial has begun: %+v", d)
	}
	l.Trial = underWay()
	d = l.Document()
	if d.Title != "rueidis set-nx, wait poll: 8 clients on 2 keys, closed loop" || format.Line(d.When) != "trial 2 of 4 · measure 1s of 3s" || d.Tone != Alarm {
		t.Errorf("the title is %q, %q, with tone %d", d.Title, d.When, d.Tone)
	}
	if got := strings.Trim(fmt.Sprint(d.Key), "[]"); got != "{1,500 locks/s} {1.00 ms p50} {4.00 ms p99} {3 errors} {1 violation} {70 in the queue} {40 dropped}" {
		t.Errorf("the figures are %s", got)
	}
	chart := d.Picture.Blocks[len(d.Picture.Blocks)-1].(Charts)[0]
	var heads []string
	for _, p := range chart.Panels {
		heads = append(heads, p.Head)
	}
	if got := strings.Join(heads, ", "); got != "locks/s, wait, errors/s, queue, dropped/s" {
		t.Errorf("the panels are %s", got)
	}
	if chart.X.Most*1.04 < 3.999e9 || len(chart.Panels[1].Series) != 2 || chart.Panels[4].Series[0].Points[1].Y != 40 {
		t.Errorf("the chart ends at %v, or lacks p50 or dropped arrivals: %+v", chart.X.Most, chart.Panels)
	}
}
