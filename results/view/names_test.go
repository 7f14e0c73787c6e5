package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// record returns a trial of an empty plan, but for what makes names.
func record(n int) *results.Record {
	return &results.Record{
		ID: fmt.Sprint(n), Trial: 1, Env: results.Env{Lockbench: "v0.1.0"},
		Plan: spec.Plan{Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10, Load: spec.Load{Clients: 64}, Oracle: true},
	}
}

// TestNamesTellApart: no two names are alike, whatever it takes.
func TestNamesTellApart(t *testing.T) {
	cell := func(change func(r *results.Record)) *results.Cell {
		r := record(0)
		change(r)
		return &results.Cell{Trials: []*results.Record{r}}
	}
	same := func(*results.Record) {}
	goRedis := func(r *results.Record) { r.Plan.Driver = "go-redis" }
	server := func(name, version string) func(r *results.Record) {
		return func(r *results.Record) { r.Server = results.Server{Kind: "private", Name: name, Version: version} }
	}
	libraries := func(of map[string]string) func(r *results.Record) {
		return func(r *results.Record) { r.Env.Libraries = of }
	}
	redisPy := func(version string) func(r *results.Record) {
		return func(r *results.Record) {
			r.Plan.Driver = "redis-py"
			libraries(map[string]string{"x.org/a": "v1", "redis-py": version})(r)
		}
	}
	for name, test := range map[string]struct {
		cells []*results.Cell
		want  []string
	}{
		"none":    {nil, []string{}},
		"alone":   {[]*results.Cell{cell(same)}, []string{"rueidis · set-nx · wait backoff"}},
		"drivers": {[]*results.Cell{cell(same), cell(goRedis)}, []string{"rueidis", "go-redis"}},
		"an absent value": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Think = time.Second }), cell(func(r *results.Record) { r.Plan.Renew = true })},
			[]string{"renew off · think 0", "think 1 s", "renew on"},
		},
		"nothing but absent values": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Renew = true }), cell(func(r *results.Record) { r.Plan.Lockers = 8 })},
			[]string{"renew off · lockers 1", "renew on", "lockers 8"},
		},
		"waiting or not": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Wait = "none" })},
			[]string{"wait backoff", "wait none"},
		},
		"a preset or none": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Workload, r.Plan.Clients = "flash-sale", 5000 })},
			[]string{"no workload", "flash-sale"},
		},
		"servers that the drivers tell": {
			[]*results.Cell{cell(server("redis", "7")), cell(func(r *results.Record) { goRedis(r); server("valkey", "8")(r) })},
			[]string{"rueidis", "go-redis"},
		},
		"servers": {
			[]*results.Cell{cell(server("redis", "7")), cell(server("redis", "8")), cell(func(r *results.Record) { goRedis(r); server("redis", "8")(r) })},
			[]string{"rueidis · redis 7", "rueidis · redis 8", "go-redis"},
		},
		"only in what is long": {
			[]*results.Cell{cell(same), cell(goRedis), cell(func(r *results.Record) { r.Env.Lockbench = "v0.2.0" })},
			[]string{"rueidis · lockbench v0.1.0", "go-redis", "rueidis · lockbench v0.2.0"},
		},
		"libraries that others lack": {
			[]*results.Cell{cell(libraries(map[string]string{"x.org/a": "v1"})), cell(redisPy("4")), cell(redisPy("5"))},
			[]string{"rueidis", "redis-py · libraries redis-py 4, x.org/a v1", "redis-py · libraries redis-py 5, x.org/a v1"},
		},
		"in nothing": {[]*results.Cell{cell(same), cell(same), cell(goRedis)}, []string{"rueidis #1", "rueidis #2", "go-redis"}},
		"control characters": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Lock = "a\x1b[31m\nb" })},
			[]string{"set-nx", "a [31m b"},
		},
	} {
		if got := Names(test.cells); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

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
		"one cell": {1, func(int, *results.Record) {}, "d · l · wait w"},
		"counts":   {2, func(i int, r *results.Record) { r.Plan.Clients = 1 + i }, "1 client; 2 clients"},
		"two axes": {2, func(i int, r *results.Record) { r.Plan.Lock, r.Plan.Clients = string(rune('m'+i)), 4+i }, "m · 4 clients; n · 5 clients"},
		"what follows": {2, func(i int, r *results.Record) {
			r.Plan.Driver, r.Server.Version = string(rune('x'+i)), string(rune('7'+i))
		}, "x; y"},
		"sides keep all": {2, func(i int, r *results.Record) { r.Side, r.Plan.Clients = []string{"base", "head"}[i], 4+i },
			"side base · 4 clients; side head · 5 clients"},
		"own ways of waiting": {3, func(i int, r *results.Record) {
			r.Plan.Lock, r.Plan.Wait = string(rune('m'+i/2)), []string{"poll", "queue", "native"}[i]
		}, "m · wait poll; m · wait queue; n"},
		"native or not":    {2, func(i int, r *results.Record) { r.Plan.Wait = []string{"native", "poll"}[i] }, "wait native; wait poll"},
		"partial":          {2, func(i int, r *results.Record) { r.Partial = []string{"", "interrupted"}[i] }, "whole; partial"},
		"too long to name": {2, func(i int, r *results.Record) { r.Env.CPU = strings.Repeat("c", 1+i) }, ""},
	} {
		names := Names(planned(t, tt.n, tt.change))
		if got := strings.Join(names, "; "); got != tt.want && tt.want != "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if slices.Sort(names); len(slices.Compact(names)) != tt.n {
			t.Errorf("%s: names are alike: %q", name, names)
		}
	}
}

