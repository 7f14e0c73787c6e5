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
		w, set := newWaker(newLateness()), map[int64]bool{}
		w.dead = true
		for range 50 {
			slot := from + rng.Int64N(slots)
			w.wakeAt(startOf(slot-1) - grace)
			set[slot] = true
		}
		for slot := range set {
			if rng.IntN(4) == 0 {
				w.cancel(slot)
				delete(set, slot)
			}
		}
		for at := from; len(set) > 0; at++ {
			next, found := w.next(at)
			if !found || !set[next] {
				t.Fatalf("from %d: found %d, %t; want one of %v", at, next, found, set)
			}
			for slot := range set {
				if slot < next {
					t.Fatalf("from %d: found %d, but %d is sooner", at, next, slot)
				}
			}
			if w.clear(at, next-1) || !w.clear(next, next) {
				t.Fatalf("from %d: the slots that are set are not those cleared", at)
			}
			delete(set, next)
			at = next
		}
		if next, found := w.next(from); found {
			t.Errorf("%d is still set", next)
		}
	}
}

// The timerfd expires without any timer, also at an earlier time requested later. Slots that have passed are cleared.
func TestWakerExpires(t *testing.T) {
	w := newWaker(newLateness())
	late := w.wakeAt(now() + 40*time.Millisecond)
	soon := w.wakeAt(now() + 5*time.Millisecond)
	isSet := func(slot int64) bool { return w.word(slot).Load()&(1<<(slot%64)) != 0 }
	tick := Timer{timer: time.NewTimer(time.Hour)}
	for isSet(soon) {
		tick.Doze(time.Millisecond, nil, nil)
	}
	lateExpired := !isSet(late)
	if at := slotOf(now()); at < soon || lateExpired && at < late {
		t.Errorf("at slot %d the waker has expired for %d, and %t for %d", at, soon, lateExpired, late)
	}
	for isSet(late) {
		tick.Doze(time.Millisecond, nil, nil)
	}
}

// Without a timerfd, the runtime's timers are used.
func TestNoTimerfd(t *testing.T) {
	w := newWaker(newLateness())
	w.dead = true
	w.wakeAt(now())
	if w.file != nil {
		t.Error("a waker without a timerfd was started")
	}
	if !Exact() {
		t.Error("on Linux the system's clock is not known as such")
	}
}
