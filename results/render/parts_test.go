package render

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// planned are cells of one empty trial each, made different by change.
func planned(t *testing.T, n int, change func(i int, r *results.Record)) []*results.Cell {
	t.Helper()
	var recs []*results.Record
	for i := range n {
		r := &results.Record{ID: string(rune('a' + i)), Run: "run", Cell: i, Elapsed: time.Second}
		r.Plan.Driver, r.Plan.Lock, r.Plan.Wait, r.Plan.Clients, r.Plan.Keys = "d", "l", "w", 4, 1
		r.Server = results.Server{Kind: "private", Name: "redis", Version: "7"}
		change(i, r)
		recs = append(recs, r)
	}
	cells, err := results.Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

func TestNames(t *testing.T) {
	for name, tt := range map[string]struct {
		n      int
		change func(i int, r *results.Record)
		want   string
	}{
		"one cell": {1, func(int, *results.Record) {}, "d · l · w"},
		"counts":   {2, func(i int, r *results.Record) { r.Plan.Clients = 1 + i }, "1 client; 2 clients"},
		"two axes": {2, func(i int, r *results.Record) { r.Plan.Lock, r.Plan.Clients = string(rune('m'+i)), 4+i }, "m; n"},
		"what follows": {2, func(i int, r *results.Record) {
			r.Plan.Driver, r.Server.Version = string(rune('x'+i)), string(rune('7'+i))
		}, "x; y"},
		"sides keep all": {2, func(i int, r *results.Record) { r.Side, r.Plan.Clients = []string{"base", "head"}[i], 4+i },
			"side base · 4 clients; side head · 5 clients"},
		"partial":          {1, func(_ int, r *results.Record) { r.Partial = "interrupted" }, "d · l · w · partial"},
		"too long to name": {2, func(i int, r *results.Record) { r.Env.CPU = strings.Repeat("c", 1+i) }, ""},
	} {
		names, common := Names(planned(t, tt.n, tt.change))
		if got := strings.Join(names, "; "); got != tt.want && tt.want != "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if distinct(names) != tt.n {
			t.Errorf("%s: names are alike: %q", name, names)
		}
		if strings.Contains(common, "redis") {
			t.Errorf("%s: the place is among what is common: %s", name, common)
		}
	}
}

func TestLoads(t *testing.T) {
	titles, members := Loads(planned(t, 4, func(i int, r *results.Record) {
		r.Plan.Lock, r.Plan.Clients = string(rune('m'+i/2)), 4+i%2
	}))
	if want := []string{"4 clients", "5 clients"}; !slices.Equal(titles, want) {
		t.Errorf("titles %q, want %q", titles, want)
	}
	if len(members) != 2 || !slices.Equal(members[0], []int{0, 2}) || !slices.Equal(members[1], []int{1, 3}) {
		t.Errorf("members %v", members)
	}
}

func TestFactsAreThoseOfTheTerminal(t *testing.T) {
	cells := planned(t, 1, func(_ int, r *results.Record) {
		r.Counts.Acquired, r.Safety = 7, results.Safety{Checked: true, Grants: 70}
		r.Generator = results.Generator{Saturated: true, Why: "the machine was\x1b busy"}
	})
	facts := map[string]Item{}
	for _, f := range Facts(cells[0]) {
		facts[f.Label] = f
	}
	for label, want := range map[string]string{
		"throughput": "7.00 locks/s", "safety": "0 violations in 70 grants", "generator": "the machine was  busy",
	} {
		if f := facts[label]; !strings.Contains(strings.Join(f.Lines, " "), want) {
			t.Errorf("%s: %q, want %q", label, f.Lines, want)
		}
	}
	if !facts["generator"].Alarm || facts["throughput"].Alarm {
		t.Errorf("alarm of generator %t, of throughput %t", facts["generator"].Alarm, facts["throughput"].Alarm)
	}
}
