// Schedules of the designs over a client library, whose connections are simulated.
package redis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis/rueidis"
	"github.com/lockbench/lockbench/drivers/simtest"
	"github.com/lockbench/lockbench/drivers/wait"
)

const simTTL = 100 * time.Millisecond

// contest is three clients, each with a connection of its own, that poll for the same key. Some hold it for longer than its
// lease.
func contest(lock string) simtest.Scenario {
	return simtest.Scenario{Clients: 3, Network: simtest.Network{Delay: 5 * time.Millisecond}, Run: func(w *simtest.World) {
		if err := compete(w, lock); err != nil {
			w.Fail("%v", err)
		}
	}}
}

func compete(w *simtest.World, lock string) (err error) {
	ctx := context.Background()
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	defer server.Close()
	for id := range w.Clients {
		d := rueidis.Driver
		d.Connect = func(context.Context, string, string) (net.Conn, error) {
			conn, err := server.Dial()
			if err != nil {
				return nil, err
			}
			return w.Connect(id, conn), nil
		}
		svc, openErr := d.Open(ctx, drivers.Config{Lock: lock, Addrs: []string{"redis:6379"}, Embedded: true, Conns: 1})
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, svc.Close()) }()
		room, err := wait.NewRoom(ctx, wait.Poll, svc, wait.Options{Poll: simTTL / 20})
		if err != nil {
			return err
		}
		w.Run(id, svc, simtest.Program{Rounds: 6, TTL: simTTL, Think: simTTL / 2, Hold: simTTL * 11 / 10, Room: room})
	}
	w.Wait()
	return nil
}

// A release that compares in the client may free the next holder's lock; one that compares at the server does not.
func TestSimReleases(t *testing.T) {
	n := simtest.Seeds(60, 300)
	found := simtest.Explore(t, n, contest("set-nx"))
	found.Sound(t)
	found.Saw(t, "grants", 12*int64(n))
	simtest.Explore(t, n, contest("set-nx-get-del")).Found(t)
}

// A schedule is the same whenever it runs.
func TestSimRepeats(t *testing.T) {
	simtest.Repeats(t, simtest.Seeds(5, 60), contest("set-nx"))
}

func BenchmarkSim(b *testing.B) { simtest.Bench(b, contest("set-nx")) }
