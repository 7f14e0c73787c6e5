package workloads

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// sound returns a plan that nothing is wrong with.
func sound() spec.Plan {
	return spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute},
		Driver: "memory", Lock: "mutex", Wait: "backoff", Keys: 1,
		BackoffMin: time.Millisecond, BackoffMax: time.Second, Duration: time.Second, IOTimeout: time.Second,
		Oracle: true, Server: "embedded",
	}
}

func TestCheck(t *testing.T) {
	if err := Check(sound()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*spec.Plan)
		field  string
		want   string
	}{
		{func(p *spec.Plan) { p.Driver = "" }, "driver", `-driver "": must be the name of a driver`},
		{func(p *spec.Plan) { p.Lock = "" }, "lock", `-lock "": must be the name of a lock design`},
		{func(p *spec.Plan) { p.Wait = "nap" }, "wait", "-wait nap: must be one of none, poll, backoff, pubsub, queue, block, native"},
		{func(p *spec.Plan) { p.Clients = 0 }, "clients", "-clients 0: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Clients = MaxClients + 1 }, "clients", "-clients 1000001: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Keys = -1 }, "keys", "-keys -1: must be 1 to 10000000"},
		{func(p *spec.Plan) { p.Hold = -1 }, "hold", "-hold -1ns: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Reentry = -1 }, "reentry", "-reentry -1: must be 1 to 1000"},
		{func(p *spec.Plan) { p.Reentry = 1001 }, "reentry", "-reentry 1001: must be 1 to 1000"},
		{func(p *spec.Plan) { p.Think = 25 * time.Hour }, "think", "-think 25h0m0s: must be 0s to 24h"},
		{func(p *spec.Plan) { p.TTL = 999 * time.Microsecond }, "ttl", "-ttl 999µs: must be 1ms to 24h"},
		{func(p *spec.Plan) { p.Timeout = -time.Second }, "timeout", "-timeout -1s: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Wait = "poll" }, "poll", "-poll 0s: must be 1µs to 24h"},
		{func(p *spec.Plan) { p.BackoffMin = 0 }, "backoff-min", "-backoff-min 0s: must be 1µs to 24h"},
		{func(p *spec.Plan) { p.BackoffMax = 0 }, "backoff-max", "-backoff-max 0s: must be at least -backoff-min, which is 1ms"},
		{func(p *spec.Plan) { p.Wait = "queue" }, "handover", `-handover "": must be one of release, swap`},
		{func(p *spec.Plan) { p.Wait, p.Handover = "queue", "swap" }, "handover-max", "-handover-max 0: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Lockers = 2 }, "lockers", "-lockers 2: must be 1 to -clients, which is 1"},
		{func(p *spec.Plan) { p.Lockers = -1 }, "lockers", "-lockers -1: must be 1 to -clients, which is 1"},
		{func(p *spec.Plan) { p.Duration = 0 }, "duration", "-duration 0s: must be more than 0s and at most 168h"},
		{func(p *spec.Plan) { p.Warmup = -1 }, "warmup", "-warmup -1ns: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Conns = -1 }, "conns", "-conns -1: must be 0 to 100000"},
		{func(p *spec.Plan) { p.Pipelining = "on" }, "pipelining", "-pipelining on: must be one of auto, off"},
		{func(p *spec.Plan) { p.FlushDelay = -1 }, "flush-delay", "-flush-delay -1ns: must be 0s to 1s"},
		{func(p *spec.Plan) { p.IOTimeout = 0 }, "io-timeout", "-io-timeout 0s: must be 1ms to 1h"},
		{func(p *spec.Plan) { p.Durability = "strikt" }, "durability", `-durability strikt: must be one of relaxed, strict`},
		{func(p *spec.Plan) { p.Server = "" }, "server", `-server "": must be one of private, embedded, external, in-process`},
	} {
		p := sound()
		test.change(&p)
		err := Check(p)
		var field *FieldError
		if !errors.As(err, &field) || field.Field != test.field || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

// TestCheckReadsWhatIsUsed leaves alone the times of other ways of waiting.
func TestCheckReadsWhatIsUsed(t *testing.T) {
	p := sound()
	p.Wait, p.Poll, p.BackoffMin, p.BackoffMax = "none", -1, -1, -2
	if err := Check(p); err != nil {
		t.Error(err)
	}
}

// drawnHolds has p hold for times of a mean of 5 ms.
func drawnHolds(p *spec.Plan, dist string, ttl time.Duration) {
	p.Hold, p.HoldDist, p.TTL = 5*ms, spec.Must(spec.ParseTimes(dist)), ttl
}

func TestWarnings(t *testing.T) {
	claims := drivers.Traits{Exclusive: true, Expires: true}
	for _, test := range []struct {
		name   string
		change func(*spec.Plan, *drivers.Traits)
		want   string // the beginning of the only warning; empty for none
	}{
		{"sound", func(*spec.Plan, *drivers.Traits) {}, ""},
		{"hold = TTL", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL = 10*ms, 10*ms },
			"every hold outlasts its lease (hold 10ms, TTL 10ms): expect overlaps; the oracle will count them"},
		{"hold = TTL/2", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL = 10*ms, 20*ms }, ""},
		{"hold near TTL", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL = 15*ms, 20*ms }, "a hold of 15ms leaves 5ms of its TTL"},
		{"holds within TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "exp:5ms", 80*ms) }, ""},
		{"holds beyond TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "lognormal:5ms:50ms", 50*ms) },
			"1 % of the holds (lognormal:5ms:50ms) outlast a lease of 50ms: expect overlaps; the oracle will count them"},
		{"all holds beyond TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "uniform:5ms:10ms", 4*ms) },
			"100 % of the holds (uniform:5ms:10ms) outlast a lease of 4ms"},
		{"replayed near TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "file:x", 50*ms) },
			"holds of file:x may outlast a lease of 50ms"},
		{"replayed within TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "file:x", 51*ms) }, ""},
		{"drawn and renewed", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "exp:5ms", 20*ms); p.Renew = true }, ""},
		{"renewed", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL, p.Renew = 30*ms, 20*ms, true }, ""},
		{"renewed in a hurry", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL, p.Renew = 10*ms, 9*ms, true },
			"a lease of 9ms is renewed every 3ms, and timers"},
		{"no expiry", func(p *spec.Plan, c *drivers.Traits) { p.Hold, p.TTL, c.Expires = 10*ms, ms, false }, ""},
		{"bound to a session", func(p *spec.Plan, c *drivers.Traits) { p.Hold, p.TTL, c.Expires, c.Session = 10*ms, ms, false, true }, ""},
		{"no claim", func(_ *spec.Plan, c *drivers.Traits) { c.Exclusive = false }, "mutex does not claim mutual exclusion"},
		{"oracle off", func(p *spec.Plan, _ *drivers.Traits) { p.Oracle = false }, "the oracle is off"},
		{"patient", func(p *spec.Plan, _ *drivers.Traits) { p.Timeout = p.Duration }, "a client's patience (timeout 1s)"},
		{"slow poll", func(p *spec.Plan, _ *drivers.Traits) { p.Wait, p.Poll = "poll", time.Second }, "clients poll every 1s"},
		{"many clients", func(p *spec.Plan, _ *drivers.Traits) { p.Clients = 1_000_000 }, "1000000 clients and "},
		{"many keys", func(p *spec.Plan, _ *drivers.Traits) { p.Clients, p.Keys = 10, 10_000_000 }, "10 clients and 10000000 keys take about 2 GiB"},
		{"ramp", func(p *spec.Plan, _ *drivers.Traits) {
			p.Rate, p.Clients = spec.Must(spec.ParseRate("100:200:1s")), 1000
		}, ""},
		{"long ramp", func(p *spec.Plan, _ *drivers.Traits) {
			p.Rate, p.Clients = spec.Must(spec.ParseRate("100:200:4s")), 1000
		},
			"the rate changes for 4s, and the measured time ends after 1s, at 125 a second: give it a longer -duration"},
		{"endless ramp", func(p *spec.Plan, _ *drivers.Traits) {
			p.Rate, p.Duration, p.Ops = spec.Must(spec.ParseRate("100:200:4s")), 0, 9
		}, ""},
		{"dying holders", func(p *spec.Plan, c *drivers.Traits) { p.Crash, c.Expires = 0.1, false },
			"a lock of mutex outlives its holder: each key that a holder dies on is locked"},
		{"dying holders of no lock", func(p *spec.Plan, c *drivers.Traits) { p.Crash, *c = 0.1, drivers.Traits{} },
			"mutex does not claim mutual exclusion"},
		{"slow think", func(p *spec.Plan, _ *drivers.Traits) { p.Think = time.Second }, "one hold and one pause take 1s"},
	} {
		p, c := sound(), claims
		test.change(&p, &c)
		got := Warnings(p, c)
		switch {
		case test.want == "" && len(got) == 0:
		case len(got) != 1 || !strings.HasPrefix(got[0], test.want):
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	p := sound()
	p.Hold, p.Oracle = time.Hour, false
	if got := strings.Join(Warnings(p, claims), "\n"); !strings.Contains(got, "which nobody will count") {
		t.Errorf("without the oracle: %q", got)
	}
}
