package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// trialsOf are trials of a lock that granted so many locks a second.
func trialsOf(lock string, rates ...int64) (recs []*results.Record) {
	for i, rate := range rates {
		recs = append(recs, &results.Record{
			ID: fmt.Sprint(lock, i), Run: "run", Trial: i + 1, Elapsed: time.Second,
			Plan:   spec.Plan{Driver: "d", Lock: lock, Load: spec.Load{Clients: 4}, Keys: 1},
			Traits: results.Traits{Exclusive: true},
			Server: results.Server{Kind: "private"},
			Counts: results.Counts{Acquired: rate},
			Safety: results.Safety{Checked: true, Grants: rate, Power: &results.Power{Watched: rate / 2, Refusals: rate}},
		})
	}
	return recs
}

// said returns the summary of records, each takeaway a line.
func said(t *testing.T, change func([]*results.Cell), recs ...[]*results.Record) string {
	t.Helper()
	var all []*results.Record
	for i, r := range recs {
		for _, rec := range r {
			rec.Cell = i
		}
		all = append(all, r...)
	}
	cells, err := results.Group(all)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cells)
	}
	var lines []string
	for _, s := range NewRun(cells).Findings() {
		lines = append(lines, string(s.Kind)+": "+s.Lead+" "+s.Text)
	}
	return strings.Join(lines, "\n")
}

func TestTakeaways(t *testing.T) {
	tail := func(p99s ...time.Duration) func([]*results.Cell) {
		return func(cells []*results.Cell) {
			for i, c := range cells {
				c.Latency = map[results.Metric]results.Latency{results.Acquire: {Count: 1e6, P50: p99s[i] / 2, P99: p99s[i]}}
			}
		}
	}
	for name, tt := range map[string]struct {
		recs   [][]*results.Record
		change func([]*results.Cell)
		want   []string
		not    []string
	}{
		"intervals apart": {
			[][]*results.Record{trialsOf("a", 200, 201, 202, 203, 204, 205), trialsOf("b", 100, 101, 102, 103, 104, 105)}, nil,
			[]string{"good: a was fastest: 203 locks/s, 97.6 % above the next, b; their 95 % intervals do not overlap"},
			[]string{"Few trials"},
		},
		"more than double": {
			[][]*results.Record{trialsOf("a", 400, 401, 402, 403, 404, 405), trialsOf("b", 100, 101, 102, 103, 104, 105)}, nil,
			[]string{"3.9 times the next, b"}, nil,
		},
		"intervals overlap": {
			[][]*results.Record{trialsOf("a", 90, 100, 110, 120, 130, 140), trialsOf("b", 91, 99, 109, 119, 129, 139)}, nil,
			[]string{"note: No fastest row. a had the most, 115 locks/s, but " +
				"b cannot be told apart from it; their 95 % intervals overlap"},
			[]string{"was fastest"},
		},
		"few trials": {
			[][]*results.Record{trialsOf("a", 200, 210), trialsOf("b", 100, 110)}, nil,
			[]string{"a came first:", "in all of its 2 trials, which are too few for an interval", "Few trials: Both rows"},
			[]string{"was fastest"},
		},
		"single trials": {
			[][]*results.Record{trialsOf("a", 200), trialsOf("b", 100)}, nil,
			[]string{"No fastest row.", "a single trial does not show what chance does"}, []string{"first:"},
		},
		"the lock that broke does not win": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201), trialsOf("c", 100, 101)},
			func(cells []*results.Cell) { seen(cells[0], results.Safety{Violations: 3}) },
			[]string{"bad: Mutual exclusion was violated by a (3 violations in 1,801 grants)", "b came first:",
				"Left out, though its figure was better: a (violated)", "No violation was seen in 2 of 3 rows"},
			[]string{"a came first"},
		},
		"a lock that was lost early is broken": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)},
			func(cells []*results.Cell) { seen(cells[0], results.Safety{LostEarly: 7}) },
			[]string{"bad: Mutual exclusion was violated by a (7 violations in 1,801 grants)", "No violation was seen in 1 of 2 rows"},
			[]string{"a came first"},
		},
		"what explains it excuses": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)},
			func(cells []*results.Cell) { seen(cells[0], results.Safety{LostEarly: 7, Explained: "a restart"}) },
			[]string{"a came first", "No violation was seen in any row"}, []string{"bad:"},
		},
		"nothing could be seen": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201), trialsOf("c", 200, 201)},
			func(cells []*results.Cell) { cells[0].Safety.Power.Watched, cells[1].Safety.Power = 0, nil },
			[]string{"note: No violation could have been seen in 2 of 3 rows", "good: No violation was seen in 1 of 3 rows over 401 grants, 200 of which"},
			nil,
		},
		"saturated": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201), trialsOf("c", 100, 101)},
			func(cells []*results.Cell) { cells[0].Generator.Saturated = true },
			[]string{"b came first:", "a (saturated)", "warn: Saturated: a – lockbench or its machine was the limit"}, nil,
		},
		"embedded": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)},
			func(cells []*results.Cell) {
				for _, c := range cells {
					c.First().Server.Kind = "embedded"
				}
			},
			[]string{"warn: Embedded: both rows – a stand-in inside lockbench"}, []string{"first"},
		},
		"guarantees": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)},
			func(cells []*results.Cell) { cells[1].First().Traits.Fenced = true },
			[]string{"Their guarantees differ (exclusive, against exclusive, fenced)"}, nil,
		},
		"lowest p99 elsewhere": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)}, tail(9*time.Millisecond, time.Millisecond),
			[]string{"Its p99 is 9.00 ms; the lowest is that of b, 1.00 ms"}, nil,
		},
		"lowest p99 here": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)}, tail(time.Millisecond, 9*time.Millisecond),
			[]string{"It has the lowest p99 as well, 1.00 ms"}, nil,
		},
		"unchecked": {
			[][]*results.Record{trialsOf("a", 900, 901), trialsOf("b", 200, 201)},
			func(cells []*results.Cell) { cells[0].Safety.Checked = false },
			[]string{"warn: Mutual exclusion was not checked in 1 of 2 rows"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := said(t, tt.change, tt.recs...)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%q in\n%s", not, got)
				}
			}
		})
	}
}

