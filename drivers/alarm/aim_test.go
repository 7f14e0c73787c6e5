package alarm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// sleeps simulates n sleeps of d with timers that are late by what late draws, and returns the median excess of the
// sleeps and the average time that they spun.
func (a *aim) sleeps(n int, d time.Duration, late func() time.Duration) (overlong []time.Duration, spun time.Duration) {
	for range n {
		left := a.until(d)
		over := -d // it only spins
		if left > 0 {
			l := late()
			a.looked.Store(looking) // do not look at the real queues
			a.woke(0, l)
			over = left + l - d
		}
		spun += max(-over, 0)
		overlong = append(overlong, max(over, 0))
	}
	return overlong, spun / time.Duration(n)
}

func share(ds []time.Duration, within time.Duration) float64 {
	n := 0
	for _, d := range ds {
		if d <= within {
			n++
		}
	}
	return float64(n) / float64(len(ds))
}

// Whatever the usual lateness of timers is, it is compensated for within a few hundred sleeps.
func TestAimLearns(t *testing.T) {
	for _, late := range []time.Duration{0, 8, 25, 80} {
		a := newAim()
		draw := func() time.Duration { return late*time.Microsecond + rand.N(4*time.Microsecond) }
		a.sleeps(500, time.Millisecond, draw)
		over, spun := a.sleeps(2000, time.Millisecond, draw)
		if s := share(over, 2*time.Microsecond); s < 0.6 {
			t.Errorf("late by %d to %d µs: only %.0f %% of the sleeps end within 2 µs", late, late+4, 100*s)
		}
		if spun > 4*time.Microsecond {
			t.Errorf("late by %d to %d µs: spins for %v on average", late, late+4, spun)
		}
	}
}

// However much the lateness scatters, the time spun stays small.
func TestAimSpinsLittle(t *testing.T) {
	for _, width := range []time.Duration{10, 50, 200, 1000} {
		a := newAim()
		draw := func() time.Duration { return rand.N(width * time.Microsecond) }
		a.sleeps(1000, 2*time.Millisecond, draw)
		if _, spun := a.sleeps(20_000, 2*time.Millisecond, draw); spun > later*sooner {
			t.Errorf("late by up to %d µs: spins for %v on average, more than %v", width, spun, later*sooner)
		}
	}
}

// A sleep that is shorter than timers are late only spins, but is still measured now and then, to notice when they are
// no longer late.
func TestAimExplores(t *testing.T) {
	a := newAim()
	const d = 50 * time.Microsecond
	late := func() time.Duration { return 60 * time.Microsecond }
	a.sleeps(1000, time.Millisecond, late)
	if over, _ := a.sleeps(160, d, late); share(over, 0) < 0.9 {
		t.Errorf("only %.0f %% of the short sleeps end on time", 100*share(over, 0))
	}
	a.sleeps(20_000, d, func() time.Duration { return 2 * time.Microsecond })
	if left := a.until(d); left < 40*time.Microsecond {
		t.Errorf("sets the timer to %v of 50 µs, though it is late by 2 µs", left)
	}
}

// No goroutine spins while others wait for a processor.
func TestAimKeepsOutOfACrowd(t *testing.T) {
	a := newAim()
	for range 100 {
		a.look(true)
	}
	for _, d := range []time.Duration{5 * time.Microsecond, 50 * time.Microsecond, time.Millisecond} {
		if left := a.until(d); left != d {
			t.Errorf("in a crowd the timer of a sleep of %v is set to %v", d, left)
		}
	}
	for range 100 {
		a.look(false)
	}
	if left := a.until(5 * time.Microsecond); left != 0 {
		t.Errorf("without a crowd a sleep of 5 µs waits for a timer of %v", left)
	}
}
