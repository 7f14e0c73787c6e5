package workloads_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/fault/wire"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

const ms = time.Millisecond

// TestWire draws plans, and holds what their records say against what has gone over the wire, with a goroutine for each client and
// in batches.
func TestWire(t *testing.T) {
	plans := uint64(4)
	if testing.Short() {
		plans = 2
	}
	server := servertest.Redis(t, servers.Options{})
	for seed := range plans {
		rng := rand.New(rand.NewPCG(seed, 0))
		upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
		keys := 1 + rng.IntN(12)
		p := spec.Plan{
			Driver: "rueidis", Server: "external", Lock: "set-nx", Keys: keys, Seed: seed, Ops: 250, Duration: time.Minute, Oracle: true, IOTimeout: 10 * time.Second,
			Poll: ms + upTo(10*ms), BackoffMin: ms, BackoffMax: 10 * ms,
			Load: spec.Load{Clients: 2*keys + rng.IntN(24), TTL: time.Second, Timeout: 10 * time.Second},
		}
		p.Wait = []string{"poll", "backoff"}[rng.IntN(2)]
		p.Hold, p.Think = time.Duration(rng.IntN(3))*upTo(15*ms), time.Duration(rng.IntN(2))*upTo(20*ms)
		switch seed % 4 {
		case 0:
			p.Wait, p.Rate, p.Arrival, p.Think = "none", spec.Must(spec.ParseRate("300")), "poisson", 0
		case 1: // leases end before the holds
			p.Hold, p.TTL = 20*ms, 8*ms+upTo(8*ms)
		case 2:
			p.Wait, p.KeyDist, p.Keys = "none", spec.Must(spec.ParseKeys("own")), p.Clients
		case 3: // most have waited for what they are granted
			p.Clients, p.Think = 4*p.Keys, 20*ms
		}
		delay := 4*ms + upTo(4*ms)
		for _, pipelining := range []string{"auto", "batch"} {
			p.Pipelining = pipelining
			t.Run(fmt.Sprintf("%d: %s, %d clients on %d keys, wait %s, hold %v, think %v, TTL %v, rate %q, delay %v",
				seed, pipelining, p.Clients, p.Keys, p.Wait, p.Hold, p.Think, p.TTL, p.Rate, delay), func(t *testing.T) {
				r, log := load(t, strings.TrimPrefix(server.URL(), "redis://"), p, delay)
				compare(t, r, log, delay)
			})
		}
	}
}

