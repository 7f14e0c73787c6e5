package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

const us = time.Microsecond

// world is a random history of ranks whose clocks are wrong in a way that the sweep is not told, but for bounds.
type world struct {
	ranks   []Ranked
	holds   []witnessed
	keys    int
	exact   bool // one clock
	samples map[int]Offsets
}

// witnessed is a hold with the truth, and with what the brute force makes of its bounds.
type witnessed struct {
	Hold
	rank                int
	trueFrom, trueTo    time.Duration
	host                [2]time.Duration // of From and To
	common              [2]span
	at, end, order      time.Duration
	certain, maybe, bad bool // bad: another client held the key in truth
}

func newWorld(rng *rand.Rand) *world {
	w := &world{keys: 1 + rng.IntN(2), exact: rng.IntN(4) == 0, samples: map[int]Offsets{}}
	ranks, hosts := 1+rng.IntN(4), 1+rng.IntN(3)
	if w.exact {
		hosts = 1
	}
	type clock struct {
		offset time.Duration
		drift  float64
	}
	clocks := make([]clock, hosts)
	for h := 1; h < hosts; h++ {
		clocks[h] = clock{time.Duration(rng.IntN(2_000_000)-1_000_000) * us, rng.Float64()*180e-6 - 90e-6}
	}
	common := func(h int, t time.Duration) time.Duration { // of the host's reading t
		return t + clocks[h].offset + time.Duration(clocks[h].drift*float64(t))
	}
	long := []time.Duration{20 * us, 200 * us, 100 * ms}[rng.IntN(3)]
	if w.exact && rng.IntN(2) == 0 {
		long = 8 // many touch, or begin at once
	}
	for r := range ranks {
		h := rng.IntN(hosts)
		zero := time.Duration(rng.IntN(100)) * 10 * us
		if r == 0 {
			h, zero = 0, 0
		}
		l := NewLogs(2, 1<<20)
		ranked := Ranked{Logs: l, Host: h, HostOffset: zero}
		for range rng.IntN(4) + 1 {
			if h == 0 {
				break
			}
			at := time.Duration(rng.IntN(20_000)-5_000) * 10 * us
			truth := common(h, at+zero) - at
			o := Offset{at, truth - 2 - time.Duration(rng.Int64N(int64(50*us))), truth + 2 + time.Duration(rng.Int64N(int64(50*us)))}
			ranked.Offsets = append(ranked.Offsets, o)
			w.samples[h] = append(w.samples[h], Offset{at + zero, o.Low - zero, o.High - zero})
		}
		w.ranks = append(w.ranks, ranked)
		for c := range 2 {
			shift := time.Duration(0) // the ranks' loads are at the same time
			if h > 0 {
				shift = -clocks[h].offset
			}
			now := shift - zero + 2*time.Second
			for range rng.IntN(6) {
				start := now + time.Duration(rng.Int64N(int64(long)))
				from := start + 1 + time.Duration(rng.Int64N(int64(long)))
				to := from
				if rng.IntN(4) > 0 {
					to += time.Duration(rng.Int64N(int64(long)))
				}
				x := witnessed{Hold: Hold{Key: rng.IntN(w.keys), Client: 10*r + c, Start: start, From: from, To: to}, rank: r}
				x.Crashed = rng.IntN(5) == 0
				if rng.IntN(3) > 0 {
					x.Fence = uint64(1 + rng.IntN(20))
				}
				l.Of(c).Add(&x.Hold)
				x.trueFrom, x.trueTo = common(h, from+zero), common(h, to+zero)
				w.holds = append(w.holds, x)
				now = to
			}
		}
	}
	return w
}

// spans works out the bounds from all samples there are.
func (w *world) spans(x *witnessed) {
	r := w.ranks[x.rank]
	for i, t := range []time.Duration{x.From, x.To} {
		at := t + r.HostOffset
		x.host[i], x.common[i] = at, span{at, at}
		for j, s := range w.samples[r.Host] {
			d := time.Duration((max(at-s.At, s.At-at) + 9999) / 10000)
			low, high := at+s.Low-d, at+s.High+d
			if j == 0 {
				x.common[i] = span{low, high}
			}
			x.common[i] = span{max(x.common[i].low, low), min(x.common[i].high, high)}
		}
	}
	mid := func(s span) time.Duration { return s.low + (s.high-s.low)/2 }
	x.at, x.end, x.order = mid(x.common[0]), mid(x.common[1]), x.host[0]
}

