package matrix

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// able is a design that can do everything.
var able = drivers.Traits{
	Exclusive: true, Owned: true, Expires: true, Fenced: true, Fair: true, Reentrant: true, Renews: true, Wakes: true, Waits: true, Blocks: true,
}

// sound returns a plan that nothing is wrong with.
func sound() spec.Plan {
	return spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute},
		Driver: "memory", Lock: "mutex", Wait: "backoff", Keys: 1,
		BackoffMin: time.Millisecond, BackoffMax: time.Second, Duration: time.Second, IOTimeout: time.Second,
		Oracle: true, Server: "embedded",
	}
}

const ms = time.Millisecond

func TestCheck(t *testing.T) {
	if err := Check(sound(), able); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*spec.Plan)
		field  string
		want   string
	}{
		{func(p *spec.Plan) { p.Wait = "nap" }, "wait", `-wait nap: unknown wait "nap"; there are auto, none, poll, backoff, pubsub, queue, block, native`},
		{func(p *spec.Plan) { p.Clients = 0 }, "clients", "-clients 0: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Clients = 1_000_001 }, "clients", "-clients 1000001: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Keys = -1 }, "keys", "-keys -1: must be 1 to 10000000"},
		{func(p *spec.Plan) { p.Hold = -1 }, "hold", "-hold -1ns: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Reentry = -1 }, "reentry", "-reentry -1: must be 1 to 1000"},
		{func(p *spec.Plan) { p.Reentry = 1001 }, "reentry", "-reentry 1001: must be 1 to 1000"},
		{func(p *spec.Plan) { p.Think = 25 * time.Hour }, "think", "-think 25h: must be 0s to 24h"},
		{func(p *spec.Plan) { p.TTL = 999 * time.Microsecond }, "ttl", "-ttl 999us: must be 1ms to 24h"},
		{func(p *spec.Plan) { p.Timeout = -time.Second }, "timeout", "-timeout -1s: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Lockers = -1 }, "lockers", "-lockers -1: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Duration = 0 }, "duration", "-duration 0s: must be 1ns to 168h"},
		{func(p *spec.Plan) { p.Warmup = -1 }, "warmup", "-warmup -1ns: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Conns = -1 }, "conns", "-conns -1: must be 0 to 100000"},
		{func(p *spec.Plan) { p.Pipelining = "on" }, "pipelining", `-pipelining on: unknown pipelining "on"; there are default, auto, off, batch`},
		{func(p *spec.Plan) { p.IOTimeout = 0 }, "io-timeout", "-io-timeout 0s: must be 1ms to 1h"},
		{func(p *spec.Plan) { p.Server, p.Durability = Private, "strikt" }, "durability", `-durability strikt: unknown durability "strikt"; there are relaxed, strict`},
	} {
		p := sound()
		test.change(&p)
		err := Check(p, able)
		var field *spec.FieldError
		if !errors.As(err, &field) || field.Field != test.field || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

// TestCheckReadsWhatIsUsed leaves alone the times of other ways of waiting.
func TestCheckReadsWhatIsUsed(t *testing.T) {
	p := sound()
	p.Wait, p.Poll, p.BackoffMin, p.BackoffMax = "none", -1, -1, -2
	if err := Check(p, able); err != nil {
		t.Error(err)
	}
}

// TestCheckLoads: what is wrong in one class says in which.
func TestCheckLoads(t *testing.T) {
	for _, test := range []struct {
		change func(*spec.Plan)
		want   string
	}{
		{func(p *spec.Plan) { p.Classes[1].Hold = -1 }, "class batch: -hold -1ns: must be 0s to 24h"},
		{func(p *spec.Plan) { p.Clients = 1_000_001 }, "-clients 1000001: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Classes[0].Clients = 0 }, "class online: -clients 0: must be 1 to 1000000"},
		{func(p *spec.Plan) { p.Classes[0].TryOnly = 1.1 }, "class online: -try-only 110%: must be 0% to 100%"},
		{func(p *spec.Plan) { p.Classes[0].MaxQueue, p.Classes[0].Burst = -1, ms }, "class online: -max-queue -1: must be 0 to 1000000000"},
		{func(p *spec.Plan) { p.Classes[0].Burst = -1 }, "class online: -burst -1ns: must be 1ms to 24h"},
		{func(p *spec.Plan) { p.Classes[0].Burst = 1 }, "class online: -burst 1ns: must be 1ms to 24h"},
		{func(p *spec.Plan) { p.Classes[0].Burst, p.Classes[0].Rate = ms, spec.Must(spec.ParseRate("5")) }, "memory mutex class online -rate 5 -burst 1ms: clients come at a rate or in bursts, not both"},
		{func(p *spec.Plan) { p.Ops = -1 }, "-n -1: must be 0 to 1000000000000"},
		{func(p *spec.Plan) { p.Ops, p.Duration = 0, 0 }, "-duration 0s: must be 1ns to 168h"},
		{func(p *spec.Plan) { p.Ops, p.Duration = 1, 0 }, ""},
		{func(p *spec.Plan) { p.Topology, p.Nodes, p.NodeTimeout = "redlock", 64, ms }, ""},
		{func(p *spec.Plan) { p.Wait, p.Lockers = "pubsub", 3 }, "memory mutex -lockers 3 -clients 2: each locker needs a client"},
		{func(p *spec.Plan) { p.Topology, p.Acks, p.Replicas, p.NodeTimeout = "replicated", 3, 2, ms },
			"memory -acks 3 -replicas 2: there are not as many to acknowledge"},
		{func(p *spec.Plan) { p.Topology, p.Nodes, p.NodeTimeout = "redlock", 65, ms }, "-nodes 65: must be 0 to 64"},
		{func(p *spec.Plan) { p.Probe = -1 }, "-probe -1: must be 0.01 to 1000"},
	} {
		p := sound()
		p.Clients = 2
		p.Classes = []spec.Class{{Name: "online", Load: sound().Load}, {Name: "batch", Load: sound().Load}}
		test.change(&p)
		err := Check(p, able)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("refused: %v", err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)):
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
		if field, ok := errors.AsType[*spec.FieldError](err); ok && strings.HasPrefix(test.want, "class ") && field.Class == "" {
			t.Errorf("%v has no class", err)
		}
	}
}

// TestMisfits: what is wrong in one class says in which.
func TestMisfits(t *testing.T) {
	p := sound()
	p.KeyDist, p.Keys, p.Clients = spec.Must(spec.ParseKeys("own")), 1, 2
	for want, classes := range map[string][]spec.Class{
		"memory mutex -key-dist own: it needs 2 keys at least":             nil,
		"memory mutex class batch -key-dist own: it needs 2 keys at least": {{Name: "batch", Load: p.Load}},
	} {
		p.Classes = classes
		err := Check(p, drivers.Traits{})
		if _, ok := errors.AsType[*Misfit](err); !ok || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestCheckProbe(t *testing.T) {
	zero := 0.0
	for rate, ok := range map[float64]bool{0: true, 0.01: true, 10: true, 1000: true, -1: false, 1e-12: false, 1001: false, zero / zero: false} {
		p := sound()
		p.Probe = rate
		var field *spec.FieldError
		if err := Check(p, able); (err == nil) != ok || err != nil && (!errors.As(err, &field) || field.Field != "probe") {
			t.Errorf("%v a second: %v", rate, err)
		}
	}
}
