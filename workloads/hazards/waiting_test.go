package hazards

import (
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestAsleep: a waiter sleeps for nothing if the key is free, if it becomes free by the end of a lease, and if the server keeps it for
// the waiter, which does not know.
func TestAsleep(t *testing.T) {
	for _, c := range []struct {
		name, driver string
		granted      bool // to the waiter, which has not heard
		want         string
		never        bool
	}{
		{"free", "planted-careful", false, "B slept on a free key", false},
		{"of the waiter, with a lease", "planted-careful", true, "B slept on a key that it had been granted", false},
		{"of the waiter", "planted-endless", true, "the server has granted the key to B", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, lockOf(t, c.driver))
			defer s.close()
			b, other := s.Client("B"), s.Client("C")
			if c.granted {
				if held, err := b.request(); !held || err != nil {
					t.Fatal(held, err)
				}
			}
			s.asleep(&waiting{client: b, way: "native", granted: make(chan struct{})}, other, time.Second, 0)
			if !strings.Contains(s.outcome.Failure, c.want) || s.outcome.Never != c.never {
				t.Errorf("%q, never %v", s.outcome.Failure, s.outcome.Never)
			}
		})
	}
}

// stageOf returns a stage for a lock within this process.
func stageOf(t *testing.T, l Lock) *Stage {
	return &Stage{ctx: t.Context(), lock: l, key: t.Name(), ttl: 200 * time.Millisecond, history: &history{clock: drivers.NewClock()}}
}