type recorded map[string]int

func (r recorded) add(m results.MetricIndex, d time.Duration) { r[fmt.Sprint(results.Metrics[m], d)]++ }

// brute finds by comparison of each hold with each other what Sweep finds. trueLongest and trueOverlap are the truth.
func (w *world) brute(from, until time.Duration, record recorded) (s Swept, truth int64, trueLongest, trueOverlap time.Duration) {
	all := w.holds
	for i := range all {
		w.spans(&all[i])
	}
	slices.SortStableFunc(all, func(a, b witnessed) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order), cmp.Compare(a.Client, b.Client))
	})
	pair := func(a, b *witnessed) (af, at, bf, bt span) {
		if w.ranks[a.rank].Host == w.ranks[b.rank].Host {
			point := func(t time.Duration) span { return span{t, t} }
			return point(a.host[0]), point(a.host[1]), point(b.host[0]), point(b.host[1])
		}
		return a.common[0], a.common[1], b.common[0], b.common[1]
	}
	var certain, real [][2]*witnessed
	for i := range all {
		b := &all[i]
		s.Holds++
		owned, regress := uint64(0), false
		var before *witnessed
		free, run := true, int64(1)
		moved := false
		for j := range all {
			a := &all[j]
			if a.Key != b.Key || i == j {
				continue
			}
			if j < i && a.rank == b.rank {
				owned = max(owned, a.Fence)
			}
			if j < i && (before == nil || a.end >= before.end) {
				before = a
			}
			af, at, bf, bt := pair(a, b)
			if j < i && af.high < bt.low && bf.high < at.low {
				b.certain = true
				certain = append(certain, [2]*witnessed{a, b})
				s.Longest = max(s.Longest, 1, min(a.To-a.From, b.To-b.From, at.low-bf.high, bt.low-af.high))
			}
			b.maybe = b.maybe || af.low < bf.high && bf.low < at.high
			if a.trueFrom < b.trueTo && b.trueFrom < a.trueTo {
				real = append(real, [2]*witnessed{a, b})
				trueLongest = max(trueLongest, min(a.trueTo, b.trueTo)-max(a.trueFrom, b.trueFrom))
			}
			earlier := a.trueFrom < b.trueFrom || a.trueFrom == b.trueFrom && j < i && a.trueFrom < b.trueTo
			b.bad = b.bad || earlier && b.trueFrom < a.trueTo
			if a.rank != b.rank && j < i && a.Fence > 0 && (a.Fence == b.Fence || a.Fence > b.Fence && af.high < bf.low) {
				regress = true
			}
		}
		if regress && b.Fence > owned {
			s.FenceRegress++
		}
		free = !b.Counted && !b.certain
		switch {
		case b.Counted:
		case b.certain:
			s.Violations++
		case b.maybe:
			s.Possible++
		}
		if b.bad && !b.Counted {
			truth++
		}
		for j := i - 1; j >= 0; j-- {
			if all[j].Key != b.Key {
				continue
			}
			if all[j].Client != b.Client {
				moved = run == 1
				break
			}
			run++
		}
		if b.at < from || b.at >= until {
			continue
		}
		s.LongestRun = max(s.LongestRun, run)
		if moved {
			s.Changes++
		}
		if before != nil && free {
			if start := b.Start + b.at - b.From; before.Crashed {
				record.add(results.RecoveryIndex, max(0, b.at-before.end))
			} else if before.end > start {
				record.add(results.HandoffIndex, max(0, b.at-before.end))
			}
		}
	}
	for key := range w.keys {
		s.Overlap += measure(certain, key, func(x *witnessed) span { return span{x.common[0].high, x.common[1].low} })
		trueOverlap += measure(real, key, func(x *witnessed) span { return span{x.trueFrom, x.trueTo} })
	}
	s.Overlap = max(s.Overlap, s.Longest)
	return s, truth, trueLongest, trueOverlap
}

