package breakable_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/breakable"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// rightClock is a driver whose clients cannot have a wrong clock.
type rightClock struct {
	drivers.Driver
	drivers.Addressed
}

func (d rightClock) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	cfg.ClockOffset = 0
	return d.Driver.Open(ctx, cfg)
}

func init() {
	d, err := drivers.Lookup("rueidis")
	if err != nil {
		panic(err)
	}
	drivers.Register("right-clock", rightClock{d, d.(drivers.Addressed)})
}

// A lock survives a wrong clock only if its server was told of one.
func TestWrongClocks(t *testing.T) {
	if testing.Short() {
		t.Skip("servers with clocks: make test-all")
	}
	var started breakable.Servers
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, test := range []struct {
		hazard  drivers.Hazard
		lock    string
		verdict safety.Verdict
		why     string
	}{
		{drivers.HazardClientClock, "rueidis getset", safety.Fails, "at once"},
		{drivers.HazardClientClock, "go-redis setnx-steal", safety.Fails, "at once"},
		{drivers.HazardClientClock, "rueidislock library", safety.Fails, "at once"},
		{drivers.HazardClientClock, "redsync library", safety.NotApplicable, "no use for a clock"},
		{drivers.HazardClientClock, "redsync@redlock library", safety.NotApplicable, "no use for a clock"},
		{drivers.HazardClientClock, "redislock library", safety.NotApplicable, "no use for a clock"},
		{drivers.HazardClientClock, "rueidis set-nx", safety.NotApplicable, "no use for a clock"},
		{drivers.HazardClientClock, "rueidis setnx", safety.NotApplicable, "do not expire"},
		{drivers.HazardClientClock, "right-clock getset", safety.NotApplicable, "cannot be set"},
		{drivers.HazardClientClock, "right-clock set-nx", safety.NotApplicable, "no use for a clock"},
		{drivers.HazardServerClock, "rueidislock library", safety.Fails, "at once"},
		{drivers.HazardServerClock, "rueidis getset", safety.Survives, ""},
		{drivers.HazardServerClock, "rueidis setnx", safety.NotApplicable, "do not expire"},
	} {
		t.Run(string(test.hazard)+"/"+test.lock, func(t *testing.T) {
			l, ok := hazards.Find(test.lock)
			if !ok {
				t.Fatal("there is no such lock")
			}
			for _, h := range hazards.All() {
				if h.Name != test.hazard {
					continue
				}
				c := hazards.Run(t.Context(), &h, []hazards.Lock{l}, &started, hazards.Options{Attempts: 4, Prefix: "clocks:"})[0]
				switch {
				case c.Verdict == safety.NoServer && os.Getenv("CI") != "true":
					t.Log(c.Why)
				case c.Verdict != test.verdict || !strings.Contains(c.Why, test.why):
					t.Errorf("%s: %s; want %s: %s", c.Verdict, c.Why, test.verdict, test.why)
				}
			}
		})
	}
}
