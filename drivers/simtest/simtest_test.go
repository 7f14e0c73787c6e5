package simtest

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The nodes keep the contract of a lock, here in real time and on a network without faults.
func TestConformance(t *testing.T) {
	w := newWorld(Scenario{Nodes: 1}, 0)
	drivertest.Run(t, drivertest.Setup{Driver: w.Driver(), Config: drivers.Config{Lock: "sim", Addrs: w.Addrs()}})
}

// sent sends numbered messages a millisecond apart, and returns those that arrive in their order.
func sent(t *testing.T, messages int, net Network) (arrived []int, longest time.Duration) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(Scenario{Nodes: 1, Network: net}, 1)
		c := dial(&service{node: w.nodes[0]}, 0, "c0")
		var mu sync.Mutex
		for i := range messages {
			at := w.Now()
			c.out.carry("it", func() {
				mu.Lock()
				defer mu.Unlock()
				arrived = append(arrived, i)
				longest = max(longest, w.Now()-at)
			})
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
	})
	return arrived, longest
}

func TestNetwork(t *testing.T) {
	const messages, delay = 10_000, 10 * time.Millisecond
	for _, tt := range []struct {
		name        string
		net         Network
		least, most int // messages that arrive
		ordered     bool
	}{
		{"delays", Network{Delay: delay}, messages, messages, true},
		{"losses", Network{Delay: delay, Loss: 0.1}, messages * 88 / 100, messages * 92 / 100, true},
		{"repetitions", Network{Delay: delay, Repeat: 0.1}, messages * 108 / 100, messages * 112 / 100, true},
		{"reordering", Network{Delay: delay, Reorder: true}, messages, messages, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			arrived, longest := sent(t, messages, tt.net)
			if n := len(arrived); n < tt.least || n > tt.most {
				t.Errorf("%d messages arrive, want %d to %d", n, tt.least, tt.most)
			}
			if slices.IsSorted(arrived) != tt.ordered {
				t.Errorf("they arrive in order: %t", !tt.ordered)
			}
			if tt.net.Repeat == 0 && (longest > delay+2*slots || longest < delay*9/10) {
				t.Errorf("the longest delay is %v", longest)
			}
		})
	}
}

// Bytes of a stream arrive in their order, later, and its end after them.
func TestConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(Scenario{Network: Network{Delay: time.Second, Loss: 1}}, 1)
		far, server := net.Pipe()
		client := w.Connect(0, far)
		go func() {
			for i := range 100 {
				client.Write([]byte{byte(i)})
			}
			client.Close()
		}()
		got, err := io.ReadAll(server)
		for i, b := range got {
			if int(b) != i {
				t.Fatalf("byte %d is %d", i, b)
			}
		}
		if took := w.Now(); len(got) != 100 || err != nil || took < time.Second/2 || took > time.Second+slots {
			t.Errorf("%d bytes and %v after %v", len(got), err, took)
		}
		server.Close()
		time.Sleep(2 * time.Second) // until the client's end hears of it
	})
}

// lone is a scenario of one client whose think time is drawn from that source.
func lone(think func() time.Duration) Scenario {
	return Scenario{Nodes: 1, Clients: 1, Run: func(w *World) {
		svc, err := w.Driver().Open(context.Background(), drivers.Config{Addrs: w.Addrs()})
		if err != nil {
			w.Fail("%v", err)
			return
		}
		time.Sleep(think())
		w.Run(0, svc, Program{Rounds: 2, TTL: time.Second, Think: time.Second, Hold: time.Second})
		w.Wait()
	}}
}

// A schedule that depends on more than its seed is noticed.
func TestDiffer(t *testing.T) {
	for name, tt := range map[string]struct {
		think  func() time.Duration
		differ bool
	}{
		"its seed": {func() time.Duration { return time.Second }, false},
		"chance":   {func() time.Duration { return rand.N(time.Hour) }, true},
	} {
		s := lone(tt.think)
		one, two := run(t, s, 7), run(t, s, 7)
		if d := differ(one.Trace(), two.Trace()); (d != "") != tt.differ {
			t.Errorf("a schedule that depends on %s: %q", name, d)
		}
		if other := run(t, s, 8); other.Trace() == one.Trace() {
			t.Errorf("another seed has the same trace:\n%s", one.Trace())
		}
	}
}

// What is printed for a schedule that fails replays it.
func TestReplay(t *testing.T) {
	if got, want := command(t, 40), "drivers/simtest -run '^TestReplay$' -v -seed=40"; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want …%s", got, want)
	}
	*replay = 3
	defer func() { *replay = -1 }()
	found := Explore(t, 100, lone(func() time.Duration { return 0 }))
	found.Saw(t, "grants", 200) // which one schedule cannot have
	if found.Schedules != 1 || found.Count("grants") != 2 {
		t.Errorf("%d schedules: %v", found.Schedules, found.counts)
	}
}
