package draw

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
)

// record returns a plausible trial.
func record() *results.Record {
	return &results.Record{
		Schema: results.SchemaVersion,
		Plan: spec.Plan{Load: spec.Load{Clients: 64, Hold: time.Millisecond, TTL: 30 * time.Second, Timeout: 10 * time.Second},
			Driver: "rueidis", Lock: "set-nx", Wait: "backoff", Keys: 10,
			BackoffMin: time.Millisecond, BackoffMax: 1500 * time.Millisecond,
			Duration: 10 * time.Second, Warmup: time.Second, IOTimeout: 3 * time.Second, Oracle: true, Server: "private",
		},
		Traits: results.Traits{Exclusive: true, Owned: true, Expires: true},
		Env: results.Env{
			Lockbench: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPU: "AMD EPYC 7B13", CPUs: 2,
			GOMAXPROCS: 2, Libraries: map[string]string{"rueidis": "v1.0.79"},
		},
		Server:  results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Mode: "standalone", Persistence: "none", Network: "unix"},
		Elapsed: 10 * time.Second,
	}
}

// years returns a history of three cells: one that has lost 8 % when Redis was renewed, one that creeps, one that is young.
func years() []*results.Record {
	rng := rand.New(rand.NewPCG(1, 2))
	var recs []*results.Record
	for night := range 26 {
		for cell, clients := range []int{16, 64, 512} {
			if clients == 16 && night < 22 {
				continue
			}
			tonight := 1 + 0.01*rng.NormFloat64()
			for trial := range 7 {
				r := record()
				r.ID, r.Run, r.Cell, r.Trial = fmt.Sprintf("%d-%d-%d", night, cell, trial), fmt.Sprintf("run%d", night), cell, trial+1
				r.Started = time.Date(2026, 3, 1, 2, trial, 0, 0, time.UTC).AddDate(0, 0, night)
				r.Plan.Clients = clients
				r.Env.Revision = fmt.Sprintf("%016x%024d", uint64(night+1)*0x9e3779b97f4a7c15, 0)
				rate := 8000 * tonight * (1 + 0.005*rng.NormFloat64())
				switch {
				case clients == 512:
					rate *= 1 - 0.004*float64(night)
				case clients == 64 && night >= 17:
					rate *= 0.92
				}
				if night >= 17 {
					r.Server.Version = "7.4.0"
				}
				r.Counts.Acquired = int64(10 * rate)
				r.Latency = map[results.Metric]results.Latency{results.Acquire: {Count: 10_000, P50: time.Millisecond, P99: time.Duration(8e10 / rate)}}
				r.Generator.Saturated = night == 20 && trial < 2 && clients == 512
				recs = append(recs, r)
			}
		}
	}
	return recs
}

// TestHistory draws three cells over some weeks, and one cell on two machines in a run of which a trial ended early.
func TestHistory(t *testing.T) {
	var machines []*results.Record
	for i, r := range years() {
		if r.Plan.Clients != 64 {
			continue
		}
		if i%2 == 1 {
			r.Env.CPU, r.Env.CPUs = "Apple M4", 10
		}
		machines = append(machines, r)
	}
	machines[0].Partial, machines[len(machines)-1].Safety.Violations = "interrupted", 3
	machines = append(machines, machines[3])
	for name, c := range map[string]struct {
		recs  []*results.Record
		width int
	}{"history": {years(), 100}, "historymachines": {machines, 70}} {
		all := results.Collector{Outline: true}
		for _, r := range c.recs {
			if err := all.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		d := report.History(all.Cells())
		var text, md, page bytes.Buffer
		for _, err := range []error{Terminal(&text, d, Options{Width: c.width}), Markdown(&md, d, 0), Page(&page, d)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		pagetest.Alone(t, page.String(), "cell-1", "cell-2")
		if n := strings.Count(page.String(), `class="course"`); n == 0 {
			t.Errorf("%s: no course on the page", name)
		}
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > c.width {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		pagetest.Golden(t, name+".txt", text.String())
		pagetest.Golden(t, name+".md", md.String())
	}
}

// TestSkyline draws what varies little as flat, and a step of a tenth from bottom to top.
func TestSkyline(t *testing.T) {
	draw := func(most int, step int, values ...float64) string {
		c := &report.Course{Values: values}
		if step > 0 {
			c.Steps = []int{step}
		}
		return skyline(c, most)
	}
	for _, c := range []struct{ got, want string }{
		{draw(20, 0, 5), "▅"},
		{draw(20, 2, 100, 100, 50, 50), "██|▁▁"},
		{draw(20, 0, 100, 101, 100, 101), "▄▅▄▅"},
		{draw(20, 0, 0, 0), "▅▅"},
		{draw(2, 0, 1, 1, 9, 9), "▁█"},
		{draw(3, 2, 1, 1, 9, 9), "▁|█"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	for v := 1.0; v < 1e6; v *= 1.01 { // which no rounding moves from the middle
		if got := draw(20, 0, v, v); got != "▅▅" {
			t.Errorf("twice %v: %s, want ▅▅", v, got)
		}
	}
}
