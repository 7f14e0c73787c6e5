package alarm

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The slots that are set are found in order and cleared, also around the end of the ring; compared with a plain map.
func TestSlots(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, from := range []int64{0, 63, slots - 100, 5*slots - 1} {
		b, set := newBell(newAim()), map[int64]bool{}
		b.dead = true
		for range 50 {
			slot := from + rng.Int64N(slots)
			b.ringAt(startOf(slot-1) - grace)
			set[slot] = true
		}
		for slot := range set {
			if rng.IntN(4) == 0 {
				b.forget(slot)
				delete(set, slot)
			}
		}
		for at := from; len(set) > 0; at++ {
			next, found := b.next(at)
			if !found || !set[next] {
				t.Fatalf("from %d: found %d, %t; want one of %v", at, next, found, set)
			}
			for slot := range set {
				if slot < next {
					t.Fatalf("from %d: found %d, but %d is sooner", at, next, slot)
				}
			}
			if b.clear(at, next-1) || !b.clear(next, next) {
				t.Fatalf("from %d: the slots that are set are not those cleared", at)
			}
			delete(set, next)
			at = next
		}
		if next, found := b.next(from); found {
			t.Errorf("%d is still set", next)
		}
	}
}

// The bell rings without any timer, also at an earlier time requested later. It clears the slots that it has rung for.
func TestBellRings(t *testing.T) {
	b := newBell(newAim())
	late := b.ringAt(now() + 40*time.Millisecond)
	soon := b.ringAt(now() + 5*time.Millisecond)
	isSet := func(slot int64) bool { return b.word(slot).Load()&(1<<(slot%64)) != 0 }
	tick := Timer{timer: time.NewTimer(time.Hour)}
	for isSet(soon) {
		tick.Doze(time.Millisecond, nil, nil)
	}
	lateRung := !isSet(late)
	if at := slotOf(now()); at < soon || lateRung && at < late {
		t.Errorf("at slot %d the bell has rung for %d, and %t for %d", at, soon, lateRung, late)
	}
	for isSet(late) {
		tick.Doze(time.Millisecond, nil, nil)
	}
}

// Without a timerfd, the runtime's timers are used.
func TestNoBell(t *testing.T) {
	b := newBell(newAim())
	b.dead = true
	b.ringAt(now())
	if b.file != nil {
		t.Error("a bell that cannot ring was started")
	}
	if !Rings() {
		t.Error("on Linux the system's clock is not known as such")
	}
}
