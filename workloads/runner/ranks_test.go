package runner

import (
	"strings"
	"testing"
	"time"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// on returns the runner of a cell on a server of a kind.
func on(t *testing.T, kind string, shared bool) *Runner {
	t.Helper()
	p := spec.Plan{
		Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 1, Processes: 2, Duration: time.Second, IOTimeout: time.Second,
		BackoffMin: time.Millisecond, BackoffMax: time.Second, Shared: shared, Load: spec.Load{Clients: 4, TTL: 10 * time.Second},
	}
	one := target.Target{Service: target.Service("rueidis"), Kind: kind}
	if kind == matrix.External {
		one.URLs, one.Redacted, one.Prefix = []string{"redis://h:1"}, "redis://h:1", "app:"
	}
	e := Experiment{Targets: map[string]target.Targets{"": {List: []target.Target{one}}}}
	if err := e.Add(p, matrix.Server{Kind: kind}); err != nil || len(e.Cells) != 1 {
		t.Fatal(err, e.Skipped)
	}
	e.Schedule(1, 0)
	r, err := New(e, Config{Secrets: noSecrets{}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

type noSecrets struct{}

func (noSecrets) Add(...string)            {}
func (noSecrets) Hide(text string) string  { return text }
func (noSecrets) Scrub(text string) string { return text }

// TestOwnPlan: a rank runs the cell of its own flags, of which rank 0 changes only what a trial has to, or nothing.
func TestOwnPlan(t *testing.T) {
	const ours, theirs = "lockbench:ABCDEFGHIJKLMNOP:7:", "app:lockbench:ABCDEFGHIJKLMNOP:7:"
	at := func(urls ...string) *fleet.Server { return &fleet.Server{URLs: urls, Network: "tcp"} }
	for name, test := range map[string]struct {
		kind, prefix string
		change       func(*spec.Plan) // of rank 0
		server       *fleet.Server
		cell         int
		search       bool
		want         string // empty: it is run
	}{
		"private":         {matrix.Private, ours, nil, at("unix:///tmp/s"), 0, false, ""},
		"another seed":    {matrix.Private, ours, func(p *spec.Plan) { p.Seed = 5 }, at("redis://127.0.0.1:1", "redis://[::1]:1"), 0, false, ""},
		"external":        {matrix.External, theirs, nil, nil, 0, false, ""},
		"no cell":         {matrix.External, theirs, nil, nil, 1, false, "this rank's flags do not say"},
		"a command":       {matrix.External, theirs, func(p *spec.Plan) { p.Driver = "exec:id" }, nil, 0, false, "something else than the flags"},
		"more clients":    {matrix.External, theirs, func(p *spec.Plan) { p.Clients++ }, nil, 0, false, "something else than the flags"},
		"a search":        {matrix.External, theirs, nil, nil, 0, true, "this rank's flags do not say"},
		"another's names": {matrix.External, ours, nil, nil, 0, false, "no run has with -prefix app:"},
		"all names":       {matrix.External, "app:", nil, nil, 0, false, "no run has with -prefix app:"},
		"its server":      {matrix.External, theirs, nil, at("redis://127.0.0.1:1"), 0, false, "the external server of this rank's flags"},
		"no server":       {matrix.Private, ours, nil, nil, 0, false, "the private server of this rank's flags"},
		"a host":          {matrix.Private, ours, nil, at("redis://127.0.0.1:1", "redis://10.0.0.1:1"), 0, false, "is not on this machine"},
		"a name":          {matrix.Private, ours, nil, at("redis://127.0.0.1.example:1"), 0, false, "is not on this machine"},
		"shared":          {"shared", theirs, nil, nil, 0, false, "no run has with -prefix app:"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := strings.Replace(test.kind, "shared", matrix.External, 1)
			r := on(t, kind, kind != test.kind)
			p := r.Cells[0].Plan
			if test.change != nil {
				test.change(&p)
			}
			trial := fleet.Trial{Cell: test.cell, Seed: p.Seed, Digest: fleet.Digest(p), Prefix: test.prefix, Server: test.server}
			if test.search {
				trial.Search = fleet.SearchOf(p)
			}
			checkOwn(t, r, trial, test.want)
		})
	}
}

// TestOwnSearch: of a search, rank 0 chooses rates, clients and lengths, within what the rank's own flags allow.
func TestOwnSearch(t *testing.T) {
	rate := func(text string) func(*spec.Plan) {
		return func(p *spec.Plan) { p.Rate = spec.Must(spec.ParseRate(text)) }
	}
	for name, test := range map[string]struct {
		change func(*spec.Plan)
		want   string
	}{
		"a rate":           {rate("700"), ""},
		"too high":         {rate("1001"), "a higher rate or more clients"},
		"too many clients": {func(p *spec.Plan) { p.Clients = 9 }, "a higher rate or more clients"},
		"negative":         {func(p *spec.Plan) { p.Clients = -1 }, "-clients -1"},
		"its driver":       {func(p *spec.Plan) { p.Driver = "exec:id" }, "something else than the flags"},
		"its hold":         {func(p *spec.Plan) { p.Hold = time.Hour }, "something else than the flags"},
	} {
		t.Run(name, func(t *testing.T) {
			r := on(t, matrix.External, false)
			r.Allows = func(p *spec.Plan) bool { return p.Rate.Max() <= 1000 && p.Clients <= 8 }
			p := r.Cells[0].Plan
			p.Arrival, p.Think, p.Clients = spec.Poisson, 0, 8
			p.Warmup, p.Duration, p.Seed = time.Second, 2*time.Second, 3
			rate("500")(&p)
			test.change(&p)
			trial := fleet.Trial{Seed: p.Seed, Search: fleet.SearchOf(p), Digest: fleet.Digest(p), Prefix: "app:lockbench:ABCDEFGHIJKLMNOP:7:"}
			checkOwn(t, r, trial, test.want)
		})
	}
}

// checkOwn checks which error there is where a rank is asked for its share of a trial; if none is wanted, there is no
// server.
func checkOwn(t *testing.T, r *Runner, trial fleet.Trial, want string) {
	t.Helper()
	p, _, err := r.accept(t.Context(), trial)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%v, want %q", err, want)
	}
	if err == nil && fleet.Digest(p) != trial.Digest {
		t.Errorf("it runs %+v", p)
	}
}