// load runs a plan behind a proxy that delays both directions.
func load(t *testing.T, addr string, p spec.Plan, delay time.Duration) (*results.Record, *wire.Log) {
	t.Helper()
	proxy, err := fault.NewProxy(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	proxy.Delay(fault.Requests, delay)
	proxy.Delay(fault.Replies, delay)
	log := wire.New(proxy)
	prefix := fmt.Sprintf("wire:%d:%s:", p.Seed, p.Pipelining)
	driver, err := drivers.Lookup(p.Driver)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := driver.Open(t.Context(), drivers.Config{
		Lock: p.Lock, Addrs: []string{"redis://" + proxy.Addr()}, Prefix: prefix, Pipelining: drivers.Pipelining(p.Pipelining), Clients: p.Clients, IOTimeout: p.IOTimeout,
		Params: p.ParamMap(), TTL: p.TTL,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	r, err := (&workloads.Run{Plan: p, Service: svc, Prefix: prefix}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

// compare holds a record against the wire. The client is the last to see an answer and the first to send a request, so that its
// holds are shorter than those on the wire, and its requests longer, by as much as it and the proxy were late. That is a part of
// the delay, and more if the proxy itself was late. Which holds lie in the window is not known to the last one.
func compare(t *testing.T, r *results.Record, log *wire.Log, delay time.Duration) {
	t.Helper()
	all := log.Holds()
	from := log.At(r.Started)
	in := func(h wire.Hold) bool { return h.Take.Answered >= from && h.Take.Answered < from+r.Elapsed }
	holds := slices.DeleteFunc(slices.Clone(all), func(h wire.Hold) bool { return !in(h) })
	if len(holds) < 20 {
		t.Fatalf("%d locks were taken and released", len(holds))
	}
	late := quantile(log.Requests(), 0.5, func(q *wire.Request) time.Duration { return q.Sent - q.Asked - delay })
	slack := delay/4 + 4*late
	check := func(what results.Metric, shorter, longer time.Duration, of func(h *wire.Hold) time.Duration) {
		got := r.Latency[what]
		least, most := quantile(holds, 0.45, of)-shorter, quantile(holds, 0.55, of)+longer
		t.Logf("%s p50 %v, by the wire %v to %v; the proxy was late by %v", what, got.P50, least, most, late)
		if quantum := got.P50 / 500; got.P50 < least-quantum || got.P50 > most+quantum {
			t.Errorf("%s: p50 %v, by the wire %v to %v", what, got.P50, least, most)
		}
	}
	if r.Latency[results.Hold].Count > 0 {
		check(results.Hold, slack, 0, held)
	}
	check(results.Release, 0, slack, func(h *wire.Hold) time.Duration { return h.Release.Answered - h.Release.Asked })
	if r.Plan.Wait == "none" {
		check(results.Acquire, 0, slack, func(h *wire.Hold) time.Duration { return h.Take.Answered - h.Take.Asked })
	}
	if r.Plan.TTL > r.Plan.Hold {
		compareHandoffs(t, r, wire.Gaps(holds), slack)
	}
	compareDoubles(t, r, all)
	compareHolds(t, r, holds, slack)
}

// compareHandoffs compares the hand-offs with the times between two grants. The wire does not show whose client was already waiting,
// but the median of a part of a set lies where the other part cannot move it.
func compareHandoffs(t *testing.T, r *results.Record, gaps []time.Duration, slack time.Duration) {
	t.Helper()
	got := r.Latency[results.Handoff]
	if len(gaps) == 0 || got.Count < 10 {
		return
	}
	part := min(1, float64(got.Count)/float64(len(gaps)))
	of := func(d *time.Duration) time.Duration { return *d }
	least, most := quantile(gaps, part/2-0.02, of)-slack, quantile(gaps, 1-part/2+0.02, of)+slack
	t.Logf("handoff p50 %v of %d, by the wire %v to %v of %d", got.P50, got.Count, least, most, len(gaps))
	if got.P50 < least || got.P50 > most {
		t.Errorf("handoff p50 %v of %d, by the wire %v to %v of %d", got.P50, got.Count, least, most, len(gaps))
	}
}

// compareDoubles compares how many grants were wrong. Those that overlapped for less than the client was late do not show.
func compareDoubles(t *testing.T, r *results.Record, holds []wire.Hold) {
	t.Helper()
	seen, doubles := r.Safety.Violations, int64(wire.Doubles(holds))
	t.Logf("%d violations, by the wire %d of %d", seen, doubles, len(holds))
	if seen > doubles || seen < doubles/2 || r.Plan.TTL < r.Plan.Hold && doubles < 10 {
		t.Errorf("%d violations, by the wire %d of %d", seen, doubles, len(holds))
	}
}

// held returns for how long a holder had its lock: from the answer to its SET until it sent the release.
func held(h *wire.Hold) time.Duration { return h.Release.Asked - h.Take.Answered }

// compareHolds compares what follows from the holds: whether they lasted as long as planned, and for how much of the time the keys
// were locked.
func compareHolds(t *testing.T, r *results.Record, holds []wire.Hold, slack time.Duration) {
	t.Helper()
	asked, believed := r.Plan.Hold, quantile(holds, 0.5, held)
	warns := slices.ContainsFunc(r.Warnings, func(text string) bool { return strings.HasSuffix(text, "those of such holds") })
	if asked > 0 && (warns && believed < asked+asked/20 || !warns && believed > asked+asked/5+slack) {
		t.Errorf("holds of %v lasted %v, and a warning of that: %v", asked, believed, warns)
	}
	if r.Plan.TTL < asked {
		return
	}
	locked := time.Duration(0)
	if power := r.Safety.Power; power != nil {
		locked -= power.SampledTime // which is in no metric of the record
	}
	for i := range holds {
		locked += holds[i].Locked()
	}
	of := float64(r.Elapsed) * float64(r.Plan.Keys)
	by := func(m results.Metric) float64 { return float64(r.Latency[m].Count) * float64(r.Latency[m].Mean) / of }
	got, want := by(results.Hold)+by(results.Release), float64(locked)/of
	t.Logf("keys were locked for %.1f %%, by the wire %.1f %%", 100*got, 100*want)
	late := slack + 2*r.Latency[results.Hiccup].Mean // as lockbench's own ticks are
	if most := 0.05 + float64(late)*float64(len(holds))/of; got < want-most || got > want+most {
		t.Errorf("keys were locked for %.0f %%, by the wire %.0f %%", 100*got, 100*want)
	}
	if r.Plan.Rate.IsZero() {
		compareLimit(t, r, holds, want)
	}
}

// compareLimit compares what limits a closed loop with what the wire shows of its keys and clients, where that is clear: a client
// that neither holds a lock nor asks for the one that it gets nor thinks has waited. A busy machine is a limit that the wire does
// not show, so it counts as idle.
func compareLimit(t *testing.T, r *results.Record, holds []wire.Hold, locked float64) {
	t.Helper()
	busy := time.Duration(len(holds)) * r.Plan.Think
	for i := range holds {
		busy += holds[i].Release.Answered - holds[i].Take.Asked
	}
	waited := 1 - float64(busy)/float64(r.Elapsed)/float64(r.Plan.Clients)
	idle := *r
	idle.Generator = results.Generator{}
	l := idle.Limit()
	by := l.By
	t.Logf("limited by %q, by the wire clients waited for %.0f %%", by, 100*waited)
	want := by
	switch {
	case waited > 0.6 && locked > 0.6:
		want = results.ByKey
	case waited > 0.6 && locked < 0.4:
		want = results.ByLock
	case waited < 0.4 && locked < 0.6 && l.Slower < 2: // else they queue at a server that may be busy
		want = results.ByClients
	}
	if by != want {
		t.Errorf("limited by %q; by the wire keys were locked for %.0f %% and clients waited for %.0f %%, which makes %q", by, 100*locked, 100*waited, want)
	}
}

func quantile[T any](all []T, q float64, of func(*T) time.Duration) time.Duration {
	times := make([]time.Duration, len(all))
	for i := range all {
		times[i] = of(&all[i])
	}
	slices.Sort(times)
	return times[min(max(0, int(q*float64(len(times)))), len(times)-1)]
}
