package observe

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/workloads"
)

// BenchmarkLive prices what watches a trial: metrics that are scraped each second, as often as any Prometheus does.
// Trials with and without it alternate, and the medians of the pairs' ratios are shown: of the throughput,
// and of the CPU time a lock, which suffers less from others on the machine (the scraper's is in it).
func BenchmarkLive(b *testing.B) {
	for _, bc := range []struct {
		driver, lock string
		clients      int
	}{{"null", "none", 2}, {"rueidis", "set-nx", 512}} {
		b.Run(bc.driver, func(b *testing.B) {
			var addrs []string
			if bc.driver != "null" {
				addrs = []string{servertest.Redis(b, servers.Options{}).URL()}
			}
			p := spec.Plan{
				Load: spec.Load{Clients: bc.clients, TTL: time.Minute}, Driver: bc.driver, Lock: bc.lock, Wait: "none", Keys: 20 * bc.clients,
				Duration: 3 * time.Second, IOTimeout: 3 * time.Second, Seed: 1, Server: "external",
			}
			var rates, cpus []float64
			for i := 0; b.Loop(); i++ {
				var recs [2]*results.Record
				for side := range 2 {
					on := (side + i) % 2 // neither always comes first
					recs[on] = trialOf(b, p, addrs, on == 1)
				}
				rates = append(rates, recs[1].Throughput()/recs[0].Throughput())
				cpus = append(cpus, recs[1].Cost.ClientCPUUs/recs[0].Cost.ClientCPUUs)
			}
			b.ReportMetric(stats.Of(rates).Median, "locks/s-on/off")
			b.ReportMetric(stats.Of(cpus).Median, "cpu/lock-on/off")
		})
	}
}

// trialOf returns the record of one trial.
func trialOf(b *testing.B, p spec.Plan, addrs []string, watched bool) *results.Record {
	d, err := drivers.Lookup(p.Driver)
	if err != nil {
		b.Fatal(err)
	}
	svc, err := d.Open(b.Context(), drivers.Config{Lock: p.Lock, Addrs: addrs, Prefix: "lockbench:live:", Clients: p.Clients})
	if err != nil {
		b.Fatal(err)
	}
	defer svc.Close()
	run := workloads.Run{Plan: p, Service: svc, Prefix: "lockbench:live:"}
	if watched {
		metrics, err := Listen(b.Context(), "127.0.0.1:0", "test", nil)
		if err != nil {
			b.Fatal(err)
		}
		defer metrics.Close()
		run.Watch = func(v workloads.View) { metrics.Begin(v, Trial{}) }
		stop := scraped(metrics.URL())
		defer stop()
	}
	rec, err := run.Do(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return rec
}

// scraped scrapes each second until stop is called.
func scraped(url string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		client := http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if answer, err := client.Get(url); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		}
	}()
	return func() { close(done); <-ended }
}
