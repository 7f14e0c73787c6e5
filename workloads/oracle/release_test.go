package oracle

import (
	"slices"
	"testing"
	"time"
)

// TestSuperseded asks, before the release of client 1, which is granted the key at 10 ms, whether another client was
// granted it since.
func TestSuperseded(t *testing.T) {
	for _, tc := range []struct {
		name  string
		asked time.Duration // by client 2, which is granted the key at 20 ms
		want  bool
	}{
		{"asked later", 11 * ms, true},
		{"asked at the same time, so that the order is unknown", 10 * ms, false},
		{"asked before: its grant was late", 5 * ms, false},
	} {
		o := New(2)
		g := o.Enter(0, 1, 0, 9*ms, 10*ms)
		if _, yes := o.Superseded(0, 10*ms); yes {
			t.Errorf("%s: superseded by nobody", tc.name)
		}
		late := o.Enter(0, 2, 0, tc.asked, 20*ms)
		if o.Exit(0, 1, g, 30*ms) {
			t.Errorf("%s: exclusive", tc.name)
		}
		if at, got := o.Superseded(0, 10*ms); got != tc.want || got && at != 20*ms {
			t.Errorf("%s: superseded %v, at %v; want %v, at 20 ms", tc.name, got, at, tc.want)
		}
		if _, yes := o.Superseded(1, 0); yes {
			t.Errorf("%s: another key is superseded", tc.name)
		}
		o.Exit(0, 2, late, 40*ms)
		g = o.Enter(0, 1, 0, 49*ms, 50*ms)
		if _, yes := o.Superseded(0, 50*ms); yes {
			t.Errorf("%s: the next hold is superseded by what came before it", tc.name)
		}
		o.Exit(0, 1, g, 60*ms)
	}
}

// TestAttributed matches losses with the releases that explain them, whichever is heard of first.
func TestAttributed(t *testing.T) {
	// Client 1 has the key from 10 ms on, and its release is under way from 30 to 40 ms.
	r := removal{client: 1, granted: 10 * ms, sent: 30 * ms, answered: 40 * ms}
	for _, tc := range []struct {
		name string
		l    loss
		want int64
	}{
		{"asked while it was under way", loss{client: 2, asked: 35 * ms, gone: 50 * ms}, 1},
		{"asked before it was sent", loss{client: 2, asked: 20 * ms, gone: 50 * ms}, 1},
		{"gone before it was answered", loss{client: 2, asked: 35 * ms, gone: 38 * ms}, 1},
		{"its own", loss{client: 1, asked: 35 * ms, gone: 50 * ms}, 0},
		{"asked when it was over", loss{client: 2, asked: 40 * ms, gone: 50 * ms}, 0},
		{"gone before it was sent", loss{client: 2, asked: 20 * ms, gone: 30 * ms}, 0},
		{"asked before the grant: perhaps lost to it", loss{client: 2, asked: 5 * ms, gone: 50 * ms}, 0},
		{"asked at the time of the grant, so that the order is unknown", loss{client: 2, asked: 10 * ms, gone: 50 * ms}, 0},
	} {
		for _, lossFirst := range []bool{false, true} {
			o := New(2)
			steps := []func(){
				func() { o.Removed(0, r.client, r.granted, r.sent, r.answered, false) },
				func() { o.Lost(0, tc.l.client, tc.l.asked, tc.l.gone) },
			}
			if lossFirst {
				slices.Reverse(steps)
			}
			o.Lost(1, 2, 35*ms, 50*ms) // of another key
			for _, step := range steps {
				step()
			}
			if got := o.Attributed(); got != tc.want {
				t.Errorf("%s, loss first %v: %d attributed, want %d", tc.name, lossFirst, got, tc.want)
			}
		}
	}
}

// TestAttributedOnce: a release removes one lock, and a lock is lost once.
func TestAttributedOnce(t *testing.T) {
	o := New(1)
	o.Removed(0, 1, 10*ms, 30*ms, 40*ms, false)
	o.Lost(0, 2, 35*ms, 50*ms)
	o.Lost(0, 3, 35*ms, 50*ms)
	if got := o.Attributed(); got != 1 {
		t.Errorf("%d of two losses attributed to one release", got)
	}
	o.Removed(0, 4, 10*ms, 30*ms, 40*ms, false)
	o.Removed(0, 5, 10*ms, 30*ms, 40*ms, false)
	if got := o.Attributed(); got != 2 {
		t.Errorf("%d losses attributed to three releases, want the two that there are", got)
	}
}

// TestWrongOnce: a release that is known to be wrong explains a loss rather than another one does, and is not counted again.
func TestWrongOnce(t *testing.T) {
	o := New(1)
	o.Removed(0, 1, 10*ms, 30*ms, 40*ms, false)
	o.Removed(0, 2, 11*ms, 31*ms, 41*ms, true)
	o.Lost(0, 3, 35*ms, 50*ms)
	if wrong := o.Report().WrongReleases; wrong != 1 || o.Attributed() != 0 {
		t.Errorf("%d wrong releases, %d attributed; want the one", wrong, o.Attributed())
	}
	if o.Lost(0, 4, 35*ms, 50*ms); o.Attributed() != 1 {
		t.Error("the other release explains no other loss")
	}
	o.Lost(0, 5, 35*ms, 50*ms)
	if o.Removed(0, 6, 10*ms, 30*ms, 40*ms, true); o.Report().WrongReleases != 2 || o.Attributed() != 1 {
		t.Errorf("%d wrong releases, %d attributed; want 2 and 1", o.Report().WrongReleases, o.Attributed())
	}
}

// TestSupersededByTheFirst tells of the first of several.
func TestSupersededByTheFirst(t *testing.T) {
	o := New(1)
	grants := map[int]Grant{}
	for i, at := range []time.Duration{10 * ms, 20 * ms, 30 * ms} {
		grants[i] = o.Enter(0, i, 0, at-1, at)
	}
	for i, want := range []time.Duration{20 * ms, 30 * ms, 0} {
		o.Exit(0, i, grants[i], 40*ms)
		if at, yes := o.Superseded(0, time.Duration(i+1)*10*ms); at != want || yes != (want > 0) {
			t.Errorf("client %d: superseded %v, at %v; want %v", i, yes, at, want)
		}
	}
}

// TestUnmatchedAreBounded: evidence without a counterpart makes room for what comes later.
func TestUnmatchedAreBounded(t *testing.T) {
	o := New(1)
	for i := range 10 * maxEvidence {
		at := time.Duration(i) * time.Second
		o.Removed(0, 1, at, at+1, at+2, false)
		o.Lost(0, 2, at+3, at+4)
	}
	if u := o.evidence[0]; len(u.removals) != maxEvidence || len(u.losses) != maxEvidence || o.Attributed() != 0 {
		t.Errorf("%d removals and %d losses are kept, %d were matched", len(u.removals), len(u.losses), o.Attributed())
	}
	last := time.Duration(10*maxEvidence-1) * time.Second
	if o.Lost(0, 2, last+1, last+3); o.Attributed() != 1 {
		t.Error("the last removal is not kept")
	}
}
