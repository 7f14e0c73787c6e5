package workloads

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// roomy is a service whose store can take some locks more.
type roomy struct {
	drivers.Service
	locks int64
}

func (r roomy) Inspect(context.Context) (drivers.Server, drivers.Usage, error) {
	return drivers.Server{Name: "roomy", Room: 100 * r.locks, LockBytes: 100}, drivers.Usage{}, nil
}

// TestRoom: a load of 80 locks a second warns while it lasts, once, if the store is too small for all of them.
func TestRoom(t *testing.T) {
	for _, tt := range []struct {
		locks    int64 // 0: unknown
		warmup   time.Duration
		duration time.Duration
		ops      int64
		warns    bool
	}{
		{locks: 1000, duration: 20 * time.Second, warns: true},
		{locks: 1000, duration: 5 * time.Second, warmup: 15 * time.Second, warns: true},
		{locks: 1000, ops: 1600, warns: true},
		{locks: 3000, duration: 20 * time.Second},
		{locks: 3000, ops: 1600},
		{locks: 0, duration: 20 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := plan("memory", "mutex")
			p.Clients, p.Keys, p.Hold, p.Warmup, p.Duration, p.Ops = 8, 100, 100*ms, tt.warmup, tt.duration, tt.ops
			var said []time.Duration
			begin := time.Now()
			r, err := (&Run{Plan: p, Service: roomy{open(t, p), tt.locks}, Prefix: "test:", SayOnce: func(string, ...any) {
				said = append(said, time.Since(begin))
			}}).Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			recorded := strings.Count(strings.Join(r.Warnings, "\n"), "room for all locks")
			if want := map[bool]int{true: 1}[tt.warns]; len(said) != want || recorded != want {
				t.Errorf("%+v: said at %v, recorded in %q", tt, said, r.Warnings)
			}
			if len(said) > 0 && said[0] > 2*time.Second { // of synctest's clock
				t.Errorf("%+v: only after %v", tt, said[0])
			}
		})
	}
}
