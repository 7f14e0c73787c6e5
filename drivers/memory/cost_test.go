package memory_test

// The cost of the in-process locks, which everything else is compared with.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// open opens a service with the driver's first design.
func open(t testing.TB, d drivers.Driver) drivers.Service {
	t.Helper()
	svc, err := d.Open(t.Context(), drivers.Config{Wakes: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return svc
}

func newSession(t testing.TB, svc drivers.Service, id int) drivers.Session {
	t.Helper()
	s, err := svc.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pair is one acquisition and release.
func pair(ctx context.Context, s drivers.Session, l *drivers.Lease) error {
	if held, err := s.Try(ctx, l); !held || err != nil {
		return fmt.Errorf("try: %v, %w", held, err)
	}
	if owned, err := s.Release(ctx, l); !owned || err != nil {
		return fmt.Errorf("release: %v, %w", owned, err)
	}
	return nil
}

func TestAllocations(t *testing.T) {
	const pairs = 16 // as many as owner tokens are drawn at a time
	for _, test := range []struct {
		name   string
		driver drivers.Driver
		most   float64
	}{
		{"memory", memory.Driver{}, 2}, // the tokens
		{"null", memory.Null{}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			svc := open(t, test.driver)
			s := newSession(t, svc, 0)
			if sub, ok := drivers.As[drivers.Subscriber](svc); ok {
				l, err := sub.Listen(t.Context(), func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				if err := l.Add(t.Context(), "heard"); err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			for _, key := range []string{"unheard", "heard"} {
				l := &drivers.Lease{Key: key, TTL: time.Minute}
				if n := testing.AllocsPerRun(100, func() {
					for range pairs {
						if err := pair(ctx, s, l); err != nil {
							t.Fatal(err)
						}
					}
				}); n > test.most {
					t.Errorf("%d pairs on key %q cost %v allocations, want %v or fewer", pairs, key, n, test.most)
				}
			}
		})
	}
}
