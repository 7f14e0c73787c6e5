package sharing

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/memory"
)

// open returns a service, whose table of locks several trials share here.
func open(t *testing.T) drivers.Service {
	t.Helper()
	svc, err := memory.Driver{}.Open(t.Context(), drivers.Config{Lock: "mutex"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { svc.Close() })
	return svc
}

const ttl = time.Minute

// enter takes a place that has to be free.
func enter(t *testing.T, svc drivers.Service) *Place {
	t.Helper()
	p, err := Enter(t.Context(), svc, "k:", ttl)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLast lets many trials come and leave at once. No clean may find another trial there, and the last one has to clean.
func TestLast(t *testing.T) {
	svc := open(t)
	var there, dirty atomic.Int64 // trials that use the keys; uses since the last clean
	var all sync.WaitGroup
	for range Most {
		all.Go(func() {
			for range 5 {
				p, err := Enter(context.Background(), svc, "k:", ttl)
				if err != nil {
					t.Error(err)
					return
				}
				there.Add(1)
				dirty.Add(1)
				runtime.Gosched()
				there.Add(-1)
				if err := p.Leave(func() error {
					if n := there.Load(); n != 0 {
						t.Errorf("the keys are deleted while %d trials use them", n)
					}
					dirty.Store(0)
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := dirty.Load(); n != 0 {
		t.Errorf("%d trials have used the keys since they were deleted last", n)
	}
}

func TestCounts(t *testing.T) {
	svc, cleaned := open(t), 0
	clean := func() error { cleaned++; return nil }
	a := enter(t, svc)
	b := enter(t, svc)
	if a.Before != 0 || b.Before != 1 {
		t.Errorf("there were %d and %d when they came, want 0 and 1", a.Before, b.Before)
	}
	if err := a.Leave(clean); err != nil || a.After != 1 || cleaned != 0 {
		t.Errorf("the first leaves %d and has cleaned %d times (%v), want 1 and 0", a.After, cleaned, err)
	}
	if err := b.Leave(clean); err != nil || b.After != 0 || cleaned != 1 {
		t.Errorf("the last leaves %d and has cleaned %d times (%v), want 0 and 1", b.After, cleaned, err)
	}
}

func TestFull(t *testing.T) {
	svc := open(t)
	for range Most {
		defer enter(t, svc).Leave(func() error { return nil })
	}
	if _, err := Enter(t.Context(), svc, "k:", ttl); err == nil || !strings.Contains(err.Error(), "another -prefix") {
		t.Errorf("there is no place left, and the error is %v", err)
	}
}

// TestCleaning has a trial come while the last one deletes the keys: it waits until that is over.
func TestCleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := open(t)
		a, entered, cleaned := enter(t, svc), make(chan *Place), atomic.Bool{}
		failed := errors.New("not deleted")
		err := a.Leave(func() error {
			if cleaned.Load() {
				return nil
			}
			go func() {
				b, err := Enter(context.Background(), svc, "k:", ttl)
				if err != nil || !cleaned.Load() {
					t.Errorf("the next has come before the keys were deleted, or not at all: %v", err)
				}
				entered <- b
			}()
			time.Sleep(time.Second)
			cleaned.Store(true)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := (<-entered).Leave(func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("the keys were not deleted, and the error is %v", err)
		}
	})
}

// TestKilled has trials that do not leave: their places last for a lease, and one at the door holds up who comes.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := open(t)
		killed := enter(t, svc)
		killed.watchdog.Stop(killed.hold)
		killed.watchdog.Close()
		a := enter(t, svc)
		if a.Before != 1 {
			t.Errorf("%d were there, want the one that was killed", a.Before)
		}
		time.Sleep(3 * ttl) // a is renewed
		b := enter(t, svc)
		if b.Before != 1 {
			t.Errorf("%d are there, want the one that lives", b.Before)
		}
		if held, err := b.door.try(t.Context(), b.prefix+Names+"door"); !held || err != nil {
			t.Fatalf("the door is held: %t, %v", held, err)
		}
		if _, err := Enter(t.Context(), svc, "k:", ttl); err == nil || !strings.Contains(err.Error(), "was killed as it came or left") {
			t.Errorf("the door is held, and the error is %v", err)
		}
		time.Sleep(ttl)
		for _, p := range []*Place{a, b} {
			if err := p.Leave(func() error { return nil }); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLost takes a trial's place away: what it held may have been deleted.
func TestLost(t *testing.T) {
	svc := open(t)
	p := enter(t, svc)
	if err := svc.(drivers.Cleaner).Clean(t.Context(), []string{"k:users:0"}); err != nil {
		t.Fatal(err)
	}
	cleaned := false
	err := p.Leave(func() error { cleaned = true; return nil })
	if err == nil || !strings.Contains(err.Error(), "lost its place") || !cleaned {
		t.Errorf("the place was lost: %v, cleaned %t", err, cleaned)
	}
}
