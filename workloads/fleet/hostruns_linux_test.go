package fleet_test

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/workloads/fleet"
	"github.com/lockbench/lockbench/workloads/fleet/fleettest"
)

// TestHostsRun runs the program on four hosts whose clocks have nothing in common.
func TestHostsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for some seconds")
	}
	bridge, hosts := fleettest.Hosts(t, 3*time.Second, 1000*time.Second+250*time.Millisecond, 1e6*time.Second,
		7*time.Second+999_999_999)
	redis := servertest.Redis(t, servers.Options{TCP: true})
	reached := bridge.Listen(t, 0)
	go fleettest.Relay(reached, 0, 0, func() (net.Conn, error) {
		return net.Dial("tcp", strings.TrimPrefix(redis.URL(), "redis://"))
	})
	t.Setenv(fleet.TokenVariable, "a secret of 24 bytes long")
	on := func(t *testing.T, want int, args ...string) *run {
		r := newRun(t)
		for i, h := range hosts {
			c := r.command(slices.Concat([]string{os.Args[0], "-rank", fmt.Sprint(i, "/4"),
				"-rendezvous", hosts[0].Addr + ":20000", "-clients", "16", "-keys", "4", "-hold", "2ms", "-o", r.file}, args)...)
			if err := h.Do(c.Start); err != nil {
				t.Fatal(err)
			}
		}
		if codes := r.end(t); !slices.Equal(codes, []int{want, 0, 0, 0}) {
			t.Errorf("exit codes %v", codes)
		}
		return r
	}
	t.Run("sound", func(t *testing.T) {
		rec := on(t, 0, "-duration", "2s", "-addr", "redis://"+reached.Addr().String()).only(t, 4)
		if rec.Partial != "" || rec.Safety.Violations > 0 || rec.Counts.Acquired == 0 {
			t.Errorf("partial %q, safety %+v, counts %+v", rec.Partial, rec.Safety, rec.Counts)
		}
		for i, of := range rec.Ranks {
			if of.Host != hosts[i].Name || (of.Bound == 0) != (i == 0) || of.Bound > 50*time.Millisecond {
				t.Errorf("rank %d: %+v", i, of)
			}
			t.Logf("rank %d on %s: clock %v ± %v, late by %v", of.Rank, of.Host, of.Offset, of.Bound, of.Late)
		}
		t.Logf("possible %d, blind %v", rec.Safety.Possible, rec.Safety.Blind)
	})
	t.Run("violations", func(t *testing.T) { // of a lock that excludes nobody, and claims nothing
		rec := on(t, 0, "-duration", "1s", "-driver", "null").only(t, 4)
		if rec.Partial != "" || rec.Safety.Violations == 0 {
			t.Errorf("partial %q, safety %+v", rec.Partial, rec.Safety)
		}
		t.Logf("violations %d, possible %d, blind %v", rec.Safety.Violations, rec.Safety.Possible, rec.Safety.Blind)
	})
}
