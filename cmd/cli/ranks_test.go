package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/fleet"
)

// TestOwnPlan: a rank runs the cell of its own flags, of which rank 0 changes only what a trial has to, or nothing.
func TestOwnPlan(t *testing.T) {
	const private, external = "-driver rueidis -addr private -processes 2 -clients 4 -keys 1", "-driver rueidis -addr redis://h:1 -prefix app: -processes 2 -clients 4"
	at := func(urls ...string) *fleet.Server { return &fleet.Server{URLs: urls, Network: "tcp"} }
	for name, test := range map[string]struct {
		line, prefix string
		change       func(*spec.Plan) // of rank 0
		server       *fleet.Server
		cell         int
		search       bool
		want         string // empty: it is run
	}{
		"private":         {private, "lockbench:ABCDEFGHIJKLMNOP:7:", nil, at("unix:///tmp/s"), 0, false, ""},
		"another seed":    {private, "lockbench:ABCDEFGHIJKLMNOP:7:", func(p *spec.Plan) { p.Seed = 5 }, at("redis://127.0.0.1:1", "redis://[::1]:1"), 0, false, ""},
		"external":        {external, "app:lockbench:ABCDEFGHIJKLMNOP:7:", nil, nil, 0, false, ""},
		"no cell":         {external, "app:lockbench:ABCDEFGHIJKLMNOP:7:", nil, nil, 1, false, "this rank's flags do not say"},
		"a command":       {external, "app:lockbench:ABCDEFGHIJKLMNOP:7:", func(p *spec.Plan) { p.Driver = "exec:id" }, nil, 0, false, "something else than the flags"},
		"more clients":    {external, "app:lockbench:ABCDEFGHIJKLMNOP:7:", func(p *spec.Plan) { p.Clients++ }, nil, 0, false, "something else than the flags"},
		"a search":        {external, "app:lockbench:ABCDEFGHIJKLMNOP:7:", nil, nil, 0, true, "this rank's flags do not say"},
		"another's names": {external, "lockbench:ABCDEFGHIJKLMNOP:7:", nil, nil, 0, false, "no run has with -prefix app:"},
		"all names":       {external, "app:", nil, nil, 0, false, "no run has with -prefix app:"},
		"its server":      {external, "app:lockbench:ABCDEFGHIJKLMNOP:7:", nil, at("redis://127.0.0.1:1"), 0, false, "the external server of this rank's flags"},
		"no server":       {private, "lockbench:ABCDEFGHIJKLMNOP:7:", nil, nil, 0, false, "the private server of this rank's flags"},
		"a host":          {private, "lockbench:ABCDEFGHIJKLMNOP:7:", nil, at("redis://127.0.0.1:1", "redis://10.0.0.1:1"), 0, false, "is not on this machine"},
		"a name":          {private, "lockbench:ABCDEFGHIJKLMNOP:7:", nil, at("redis://127.0.0.1.example:1"), 0, false, "is not on this machine"},
		"shared":          {external + " -shared", "app:lockbench:ABCDEFGHIJKLMNOP:7:", nil, nil, 0, false, "no run has with -prefix app:"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := experimentFor(t, test.line, environment())
			if err != nil {
				t.Fatal(err)
			}
			plan := e.Cells[0].Plan
			if test.change != nil {
				test.change(&plan)
			}
			trial := fleet.Trial{Cell: test.cell, Seed: plan.Seed, Digest: fleet.Digest(plan), Prefix: test.prefix, Server: test.server}
			if test.search {
				trial.Search = fleet.SearchOf(plan)
			}
			checkOwn(t, &underWay{program: &program{}, experiment: e, id: newRunID()}, trial, test.want)
		})
	}
}

// TestOwnSearch: of a plan, rank 0 chooses rates, clients and lengths, within what the rank's own flags allow.
func TestOwnSearch(t *testing.T) {
	q, _ := inquire(t, "-rate 500 -max-rate 1k -keys 10 -slo response.p99<10ms -lock set-nx -driver rueidis -addr redis://h:1 -processes 2")
	for name, test := range map[string]struct {
		change func(*spec.Plan)
		want   string
	}{
		"a rate":           {func(p *spec.Plan) { p.Rate = spec.Must(spec.ParseRate("700")) }, ""},
		"too high":         {func(p *spec.Plan) { p.Rate = spec.Must(spec.ParseRate("1001")) }, "a higher rate or more clients"},
		"too many clients": {func(p *spec.Plan) { p.Clients = q.MostClients(0) + 1 }, "a higher rate or more clients"},
		"negative":         {func(p *spec.Plan) { p.Clients = -1 }, "-clients -1"},
		"its driver":       {func(p *spec.Plan) { p.Driver = "exec:id" }, "something else than the flags"},
		"its hold":         {func(p *spec.Plan) { p.Hold = time.Hour }, "something else than the flags"},
	} {
		t.Run(name, func(t *testing.T) {
			p := q.Cells[0].Plan
			p.Rate, p.Arrival, p.Think, p.Clients = spec.Must(spec.ParseRate("500")), spec.Poisson, 0, 8
			p.Warmup, p.Duration, p.Seed = time.Second, 2*time.Second, 3
			test.change(&p)
			trial := fleet.Trial{Seed: p.Seed, Search: fleet.SearchOf(p), Digest: fleet.Digest(p), Prefix: "lockbench:ABCDEFGHIJKLMNOP:7:"}
			checkOwn(t, &underWay{program: &program{}, experiment: q.experiment, question: q, id: newRunID()}, trial, test.want)
		})
	}
}

// checkOwn checks which error there is where a rank is asked for its share of a trial; if none is wanted, there is no server.
func checkOwn(t *testing.T, r *underWay, trial fleet.Trial, want string) {
	t.Helper()
	var err error
	if r.deployments, err = r.Deployments(); err != nil {
		t.Fatal(err)
	}
	p, _, err := r.accept(trial)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%v, want %q", err, want)
	}
	if err == nil && fleet.Digest(p) != trial.Digest {
		t.Errorf("it runs %+v", p)
	}
}
