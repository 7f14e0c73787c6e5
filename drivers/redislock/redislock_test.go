package redislock

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, servertest.GoRedisEnds) }

func TestConformance(t *testing.T) {
	t.Run("redis-server", func(t *testing.T) {
		conform(t, drivers.Config{}, servertest.Redis(t, servers.Options{}).URL())
	})
	if testing.Short() {
		return
	}
	t.Run("embedded", func(t *testing.T) {
		conform(t, drivers.Config{Embedded: true}, servertest.Embedded(t))
	})
}

func conform(t *testing.T, cfg drivers.Config, url string) {
	cfg.Lock, cfg.IOTimeout = "library", time.Second
	drivertest.Through(t, url).Run(t, drivertest.Setup{Driver: driver{}, Config: cfg})
}

func openWith(t *testing.T, cfg drivers.Config) drivers.Service {
	t.Helper()
	cfg.Lock, cfg.Addrs, cfg.Embedded = "library", []string{servertest.Embedded(t)}, true
	return drivertest.Open(t, driver{}, cfg)
}

func sessionOf(t *testing.T, svc drivers.Service, id int) drivers.Session {
	t.Helper()
	return drivertest.SessionOf[drivers.Session](t, svc, id)
}

// The library's strategies count, so each wait needs its own.
func TestStrategies(t *testing.T) {
	for _, tt := range []struct {
		params map[string]string
		want   []time.Duration // of one wait
	}{
		{map[string]string{"retry": "linear"}, []time.Duration{16 * time.Millisecond, 16 * time.Millisecond, 16 * time.Millisecond}},
		{map[string]string{"retry-min": "6ms", "retry-max": "20ms"}, []time.Duration{6 * time.Millisecond, 8 * time.Millisecond, 16 * time.Millisecond, 20 * time.Millisecond}},
		{map[string]string{"retry-max": "0s"}, []time.Duration{16 * time.Millisecond, 16 * time.Millisecond, 16 * time.Millisecond, 32 * time.Millisecond}},
	} {
		params, err := drivers.ReadParams(driver{}, tt.params)
		if err != nil {
			t.Fatal(err)
		}
		strategy, err := strategyOf(params)
		if err != nil {
			t.Fatal(err)
		}
		for wait := range 2 {
			s := strategy()
			for i, want := range tt.want {
				if got := s.NextBackoff(); got != want {
					t.Errorf("%v: delay %d of wait %d is %v, want %v", tt.params, i+1, wait+1, got, want)
				}
			}
		}
	}
}

// A lock that a wait has acquired is valid for a lease from the library's last attempt, which its caller cannot know.
func TestWaitTellsTheLease(t *testing.T) {
	svc := openWith(t, drivers.Config{Params: map[string]string{"retry": "linear", "retry-min": "1ms"}})
	holder, waiter := sessionOf(t, svc, 0), sessionOf(t, svc, 1)
	held, next := &drivers.Lease{Key: "k", TTL: time.Minute}, &drivers.Lease{Key: "k", TTL: time.Minute}
	if got, err := holder.Try(t.Context(), held); !got || err != nil {
		t.Fatal(got, err)
	}
	next.Deadline = time.Now().Add(10 * time.Millisecond) // some attempts
	if err := waiter.(drivers.Waiter).Wait(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	next.Deadline = time.Time{}
	asked := time.Now()
	if owned, err := holder.Release(t.Context(), held); !owned || err != nil {
		t.Fatal(owned, err)
	}
	if err := waiter.(drivers.Waiter).Wait(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	won := time.Now()
	if got, err := waiter.Try(t.Context(), next); !got || err != nil {
		t.Fatal(got, err)
	}
	if until := next.ValidUntil; until.Before(asked.Add(next.TTL)) || until.After(won.Add(next.TTL)) {
		t.Errorf("asked at %v, answered at %v, and valid until %v", asked, won, until)
	}
}

// Each locker has its own client, and the sessions take turns.
func TestLockers(t *testing.T) {
	svc := openWith(t, drivers.Config{Lockers: 2})
	a, b, c := sessionOf(t, svc, 0).(*session), sessionOf(t, svc, 1).(*session), sessionOf(t, svc, 2).(*session)
	if a.Client == b.Client || a.Client != c.Client || len(svc.(*service).lockers) != 2 {
		t.Error("sessions 0 and 2 share the first of two lockers, session 1 has the second")
	}
}

func TestOpenRefuses(t *testing.T) {
	one := []string{"127.0.0.1:1"}
	for want, cfg := range map[string]drivers.Config{
		"give single":               {Topology: drivers.TopologyRedlock, Addrs: one},
		"there are 2 addresses":     {Addrs: []string{"127.0.0.1:1", "127.0.0.1:2"}},
		`unknown parameter "tries"`: {Addrs: one, Params: map[string]string{"tries": "3"}},
		"at least retry-min":        {Addrs: one, Params: map[string]string{"retry-max": "1ms"}},
		"needs an interval":         {Addrs: one, Params: map[string]string{"retry": "linear", "retry-min": "0s"}},
		"127.0.0.1:1":               {Addrs: one},
	} {
		cfg.Lock = "library"
		if _, err := (driver{}).Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