func TestLoadsAreNoRivals(t *testing.T) {
	a, b := trialsOf("a", 900, 900), trialsOf("a", 200, 200)
	for _, r := range b {
		r.ID, r.Plan.Clients = "b"+r.ID, 8
	}
	want := "different loads, so they are no ranking: from 200 locks/s (8 clients) to 900 locks/s (4 clients)"
	if got := said(t, nil, a, b); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	c, d := trialsOf("c", 1, 2), trialsOf("c", 3, 4)
	for _, r := range d {
		r.ID, r.Plan.Clients = "d"+r.ID, 8
	}
	got := said(t, nil, a, b, c, d)
	for _, want := range []string{"4 clients: a came first:", "8 clients: a came first:"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestAnOpenLoopIsRankedByItsWait(t *testing.T) {
	a, b := trialsOf("a", 100, 100), trialsOf("b", 100, 100)
	for _, r := range append(a, b...) {
		r.Plan.Rate = spec.Must(spec.ParseRate("100"))
	}
	got := said(t, func(cells []*results.Cell) {
		for i, c := range cells {
			l := results.Latency{Count: 1e6, P50: time.Millisecond, P99: time.Duration(9-7*i) * time.Millisecond}
			c.Latency = map[results.Metric]results.Latency{results.Response: l}
			for _, r := range c.Trials {
				r.Latency = c.Latency
			}
		}
	}, a, b)
	if want := "b answered soonest: a p99 of 2.00 ms, against 9.00 ms of the next, a"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestWinsOfManyLoads(t *testing.T) {
	for _, tt := range []struct {
		wins  map[string]int
		level int
		want  string
	}{
		{map[string]int{"a": 1, "b": 4}, 7, "first by more than the trials scatter came b in 4 and a in 1; " +
			"in 7 the first row cannot be told from the next."},
		{nil, 12, "in 12 the first row cannot be told from the next."},
		{map[string]int{"a": 2}, 3, "first by more than the trials scatter came a in 2; in 3 the first row cannot be told " +
			"from the next; in 7 there are no two rows that may be believed as they stand."},
	} {
		if got := countWins(tt.wins, tt.level, 12); got.Lead != "Of 12 loads:" || got.Text != tt.want {
			t.Errorf("%v: %s %s, want %s", tt.wins, got.Lead, got.Text, tt.want)
		}
	}
}

func TestWhatIsNoLockIsNotFastest(t *testing.T) {
	none := trialsOf("none", 900, 901)
	for _, r := range none {
		r.Traits.Exclusive, r.Safety.Violations = false, 7
	}
	got := said(t, nil, none, trialsOf("a", 200, 201), trialsOf("b", 100, 101))
	if !strings.Contains(got, "good: a came first:") || !strings.Contains(got, "Left out, though its figure was better: lock none (violated)") {
		t.Error(got)
	}
}

// TestInvited tells a lock that failed from one that was asked for more than its lease.
func TestInvited(t *testing.T) {
	for want, load := range map[string]spec.Load{
		"": {Hold: time.Millisecond, TTL: time.Second},
		"; its holds of 30ms were meant to outlast its lease of 20ms": {Hold: 30 * time.Millisecond, TTL: 20 * time.Millisecond},
	} {
		r := &results.Record{Plan: spec.Plan{Load: load}, Traits: results.Traits{Exclusive: true, Expires: true}}
		if got := endedEarly(&results.Cell{Trials: []*results.Record{r}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		r.Plan.Renew = true
		if got := endedEarly(&results.Cell{Trials: []*results.Record{r}}); got != "" {
			t.Errorf("renewed: %q", got)
		}
	}
}

// seen plants what the oracle saw in the first trial of a cell.
func seen(c *results.Cell, s results.Safety) {
	for _, to := range []*results.Safety{&c.First().Safety, &c.Safety} {
		to.Violations, to.LostEarly, to.Explained = s.Violations, s.LostEarly, s.Explained
	}
}
