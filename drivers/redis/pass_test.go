package redis_test

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestPass hands a lock over: it is never free, the next holder has the lease, and the last one has nothing.
func TestPass(t *testing.T) {
	for _, lock := range []string{"set-nx", "fenced"} {
		t.Run(lock, func(t *testing.T) { testPass(t, lock) })
	}
}

func testPass(t *testing.T, lock string) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Lock = lock
		s := open(t, driver, cfg)
		a, b := session(t, s, 0), session(t, s, 1)
		la := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		lb := drivers.Lease{Key: la.Key, TTL: time.Hour, Fence: 7}
		pass := func(from, to *drivers.Lease, want bool) {
			t.Helper()
			owned, err := a.(drivers.Passer).Pass(t.Context(), from, to)
			if owned != want || err != nil {
				t.Fatalf("Pass = %v, %v, want %v", owned, err, want)
			}
		}
		pass(&la, &lb, false) // a free lock cannot be passed
		if held, err := b.Try(t.Context(), &lb); !held || err != nil {
			t.Fatalf("Try of a lock that was not passed = %v, %v", held, err)
		}
		release(t, b, &lb, true)

		try(t, a, &la, true)
		lb.Owner, lb.Fence = "left over", 7
		pass(&la, &lb, true)
		if lb.Owner == la.Owner || len(lb.Owner) < 22 {
			t.Errorf("passed from %q to %q", la.Owner, lb.Owner)
		}
		if fenced := lock == "fenced"; fenced && lb.Fence != la.Fence+1 || !fenced && lb.Fence != 0 {
			t.Errorf("passed from fence %d to %d", la.Fence, lb.Fence)
		}
		if rest, err := b.(drivers.Remainer).Remaining(t.Context(), &lb); rest <= 30*time.Minute || err != nil {
			t.Errorf("%v are left of an hour: %v", rest, err)
		}
		lc := drivers.Lease{Key: la.Key, TTL: time.Minute}
		pass(&la, &lc, false) // it is b's by now
		release(t, a, &la, false)
		release(t, a, &lc, false)
		release(t, b, &lb, true)
	})
}

// TestPassPublishesNothing wakes no client, because there is nothing to try for.
func TestPassPublishesNothing(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Wakes = true
		s := open(t, driver, cfg)
		var w woken
		add(t, listen(t, s, &w), cfg.Prefix+"k")
		a := session(t, s, 0)
		la := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		lb := la
		try(t, a, &la, true)
		if owned, err := a.(drivers.Passer).Pass(t.Context(), &la, &lb); !owned || err != nil {
			t.Fatalf("Pass = %v, %v", owned, err)
		}
		release(t, a, &lb, true)
		testwait.Until(t, "the release is heard", func() bool { return w.count(la.Key) > 0 })
		if n := w.count(la.Key); n != 1 {
			t.Errorf("a hand-over and a release woke %d times", n)
		}
	})
}

// TestPassers are the designs whose whole lock is in what a hand-over changes.
func TestPassers(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		d, err := drivers.Lookup(driver)
		if err != nil {
			t.Fatal(err)
		}
		for _, design := range d.Designs() {
			cfg.Lock = design.Name
			_, passes := session(t, open(t, driver, cfg), 0).(drivers.Passer)
			if want := design.Name == "set-nx" || design.Name == "fenced"; passes != want {
				t.Errorf("%s: that it can be passed on is %v", design.Name, passes)
			}
		}
	})
}

// TestListeners counts the subscriptions to a key, until they are closed.
func TestListeners(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Wakes = true
		s := open(t, driver, cfg)
		a := session(t, s, 0)
		l := drivers.Lease{Key: cfg.Prefix + "k", TTL: time.Minute}
		count := func(want int) {
			t.Helper()
			if n, err := a.(drivers.ListenerCounter).Listeners(t.Context(), &l); n != want || err != nil {
				t.Errorf("Listeners = %d, %v, want %d", n, err, want)
			}
		}
		count(0)
		var w woken
		add(t, listen(t, s, &w), l.Key)
		count(1)
		add(t, listen(t, s, &w), l.Key+"other")
		add(t, listen(t, s, &w), l.Key)
		count(2)
	})
}
