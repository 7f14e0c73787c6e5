package view

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

func TestRateText(t *testing.T) {
	for rate, want := range map[string]string{
		"5000": "5,000/s", "0.5": "0.5/s", "1000:50000:10s": "1,000/s to 50,000/s in 10 s", "1:2:what": "1/s to 2/s in what",
		"steps:1000:50000:10": "steps:1000:50000:10",
	} {
		if got := rateText(rate); got != want {
			t.Errorf("%s: %q, want %q", rate, got, want)
		}
	}
}

func TestLoadLine(t *testing.T) {
	open := spec.Load{Rate: spec.Must(spec.ParseRate("5000")), Arrival: "poisson"}
	for _, c := range []struct {
		plan spec.Plan
		want string
	}{
		{spec.Plan{}, "closed loop"},
		{spec.Plan{Load: open}, "open loop, Poisson 5,000/s"},
		{spec.Plan{Load: spec.Load{Burst: 10 * time.Second}}, "open loop, all at once every 10 s"},
		{spec.Plan{Classes: []spec.Class{{Name: "a"}, {Name: "b"}}}, "closed loop"},
		{spec.Plan{Classes: []spec.Class{{Name: "a"}, {Name: "b", Load: open}}}, "a: closed loop; b: open loop, Poisson 5,000/s"},
	} {
		if got := LoadLine(&c.plan); got != c.want {
			t.Errorf("%+v: %q, want %q", c.plan.Load, got, c.want)
		}
	}
}

// TestLoadsAreToldApart: two cells that differ in their load alone differ in what stands before their figures, and what
// is said of all is so of all.
func TestLoadsAreToldApart(t *testing.T) {
	rate := func(l spec.Load, rate string) spec.Load {
		l.Burst = 0
		if err := l.Rate.UnmarshalText([]byte(rate)); err != nil {
			t.Fatal(err)
		}
		return l
	}
	open := spec.Load{Clients: 64, TTL: time.Second, Rate: spec.Must(spec.ParseRate("1000")), Arrival: "constant"}
	poisson, queue, burst := open, open, spec.Load{Clients: 64, TTL: time.Second, Burst: time.Second}
	poisson.Arrival, queue.MaxQueue = "poisson", 4
	few := burst
	few.MaxQueue = 4
	for _, c := range []struct{ a, b spec.Load }{
		{open, poisson}, {open, queue}, {burst, few}, {open, burst},
		{rate(open, "1000:2000:1s"), rate(open, "1000:2000:2s")},
		{rate(open, "1000:2000:1s"), rate(poisson, "1000:2000:1s")},
		{rate(open, "steps:1000:2000:3"), rate(open, "steps:1000:2000:5")},
		{rate(open, "steps:1000:2000:3"), rate(open, "ladder:1000:2000:3")},
		{rate(open, "ladder:1000:2000:3"), rate(poisson, "ladder:1000:2000:3")},
	} {
		for _, loads := range [][2]spec.Load{{c.a, c.b}, {c.b, c.a}} {
			var recs []*results.Record
			for i, l := range loads {
				r := record(i)
				r.Plan.Load = l
				recs = append(recs, r)
			}
			cells, err := results.Group(recs)
			if err != nil {
				t.Fatal(err)
			}
			if axes := differing(cells); len(axes) != 1 || axes[0].Title != "load" && axes[0].Title != "max queue" {
				t.Errorf("%+v and %+v: axes %+v", loads[0], loads[1], axes)
			}
		}
	}
}

// TestLoadWords: what cells have in common, and not what goes without saying.
func TestLoadWords(t *testing.T) {
	cell := func(change func(*results.Record)) *results.Cell {
		r := record(0)
		r.Plan.Load = spec.Load{Clients: 64, TTL: time.Second, Hold: time.Millisecond}
		r.Plan.Keys = 10
		change(r)
		return &results.Cell{Trials: []*results.Record{r}}
	}
	same := func(*results.Record) {}
	for want, cells := range map[string][]*results.Cell{
		"64 clients on 10 keys, hold 1 ms":                         {cell(same)},
		"10 keys, hold 1 ms":                                       {cell(same), cell(func(r *results.Record) { r.Plan.Clients = 1 })},
		"64 clients on 10 keys, no hold":                           {cell(func(r *results.Record) { r.Plan.Hold = 0 })},
		"1 client on 1 key, hold 1 ms":                             {cell(func(r *results.Record) { r.Plan.Clients, r.Plan.Keys = 1, 1 })},
		"64 clients on 10 keys, hold 1 ms, TTL 1 s, crash 2.0 %":   {cell(func(r *results.Record) { r.Plan.Crash = 0.02 })},
		"64 clients on 10 keys, hold 1 ms, open, constant 5,000/s": {cell(func(r *results.Record) { r.Plan.Rate, r.Plan.Arrival = spec.Must(spec.ParseRate("5000")), "constant" })},
	} {
		if got := LoadWords(cells); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestContention orders loads by rivals for a key, then by how long it is held.
func TestContention(t *testing.T) {
	cell := func(clients, keys int, hold time.Duration) *results.Cell {
		r := record(0)
		r.Plan.Keys, r.Plan.Load = keys, spec.Load{Clients: clients, Hold: hold}
		return &results.Cell{Trials: []*results.Record{r}}
	}
	most := []*results.Cell{cell(64, 1, time.Second), cell(64, 1, 0), cell(64, 10, time.Second), cell(1, 1, 0), cell(2, 10, time.Minute)}
	for i := range most[1:] {
		if Contention(most[i], most[i+1]) <= 0 || Contention(most[i+1], most[i]) >= 0 || Contention(most[i], most[i]) != 0 {
			t.Errorf("%v and %v", most[i].Plan(), most[i+1].Plan())
		}
	}
}
