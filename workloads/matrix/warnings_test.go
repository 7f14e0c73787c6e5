package matrix

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

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
			"holds of 10ms can outlast a lease of 10ms: expect overlaps"},
		{"hold < TTL", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL = 15*ms, 20*ms }, ""},
		{"holds within TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "exp:5ms", 80*ms) }, ""},
		{"holds beyond TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "lognormal:5ms:50ms", 50*ms) },
			"holds of lognormal:5ms:50ms can outlast a lease of 50ms: expect overlaps"},
		{"all holds beyond TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "uniform:5ms:10ms", 4*ms) },
			"holds of uniform:5ms:10ms can outlast a lease of 4ms"},
		{"replayed near TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "file:x", 50*ms) },
			"holds of file:x can outlast a lease of 50ms"},
		{"replayed within TTL", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "file:x", 51*ms) }, ""},
		{"drawn and renewed", func(p *spec.Plan, _ *drivers.Traits) { drawnHolds(p, "exp:5ms", 20*ms); p.Renew = true }, ""},
		{"renewed", func(p *spec.Plan, _ *drivers.Traits) { p.Hold, p.TTL, p.Renew = 30*ms, 20*ms, true }, ""},
		{"no expiry", func(p *spec.Plan, c *drivers.Traits) { p.Hold, p.TTL, c.Expires = 10*ms, ms, false }, ""},
		{"bound to a session", func(p *spec.Plan, c *drivers.Traits) { p.Hold, p.TTL, c.Expires, c.Session = 10*ms, ms, false, true }, ""},
		{"no claim", func(_ *spec.Plan, c *drivers.Traits) { c.Exclusive = false }, "lock mutex claims no mutual exclusion"},
		{"oracle off", func(p *spec.Plan, _ *drivers.Traits) { p.Oracle = false }, "the oracle is off"},
		{"ramp", func(p *spec.Plan, _ *drivers.Traits) {
			p.Rate, p.Clients = spec.Must(spec.ParseRate("100:200:1s")), 1000
		}, ""},
		{"more arrivals than a key can serve", func(p *spec.Plan, _ *drivers.Traits) {
			p.Rate, p.Clients, p.Keys, p.Hold = spec.Must(spec.ParseRate("5k")), 8, 1, 2*ms
		}, "5,000 arrivals a second will queue up: 1 key busy for 2ms each can serve 500 at most"},
		{"more arrivals than clients can serve", func(p *spec.Plan, _ *drivers.Traits) {
			p.Rate, p.Clients, p.Keys, p.Hold = spec.Must(spec.ParseRate("5k")), 8, 9, 2*ms
		}, "5,000 arrivals a second will queue up: 8 clients busy for 2ms each can serve 4,000 at most"},
		{"dying holders", func(p *spec.Plan, c *drivers.Traits) { p.Crash, c.Expires = 0.1, false },
			"a lock of mutex outlives its holder: each key that one dies on stays locked"},
		{"dying holders of no lock", func(p *spec.Plan, c *drivers.Traits) { p.Crash, *c = 0.1, drivers.Traits{} },
			"lock mutex claims no mutual exclusion"},
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
}

func TestSessionWarning(t *testing.T) {
	p := sound()
	p.TTL = 1500 * ms
	for session, want := range map[time.Duration]string{
		0: "", 1500 * ms: "", 2 * time.Second: "",
		4 * time.Second: "the server keeps silent sessions for 4s, and the TTL is 1.5s",
		time.Second:     "the server keeps silent sessions for 1s, and the TTL is 1.5s",
	} {
		if got := SessionWarning(p, session); got != want {
			t.Errorf("%v: %q, want %q", session, got, want)
		}
	}
}