func TestNamesWithoutAnAxis(t *testing.T) {
	cells := planned(t, 2, func(i int, r *results.Record) { r.Plan.Lock, r.Plan.Clients = string(rune('m'+i)), 4+i })
	if got := Names(cells, "clients"); !slices.Equal(got, []string{"m", "n"}) {
		t.Errorf("%q", got)
	}
	if got := Names(cells, "lock"); !slices.Equal(got, []string{"4 clients", "5 clients"}) {
		t.Errorf("%q", got)
	}
}

// TestRun looks at the blocks of a table: the more contended load first, named alike in each, the best cell first, and one that
// did not exclude last.
func TestRun(t *testing.T) {
	cells := planned(t, 6, func(i int, r *results.Record) {
		r.Plan.Driver, r.Plan.Lock, r.Plan.Wait = string(rune('x'+i%3)), string(rune('m'+i%3)), "w"
		r.Plan.Clients, r.Plan.Hold = 1+i/3*63, time.Millisecond
		r.Counts.Acquired = int64(100 + i%3)
		if i == 5 {
			r.Traits.Exclusive, r.Safety.Checked, r.Safety.Violations = true, true, 1
		}
	})
	r := NewRun(cells)
	if !r.Rivals || len(r.Groups) != 2 {
		t.Fatalf("%d groups, rivals %v", len(r.Groups), r.Rivals)
	}
	for i, want := range []struct {
		load string
		best []string
	}{
		{"64 clients · 1 key · hold 1 ms · closed loop", []string{"y · n", "x · m", "z · o"}},
		{"1 client · 1 key · hold 1 ms · closed loop", []string{"z · o", "y · n", "x · m"}},
	} {
		g := r.Groups[i]
		if g.Load != want.load {
			t.Errorf("load %q, want %q", g.Load, want.load)
		}
		if !slices.Equal(g.Short, want.best) {
			t.Errorf("%s: rows %q, want %q", g.Load, g.Short, want.best)
		}
	}
}

// TestLoadsOfACellEach: what is particular to loads makes the names of rows, or else the name of a preset that implies it.
func TestLoadsOfACellEach(t *testing.T) {
	load := func(i int, r *results.Record) { r.Plan.Clients, r.Plan.Hold = 4+i, time.Duration(i)*time.Millisecond }
	preset := func(i int, r *results.Record) {
		load(i, r)
		r.Plan.Workload = []string{"hot-key", "cron-herd"}[i]
	}
	if got, want := NewRun(planned(t, 2, load)).Groups[0].Short, []string{"4 clients · hold 0", "5 clients · hold 1 ms"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := NewRun(planned(t, 2, preset)).Groups[0].Short, []string{"hot-key", "cron-herd"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBestOfArrivals: where arrivals set the rate, cells that keep up come first, and then the shorter wait.
func TestBestOfArrivals(t *testing.T) {
	cells := planned(t, 3, func(i int, r *results.Record) {
		r.Plan.Lock, r.Plan.Rate = string(rune('m'+i)), spec.Must(spec.ParseRate("100"))
		r.Counts.Acquired = int64(300 - 100*i)
		r.Bound.InSystem, r.Bound.LittleOpen = 1000, []float64{0.2, 1, 1}[i]
	})
	for i, c := range cells {
		p99 := []time.Duration{1, 3, 2}[i] * time.Millisecond
		c.Latency = map[results.Metric]results.Latency{results.Response: {Count: 1e6, P99: p99}}
	}
	if best := NewRun(cells).Groups[0].Short; !slices.Equal(best, []string{"o", "n", "m"}) {
		t.Errorf("rows %q", best)
	}
}