// measure returns how long both holds of any pair were held.
func measure(pairs [][2]*witnessed, key int, of func(x *witnessed) span) (total time.Duration) {
	var all []span
	for _, p := range pairs {
		if a, b := of(p[0]), of(p[1]); p[0].Key == key {
			all = append(all, span{max(a.low, b.low), min(a.high, b.high)})
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.low, b.low) })
	end := time.Duration(-1 << 62)
	for _, s := range all {
		if begin := max(s.low, end); s.high > begin {
			total += s.high - begin
			end = s.high
		}
	}
	return total
}

// TestWitness compares the sweep with brute force and with the truth.
func TestWitness(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 6_000
	}
	var seen Swept
	var truths int64
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 7))
		w := newWorld(rng)
		got, want := recorded{}, recorded{}
		from := 2*time.Second + time.Duration(rng.IntN(2))*time.Duration(rng.Int64N(int64(ms)))
		until := from + time.Duration(rng.Int64N(int64(100*ms)))
		s, err := Sweep(w.ranks, w.keys, from, until, got.add)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		b, truth, trueLongest, trueOverlap := w.brute(from, until, want)
		if s.Holds != b.Holds || s.Violations != b.Violations || s.Possible != b.Possible ||
			s.FenceRegress != b.FenceRegress || s.Changes != b.Changes || s.LongestRun != b.LongestRun {
			t.Errorf("seed %d: sweep %+v\nbrute force %+v", seed, s, b)
		}
		if !maps.Equal(got, want) {
			t.Errorf("seed %d: recorded %v, want %v", seed, got, want)
		}
		if s.Longest > b.Longest || s.Overlap > b.Overlap || w.exact && (s.Longest != b.Longest || s.Overlap != b.Overlap) {
			t.Errorf("seed %d: longest %v, overlap %v; brute force %v, %v", seed, s.Longest, s.Overlap, b.Longest, b.Overlap)
		}
		if s.Violations > truth || truth > s.Violations+s.Possible || s.Longest > max(1, trueLongest+drift(trueLongest)+2) ||
			s.Overlap > max(1, trueOverlap+drift(trueOverlap)+2) {
			t.Errorf("seed %d: %d wrong grants, longest overlap %v, in all %v; sweep %+v", seed, truth, trueLongest, trueOverlap, s)
		}
		if w.exact && s.Possible > 0 {
			t.Errorf("seed %d: one clock, and %d are only possible", seed, s.Possible)
		}
		if len(s.Events) != int(s.Violations) || !slices.IsSortedFunc(s.Events, func(a, b results.Violation) int { return cmp.Compare(a.At, b.At) }) {
			t.Errorf("seed %d: %d events of %d", seed, len(s.Events), s.Violations)
		}
		seen.Holds += s.Holds
		seen.Violations += s.Violations
		seen.Possible += s.Possible
		seen.FenceRegress += s.FenceRegress
		seen.Changes += s.Changes
		truths += truth
		if t.Failed() {
			break
		}
	}
	t.Logf("%d wrong grants; %+v", truths, seen)
	if seen.Violations == 0 || seen.Possible == 0 || seen.FenceRegress == 0 || seen.Changes == 0 {
		t.Error("the histories show too little")
	}
}

