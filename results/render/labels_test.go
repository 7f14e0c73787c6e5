package render

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

func TestLabels(t *testing.T) {
	cell := func(change func(r *results.Record)) *results.Cell {
		r := record(0)
		change(r)
		return &results.Cell{Trials: []*results.Record{r}}
	}
	same := func(*results.Record) {}
	goRedis := func(r *results.Record) { r.Plan.Driver = "go-redis" }
	for name, test := range map[string]struct {
		cells []*results.Cell
		want  []string
	}{
		"none":    {nil, []string{}},
		"alone":   {[]*results.Cell{cell(same)}, []string{""}},
		"drivers": {[]*results.Cell{cell(same), cell(goRedis)}, []string{"rueidis", "go-redis"}},
		"what has to be named": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Driver, r.Plan.Clients = "go-redis", 5000 })},
			[]string{"rueidis · clients 64", "go-redis · clients 5,000"},
		},
		"an absent value": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Think = time.Second }), cell(func(r *results.Record) { r.Plan.Renew = true })},
			[]string{"think 0", "think 1 s", "renew on · think 0"},
		},
		"only in what is long": {
			[]*results.Cell{cell(same), cell(goRedis), cell(func(r *results.Record) { r.Env.Lockbench = "v0.2.0" })},
			[]string{"rueidis · lockbench v0.1.0", "go-redis", "rueidis · lockbench v0.2.0"},
		},
		"in nothing": {[]*results.Cell{cell(same), cell(same), cell(goRedis)}, []string{"rueidis #1", "rueidis #2", "go-redis"}},
		"control characters": {
			[]*results.Cell{cell(same), cell(func(r *results.Record) { r.Plan.Lock = "a\x1b[31m\nb" })},
			[]string{"set-nx", "a [31m b"},
		},
	} {
		if got := Labels(test.cells); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
