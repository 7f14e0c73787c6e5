package oracle

import "testing"

// TestWatched: a refusal is watched while somebody else holds the key, and makes the hold watched once.
func TestWatched(t *testing.T) {
	o := New(2)
	refused := func(me int, watched, first bool) {
		t.Helper()
		if holder, w, f := o.Refused(0, me); w != watched || f != first || w && holder != 7 {
			t.Errorf("refusal of client %d: by the hold of %d, watched %v, first %v; want 7, %v, %v", me, holder, w, f, watched, first)
		}
	}
	refused(1, false, false) // nobody holds it
	other := o.Enter(1, 7, 0, 0, 0)
	refused(1, false, false) // but another key
	for range 2 {
		g := o.Enter(0, 7, 0, 0, 0)
		if o.Watched(0, &g) {
			t.Error("a new hold is watched")
		}
		refused(7, false, false) // its own
		refused(1, true, true)
		refused(2, true, false)
		refused(1, true, false)
		if !o.Watched(0, &g) || o.Watched(1, &other) {
			t.Error("the refusal was not noted, or another key's")
		}
		o.Exit(0, 7, g, 0)
		refused(1, false, false)
	}
}

// TestIntrusionWatches: a hold that was intruded upon could be seen to be.
func TestIntrusionWatches(t *testing.T) {
	o := New(1)
	first := o.Enter(0, 1, 0, 0, 0)
	second := o.Enter(0, 2, 0, 0, 0) // upon the first
	third := o.Enter(0, 3, 0, 0, 0)  // upon both, and the second is the one that was granted last
	if got := o.Report().Power.Watched; got != 2 || !o.Watched(0, &second) || o.Watched(0, &third) {
		t.Errorf("%d watched, want the two that were intruded upon", got)
	}
	o.Exit(0, 1, first, 0)
	o.Exit(0, 2, second, 0)
	o.Exit(0, 3, third, 0)
}

// TestDue spaces sampled holds.
func TestDue(t *testing.T) {
	o := New(2)
	if !o.Due(0, 0) {
		t.Error("the first hold is not due")
	}
	o.Resume(0, 5*ms)
	if o.Due(0, 5*ms-1) || !o.Due(0, 5*ms) || !o.Due(1, 0) {
		t.Error("the time is not kept, or another key's")
	}
}

// TestStaleWatch: who read the word before the key moved on makes no hold watched a second time, nor the later one watched
// anew, also where the sequence number begins again.
func TestStaleWatch(t *testing.T) {
	for _, seq := range []uint64{1, 1<<seqBits - 1} {
		c := cell{}
		c.watched.Store(int64(seq) - 1)
		word := seq << seqShift
		later := next(word, 1)
		for i, w := range []uint64{word, later, word, later} {
			if first := c.watch(w); first != (i < 2) {
				t.Errorf("from %d on, step %d: first %v", seq, i, first)
			}
		}
	}
}