// TestOneRank drives an oracle with the history of one rank: the sweep counts what it does.
func TestOneRank(t *testing.T) {
	const clients, keys = 6, 2
	for seed := range uint64(2_000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		type event struct {
			at    time.Duration
			enter bool
			hold  *Hold
		}
		var events []event
		var held []*Hold
		logs := NewLogs(clients, 1<<20)
		times := rng.Perm(5000) // no two events at once
		for c := range clients {
			all := times[c*60 : c*60+60]
			slices.Sort(all)
			step := 3 + 3*rng.IntN(3)
			for i := 0; i+2 < len(all); i += step {
				h := &Hold{Key: rng.IntN(keys), Client: c, Start: time.Duration(all[i]), From: time.Duration(all[i+1]), To: time.Duration(all[i+2])}
				h.Crashed = rng.IntN(4) == 0
				h.Fence = uint64(rng.IntN(1000))
				events = append(events, event{h.From, true, h}, event{h.To, false, h})
				held = append(held, h)
			}
		}
		slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		o, grants := New(keys), map[*Hold]Grant{}
		from, until := time.Duration(1000), time.Duration(4000)
		var want Swept
		recorded1, recorded2 := recorded{}, recorded{}
		for _, e := range events {
			h := e.hold
			if !e.enter {
				o.Exit(h.Key, h.Client, grants[h], h.To)
				continue
			}
			g := o.Enter(h.Key, h.Client, h.Fence, 0, h.From)
			g.Crashes, h.Counted = h.Crashed, g.Counted
			grants[h] = g
			if h.From < from || h.From >= until {
				continue
			}
			want.LongestRun = max(want.LongestRun, g.Run)
			if g.Moved {
				want.Changes++
			}
			if g.CrashedAt > 0 {
				recorded1.add(results.RecoveryIndex, h.From-g.CrashedAt)
			}
			if g.Handoff > h.Start {
				recorded1.add(results.HandoffIndex, h.From-g.Handoff)
			}
		}
		for _, h := range held {
			logs.Of(h.Client).Add(h)
		}
		s, err := Sweep([]Ranked{{Logs: logs}}, keys, from, until, recorded2.add)
		if err != nil || s.Changes != want.Changes || s.LongestRun != want.LongestRun || !maps.Equal(recorded1, recorded2) {
			t.Fatalf("seed %d: %v: swept %+v %v\noracle %+v %v", seed, err, s, recorded2, want, recorded1)
		}
		if s.Violations+s.Possible+s.FenceRegress != 0 {
			t.Fatalf("seed %d: counted what the rank's own oracle counts: %+v", seed, s)
		}
	}
}

// TestSameAsOracle gives each client of a history a rank of its own, of one clock: the sweep counts what one oracle does of all.
func TestSameAsOracle(t *testing.T) {
	const clients = 5
	for seed := range uint64(2_000) {
		rng := rand.New(rand.NewPCG(seed, 4))
		times := rng.Perm(5000)
		o := New(1)
		ranks := make([]Ranked, clients)
		var steps []step
		for c := range clients {
			zero := time.Duration(rng.IntN(1000))
			ranks[c] = Ranked{Logs: NewLogs(1, 1<<20), HostOffset: zero}
			all := times[c*20 : c*20+20]
			slices.Sort(all)
			for i := 0; i+1 < len(all); i += 2 {
				h := Hold{Client: c, From: 1000 + time.Duration(all[i]) - zero, To: 1000 + time.Duration(all[i+1]) - zero}
				h.Start = h.From
				ranks[c].Logs.Of(0).Add(&h)
				steps = append(steps, in(c, h.From+zero), out(c, h.To+zero, false))
			}
		}
		slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
		grants := map[int]Grant{}
		for _, s := range steps {
			if !s.enter {
				o.Exit(0, s.client, grants[s.client], s.at)
				continue
			}
			grants[s.client] = o.Enter(0, s.client, 0, 0, s.at)
		}
		want := o.Report()
		s, err := Sweep(ranks, 1, 0, 1<<40, recorded{}.add)
		if err != nil || s.Violations != want.Violations || s.Possible != 0 || s.Longest != want.Longest ||
			s.Overlap != want.Overlap {
			t.Fatalf("seed %d: %v: swept %+v\noracle %+v", seed, err, s, want)
		}
		for i, e := range want.Events {
			if got := s.Events[i]; got.At != e.At || got.Intruder != e.Intruder || got.Overlap != e.Overlap {
				t.Fatalf("seed %d: event %+v, want %+v", seed, got, e)
			}
		}
	}
}

// TestFencesAcrossRanks knows the order of fences from clocks, or from equal ones without.
func TestFencesAcrossRanks(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fences [4]uint64 // of grants 1 ms apart, to ranks 0, 1, 0, 1
		width  time.Duration
		want   int64
	}{
		{"in order", [4]uint64{1, 2, 3, 4}, 0, 0},
		{"back", [4]uint64{1, 5, 3, 6}, 0, 1},
		{"back, perhaps", [4]uint64{1, 5, 3, 6}, 10 * ms, 0},
		{"back for certain", [4]uint64{7, 2, 8, 3}, 2 * ms, 1},
		{"twice, whatever the clocks", [4]uint64{1, 2, 2, 4}, 10 * ms, 1},
		{"none", [4]uint64{5, 0, 0, 6}, 0, 0},
		{"its own rank has seen it", [4]uint64{5, 6, 5, 7}, 0, 0},
	} {
		ranks := []Ranked{{Logs: NewLogs(1, 1<<20)}, {Logs: NewLogs(1, 1<<20), Host: 1, Offsets: Offsets{{Low: -tc.width / 2, High: tc.width / 2}}}}
		for i, f := range tc.fences {
			at := time.Duration(i+1) * ms
			ranks[i%2].Logs.Of(0).Add(&Hold{Client: i % 2, Start: at, From: at, To: at, Fence: f})
		}
		s, err := Sweep(ranks, 1, 0, 1<<40, recorded{}.add)
		if err != nil || s.FenceRegress != tc.want {
			t.Errorf("%s: %v, %d fences are not above an earlier one, want %d", tc.name, err, s.FenceRegress, tc.want)
		}
	}
}

