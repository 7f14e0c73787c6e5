package alarm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// sleeps simulates n sleeps of d with timers that are late by what late draws, and returns the median excess of the
// sleeps and the average time that they spun.
func (l *lateness) sleeps(n int, d time.Duration, late func() time.Duration) (overlong []time.Duration, spun time.Duration) {
	for range n {
		left := l.until(d)
		over := -d // it only spins
		if left > 0 {
			by := late()
			l.looked.Store(looking) // do not look at the real queues
			l.record(0, by)
			over = left + by - d
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
func TestLatenessIsLearned(t *testing.T) {
	for _, late := range []time.Duration{0, 8, 25, 80} {
		l := newLateness()
		draw := func() time.Duration { return late*time.Microsecond + rand.N(4*time.Microsecond) }
		l.sleeps(500, time.Millisecond, draw)
		over, spun := l.sleeps(2000, time.Millisecond, draw)
		if s := share(over, 2*time.Microsecond); s < 0.6 {
			t.Errorf("late by %d to %d µs: only %.0f %% of the sleeps end within 2 µs", late, late+4, 100*s)
		}
		if spun > 4*time.Microsecond {
			t.Errorf("late by %d to %d µs: spins for %v on average", late, late+4, spun)
		}
	}
}

// However much the lateness scatters, the time spun stays small.
func TestLatenessSpinsLittle(t *testing.T) {
	for _, width := range []time.Duration{10, 50, 200, 1000} {
		l := newLateness()
		draw := func() time.Duration { return rand.N(width * time.Microsecond) }
		l.sleeps(1000, 2*time.Millisecond, draw)
		if _, spun := l.sleeps(20_000, 2*time.Millisecond, draw); spun > later*sooner {
			t.Errorf("late by up to %d µs: spins for %v on average, more than %v", width, spun, later*sooner)
		}
	}
}

// A sleep that is shorter than timers are late only spins, but is still measured now and then, to notice when they are
// no longer late.
func TestLatenessExplores(t *testing.T) {
	l := newLateness()
	const d = 50 * time.Microsecond
	late := func() time.Duration { return 60 * time.Microsecond }
	l.sleeps(1000, time.Millisecond, late)
	if over, _ := l.sleeps(160, d, late); share(over, 0) < 0.9 {
		t.Errorf("only %.0f %% of the short sleeps end on time", 100*share(over, 0))
	}
	l.sleeps(20_000, d, func() time.Duration { return 2 * time.Microsecond })
	if left := l.until(d); left < 40*time.Microsecond {
		t.Errorf("sets the timer to %v of 50 µs, though it is late by 2 µs", left)
	}
}

// No goroutine spins while others wait for a processor.
func TestNoSpinInACrowd(t *testing.T) {
	l := newLateness()
	for range 100 {
		l.recordQueue(true)
	}
	for _, d := range []time.Duration{5 * time.Microsecond, 50 * time.Microsecond, time.Millisecond} {
		if left := l.until(d); left != d {
			t.Errorf("in a crowd the timer of a sleep of %v is set to %v", d, left)
		}
	}
	for range 100 {
		l.recordQueue(false)
	}
	if left := l.until(5 * time.Microsecond); left != 0 {
		t.Errorf("without a crowd a sleep of 5 µs waits for a timer of %v", left)
	}
}
