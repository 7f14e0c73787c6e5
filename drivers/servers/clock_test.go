package servers

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// startClock starts a server with a clock of its own.
func startClock(t *testing.T, o Options) *Redis {
	t.Helper()
	need(t, redisProgram.locate)
	o.Clock = true
	return started(t, FindFaketime, func(ctx context.Context) (*Redis, error) { return StartRedis(ctx, o) })
}

func setClock(t *testing.T, r *Redis, offset time.Duration) {
	t.Helper()
	if err := r.SetClock(t.Context(), offset); err != nil {
		t.Fatal(err)
	}
}

func TestSetClock(t *testing.T) {
	if testing.Short() {
		t.Skip("libfaketime is installed for make test-all")
	}
	t.Parallel()
	for name, o := range map[string]Options{"unix": {}, "tls": {TLS: true, Password: "secret"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startClock(t, o)
			say(t, r, "SET", "short", "v", "PX", "30000")
			say(t, r, "SET", "long", "v", "PX", "3600000")
			setClock(t, r, 0) // it has been right from the start
			if got := say(t, r, "EXISTS", "short", "long"); got != "2" {
				t.Fatalf("%s of two keys before the jump", got)
			}
			setClock(t, r, time.Minute)
			if got := say(t, r, "EXISTS", "short"); got != "0" {
				t.Error("after a jump by 60 s a key with 30 s to live is there")
			}
			left, err := strconv.Atoi(say(t, r, "PTTL", "long"))
			if limit := time.Hour - time.Minute; err != nil || left <= 0 || left > int(limit.Milliseconds()) {
				t.Errorf("the other one has %d ms to live, %v", left, err)
			}

			// If the jump back moved the timers' clock, they would not fire for a day.
			setClock(t, r, -24*time.Hour)
			testwait.Until(t, "a timer fires", func() bool {
				now, err := r.time(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				fired, err := r.number(t.Context(), "server", "lru_clock") // the seconds modulo 2^24, as a timer has left them
				if err != nil {
					t.Fatal(err)
				}
				late := now.Unix()%(1<<24) - fired
				return late >= 0 && late <= 10
			})
			setClock(t, r, 0)

			// A restarted server has the same offset.
			setClock(t, r, -1500*time.Millisecond)
			if err := r.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := r.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := time.Now()
			now, err := r.time(t.Context())
			if off := now.Sub(before); err != nil || off < -1501*time.Millisecond || off > time.Since(before)-1499*time.Millisecond {
				t.Errorf("after a restart the clock is %v off, %v", off, err)
			}
		})
	}
}

// A server whose clock cannot be set must not seem to be set.
func TestClockWithoutEffect(t *testing.T) {
	t.Parallel()
	r := startTest(t, Options{})
	if err := r.SetClock(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "libfaketime has no effect") {
		t.Errorf("with a clock that stays: %v", err)
	}
	if err := r.SetClock(t.Context(), 0); err != nil {
		t.Errorf("with a clock that is right: %v", err)
	}
}
