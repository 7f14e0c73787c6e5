package workloads_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/fault/wire"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
)

// TestOwnLimits: a library's own limits end while requests are under way, each of which is answered. So nothing is unknown, every
// lock that the record counts was granted on the wire, and every grant was given back.
func TestOwnLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of waiting for limits: make test-all")
	}
	server := servertest.Redis(t, servers.Options{})
	const delay = 3 * ms
	for _, tt := range []struct {
		driver, params string
		ttl, timeout   time.Duration
	}{
		{"redislock", "retry=linear+retry-min=2ms", 40 * ms, 0},          // it gives up after a TTL
		{"redislock", "retry=linear+retry-min=2ms", time.Second, 9 * ms}, // at the deadline
		{"redsync", "timeout-factor=0.065", 100 * ms, 0},                 // after 6.5 ms, and a round trip takes 6 ms
		{"redsync", "timeout-factor=1", time.Second, 9 * ms},
		{"rueidislock", "try-next-after=6500us", 100 * ms, 0},
		{"rueidislock", "try-next-after=20ms", 8 * ms, 0}, // the TTL ends before a second round trip does
	} {
		p := spec.Plan{
			Driver: tt.driver, Params: tt.params, Server: "external", Lock: "library", Wait: "native", Keys: 1, Ops: 60, Duration: 4 * time.Second,
			Oracle: true, IOTimeout: 10 * time.Second, Load: spec.Load{Clients: 6, TTL: tt.ttl, Timeout: tt.timeout, Hold: 2 * ms},
		}
		t.Run(tt.driver+" "+tt.params, func(t *testing.T) {
			r, log := load(t, strings.TrimPrefix(server.URL(), "redis://"), p, delay)
			granted, kept := grants(log, p.TTL)
			n := r.Counts
			t.Logf("%d acquired, %d timed out, %d lost; by the wire %d granted", n.Acquired, n.TimedOut, n.Lost, granted)
			if n.Unknown+n.Failed() != 0 || n.Acquired > int64(granted) || granted == 0 || kept != 0 {
				t.Errorf("%+v; by the wire %d were granted, and %d of them not given back", n, granted, kept)
			}
			for class, text := range n.ErrorSample {
				t.Errorf("%s: %s", class, text)
			}
		})
	}
}

// grants returns how many locks were granted to a token, and how many of those were neither released by it nor expired in the end.
func grants(log *wire.Log, ttl time.Duration) (granted, kept int) {
	open, now := map[string]time.Duration{}, time.Duration(0)
	for _, r := range log.Requests() {
		now = r.Heard
		command, owner := strings.ToUpper(r.Args[0]), 4
		if command == "SET" {
			owner = 2
		}
		switch {
		case len(r.Args) <= owner || command != "SET" && !strings.HasPrefix(command, "EVAL"):
		case r.Reply == "+OK" || r.Reply == "$2":
			granted++
			open[r.Args[owner]] = r.Heard
		case strings.HasPrefix(r.Reply, ":"):
			delete(open, r.Args[owner])
		}
	}
	for _, heard := range open {
		if now < heard+ttl {
			kept++
		}
	}
	return granted, kept
}