// TestOffsets compares the bounds with those that all samples set together.
func TestOffsets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var all Offsets
		for range 1 + rng.IntN(6) {
			width := time.Duration(rng.IntN(1 << rng.IntN(30)))
			all = append(all, Offset{time.Duration(rng.IntN(200_000)-100_000) * 10 * us, 5 - width, 5 + width})
		}
		tight := all.Tight()
		for range 20 {
			at := time.Duration(rng.IntN(4_000_000_000) - 2_000_000_000)
			low, high := time.Duration(-1<<62), time.Duration(1<<62)
			for _, s := range all {
				d := (max(at-s.At, s.At-at) + 9999) / 10000
				low, high = max(low, s.Low-d), min(high, s.High+d)
			}
			if l, h := tight.At(at); l != low || h != high {
				t.Fatalf("%v at %v: %v to %v, want %v to %v", all, at, l, h, low, high)
			}
			if most := tight.Widest(-2*time.Second, 2*time.Second); most < high-low {
				t.Fatalf("%v: %v apart at %v, at most %v", all, high-low, at, most)
			}
		}
	}
}

// TestSweepErrors: what cannot be is an error.
func TestSweepErrors(t *testing.T) {
	one := func(h Hold) Ranked {
		l := NewLogs(1, 1<<20)
		l.Of(0).Add(&h)
		return Ranked{Logs: l}
	}
	good := one(Hold{From: 1, To: 2})
	other, two, odd := good, good, good
	other.Host = 1
	two.Offsets = Offsets{{0, 0, 10}, {ms, 200, 300}} // 190 ns in 1 ms
	odd.HostOffset = 1 << 60
	for name, ranks := range map[string][]Ranked{
		"a key that is none":      {one(Hold{Key: 9, From: 1, To: 2})},
		"it ends before":          {one(Hold{From: 2, To: 1})},
		"two common clocks":       {good, other},
		"samples contradict":      {good, {Logs: good.Logs, Host: 1, Offsets: two.Offsets}},
		"an offset out of bounds": {odd},
		"a sample out of bounds":  {good, {Logs: good.Logs, Host: 1, Offsets: Offsets{{At: 1 << 60}}}},
	} {
		if _, err := Sweep(ranks, 1, 0, 1<<40, recorded{}.add); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
	}
	if _, err := Sweep([]Ranked{good}, 1, 0, 1<<40, recorded{}.add); err != nil {
		t.Error(err)
	}
}

// TestBlind is the sum of the two widest bounds, and keys are swept in several groups.
func TestBlind(t *testing.T) {
	const keys = 2*groupKeys + 1
	ranks := make([]Ranked, 3)
	for i := range ranks {
		ranks[i] = Ranked{Logs: NewLogs(1, 1<<20), Host: i}
		if i > 0 {
			ranks[i].Offsets = Offsets{{Low: -10 * us, High: time.Duration(i) * 10 * us}}
		}
		for n, key := range []int{0, groupKeys - 1, groupKeys, keys - 1} {
			from := time.Duration(n+1) * 100 * us
			ranks[i].Logs.Of(0).Add(&Hold{Key: key, Client: i, Start: from, From: from, To: from + 40*us})
		}
	}
	s, err := Sweep(ranks, keys, 0, 1<<40, recorded{}.add)
	if want := 50*us + 4*drift(440*us); err != nil || s.Blind != want || s.Holds != 12 || s.Violations != 8 || s.Possible != 4 {
		t.Errorf("%v, %+v; want a blind %v, two grants of each key wrong for certain, and the first perhaps", err, s, want)
	}
}
