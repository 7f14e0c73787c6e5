package oracle

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// delayed is a hold of a client that may lose its processor between the reading of its clock and Enter, or Exit.
type delayed struct {
	Hold
	enter, exit time.Duration
	rank        int
	grant       Grant
}

// witness plays the holds of a key to the oracles of their ranks. It returns how many grants those have counted, and
// how many the sweep counts besides. The clients log what those of workloads do, who read the clock again if they met
// others.
func witness(t *testing.T, ranks int, holds []*delayed) (own, swept int64) {
	t.Helper()
	type event struct {
		at   time.Duration
		hold *delayed
	}
	var events []event
	oracles, all := make([]*Oracle, ranks), make([]Ranked, ranks)
	for r := range ranks {
		oracles[r], all[r].Logs = New(1), NewLogs(20, 1<<20)
	}
	for _, h := range holds {
		events = append(events, event{h.enter, h}, event{h.exit, h})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		h := e.hold
		o := oracles[h.rank]
		if e.at == h.enter && h.grant.word == 0 {
			if h.grant = o.Enter(0, h.Client, 0, 0, h.From); h.grant.Counted {
				h.Counted, h.To = true, max(h.To, e.at)
			}
		} else if !o.Exit(0, h.Client, h.grant, h.To) {
			h.To = max(h.To, e.at)
		}
	}
	for _, h := range holds { // in the order of each client's
		all[h.rank].Logs.Of(h.Client).Add(&h.Hold)
	}
	times := int64(0)
	s, err := Sweep(all, 1, 0, time.Second, recorded{}.add, func(time.Duration) { times++ })
	if err != nil || times != s.Violations || len(s.Events) != int(min(MaxEvents, times)) {
		t.Fatalf("%v: %d times, %d events of %d violations", err, times, len(s.Events), s.Violations)
	}
	for _, o := range oracles {
		own += o.Report().Violations
	}
	return own, s.Violations
}

// TestCountedByBoth has grants that the oracle of their rank and the sweep see, each in an order of its own.
func TestCountedByBoth(t *testing.T) {
	hold := func(rank, client int, from, enter, to, exit time.Duration) *delayed {
		h := Hold{Client: client, Start: from * ms, From: from * ms, To: to * ms}
		return &delayed{Hold: h, enter: enter * ms, exit: exit * ms, rank: rank}
	}
	for _, tc := range []struct {
		name  string
		holds []*delayed
		want  int64
	}{
		{"it leaves late", []*delayed{
			hold(0, 0, 1, 1, 10, 15), hold(0, 1, 11, 11, 20, 20), hold(1, 2, 5, 5, 30, 30),
		}, 2},
		{"and another rank comes in between", []*delayed{
			hold(0, 0, 1, 1, 10, 15), hold(0, 1, 12, 12, 20, 20), hold(1, 2, 11, 11, 30, 30),
		}, 2},
		{"it enters when the first has left", []*delayed{
			hold(0, 0, 1, 1, 10, 10), hold(0, 1, 9, 11, 20, 20), hold(1, 2, 5, 5, 30, 30),
		}, 2},
		{"alone", []*delayed{
			hold(0, 0, 1, 1, 10, 10), hold(0, 1, 9, 11, 20, 20),
		}, 1},
		{"it enters second and was first", []*delayed{
			hold(0, 0, 9, 11, 20, 20), hold(0, 1, 10, 10, 21, 21), hold(1, 2, 9, 9, 30, 30),
		}, 2},
		{"alone, second and first", []*delayed{
			hold(0, 0, 9, 11, 20, 20), hold(0, 1, 10, 10, 21, 21),
		}, 1},
		{"a hold of no time", []*delayed{
			hold(0, 0, 9, 11, 9, 11), hold(0, 1, 10, 10, 21, 21), hold(1, 2, 8, 8, 30, 30),
		}, 2},
	} {
		if own, swept := witness(t, 2, tc.holds); own+swept != tc.want {
			t.Errorf("%s: %d violations by oracles and %d by the sweep, want %d", tc.name, own, swept, tc.want)
		}
	}
}

// TestEachOnce: whatever the delays, all grants are counted but those that begin a time in which the key is held.
func TestEachOnce(t *testing.T) {
	const clients, rounds = 6, 5
	late := int64(0)
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		times := rng.Perm(1000)
		ranks := 1 + rng.IntN(3)
		var holds []*delayed
		for c := range clients {
			all := times[c*4*rounds:][:4*rounds]
			slices.Sort(all)
			for i := 0; i < len(all); i += 4 {
				at := func(n int) time.Duration { return time.Duration(all[i+n]) }
				h := &delayed{enter: at(1), exit: at(3), rank: c % ranks}
				h.Client, h.Start, h.From, h.To = c, at(0), at(0), at(2)
				if rng.IntN(2) == 0 {
					h.enter, h.exit = h.From, h.To
				} else if rng.IntN(3) == 0 {
					h.To = h.From
				}
				holds = append(holds, h)
			}
		}
		own, swept := witness(t, ranks, holds)
		slices.SortFunc(holds, func(a, b *delayed) int { return cmp.Compare(a.From, b.From) })
		want, end := int64(0), time.Duration(-1)
		for _, h := range holds {
			if h.From < end {
				want++
			}
			end = max(end, h.To)
		}
		if own+swept != want {
			t.Fatalf("seed %d: %d violations by oracles and %d by the sweep, want %d", seed, own, swept, want)
		}
		if ranks == 1 {
			late += swept
		}
	}
	if late == 0 {
		t.Error("the oracle of one rank has seen all: nobody was late")
	}
}

// TestTimesOfEvents: those of hosts whose clocks are not known exactly are not before the start, and all are in order.
func TestTimesOfEvents(t *testing.T) {
	log := func(client int, from time.Duration) *Logs {
		l := NewLogs(1, 1<<20)
		l.Of(0).Add(&Hold{Client: client, From: from, To: 50 * ms})
		return l
	}
	// Rank 1 was told to begin by the middle of a round trip of 4 ms. A later ping knows more.
	offsets := Offsets{{At: -20 * ms, Low: -2 * ms, High: 2 * ms}, {At: 500 * ms, Low: -2 * ms, High: -ms}}
	s, err := Sweep([]Ranked{
		{Logs: log(0, 0)}, {Logs: log(1, 1200*us), Host: 1, Offsets: offsets},
		{Logs: log(2, 1300*us), Host: 1, Offsets: offsets},
	}, 1, 0, time.Second, recorded{}.add, func(at time.Duration) {
		if at < 0 {
			t.Errorf("a violation at %v", at)
		}
	})
	if err != nil || len(s.Events) != 2 || s.Events[0].At != 0 {
		t.Errorf("%v: %+v", err, s.Events)
	}
}
