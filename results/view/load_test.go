package view

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

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
			if differs := Differing(cells); differs("rate") == differs("max-queue") || differs("clients") {
				t.Errorf("%+v and %+v: names %q", loads[0], loads[1], Names(cells))
			}
		}
	}
}

// TestArrivals: what makes clients ask for locks, in words.
func TestArrivals(t *testing.T) {
	rate := func(text string) spec.Load {
		return spec.Load{Rate: spec.Must(spec.ParseRate(text)), Arrival: "constant"}
	}
	poisson := rate("5000")
	poisson.Arrival = "poisson"
	for want, load := range map[string]spec.Load{
		"closed loop":                     {},
		"open, Poisson 5,000/s":           poisson,
		"open, constant 0.5/s":            rate("0.5"),
		"open, constant 1000:50000:10s/s": rate("1k:50k:10s"),
		"open, all at once every 10 s":    {Burst: 10 * time.Second},
	} {
		if got := arrivals(nil, &load); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestLoad: what is not usual of a load is said of a group, and all in which loads differ.
func TestLoad(t *testing.T) {
	same, two := func(*results.Record) {}, func(r *results.Record) { r.Plan.Clients = 2 }
	for want, changes := range map[string][]func(*results.Record){
		"64 clients · 10 keys · hold 1 ms · closed loop":                         {same},
		"10 keys · hold 1 ms · closed loop":                                      {same, func(r *results.Record) { r.Plan.Clients = 1 }},
		"64 clients · 10 keys · hold 0 · closed loop":                            {func(r *results.Record) { r.Plan.Hold = 0 }},
		"1 client · 1 key · hold 1 ms · closed loop":                             {func(r *results.Record) { r.Plan.Clients, r.Plan.Keys = 1, 1 }},
		"64 clients · 10 keys · hold 1 ms · ttl 1 s · crash 2.0 % · closed loop": {func(r *results.Record) { r.Plan.Crash, r.Plan.TTL = 0.02, time.Second }},
		"2 clients · 10 keys · hold 1 ms · closed loop":                          {two, two, func(r *results.Record) { r.Plan.Clients, r.Plan.Crash = 2, 0.02 }},
		"64 clients · 10 keys · hold 1 ms · open, constant 5,000/s":              {func(r *results.Record) { r.Plan.Rate, r.Plan.Arrival = spec.Must(spec.ParseRate("5000")), "constant" }},
	} {
		var cells []*results.Cell
		for i, change := range changes {
			r := record(i)
			r.Plan.TTL, r.Plan.Hold = 30*time.Second, time.Millisecond
			change(r)
			cells = append(cells, &results.Cell{Trials: []*results.Record{r}})
		}
		if got := NewRun(cells).Groups[0].Load; got != want {
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
