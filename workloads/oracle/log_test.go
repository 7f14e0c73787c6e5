package oracle

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// fill adds n random holds of the clients to logs, and returns those of each client.
func fill(rng *rand.Rand, l *Logs, clients, n int) [][]Hold {
	all := make([][]Hold, clients)
	now := make([]time.Duration, clients)
	for range n {
		c := rng.IntN(clients)
		h := Hold{Key: rng.IntN(1 << rng.IntN(20)), Client: 100 + c, Start: now[c] + time.Duration(rng.Int64N(1<<rng.IntN(40)))}
		h.From = h.Start + time.Duration(rng.Int64N(1<<rng.IntN(40)))
		h.To = h.From + time.Duration(rng.IntN(2)*rng.IntN(1<<rng.IntN(30)))
		if rng.IntN(2) == 0 {
			h.Fence = rng.Uint64() >> rng.IntN(64)
		}
		h.Crashed = rng.IntN(4) == 0
		h.Counted = rng.IntN(4) == 0
		now[c] = h.To
		l.Of(c).Add(&h)
		all[c] = append(all[c], h)
	}
	return all
}

// read returns what a log has.
func (l *Log) read(t *testing.T) (all []Hold) {
	t.Helper()
	var d delta
	for _, b := range l.all() {
		for in := (input{b: b}); len(in.b) > 0; {
			h := Hold{Client: l.client}
			if d.next(&in, &h); in.bad {
				t.Fatal("damaged")
			}
			all = append(all, h)
		}
	}
	return all
}

// encode returns what Encode writes.
func encode(t testing.TB, l *Logs) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := l.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(b []byte, clients int, limit int64) (*Logs, error) {
	return DecodeLogs(bytes.NewReader(b), clients, limit)
}

func TestLogs(t *testing.T) {
	const clients = 5
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 1000, 200_000} {
		l := NewLogs(clients, 1<<30)
		want := fill(rng, l, clients-1, n) // the last client has no hold
		sent := encode(t, l)
		got, err := decode(sent, clients, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for c := range clients - 1 {
			if !slices.Equal(l.Of(c).read(t), want[c]) || !slices.Equal(got.Of(c).read(t), want[c]) {
				t.Errorf("the log of client %d differs", c)
			}
		}
		if l.Holds() != int64(n) || got.Holds() != int64(n) || got.Complete() != math.MaxInt64 {
			t.Errorf("%d and %d holds of %d, complete to %v", l.Holds(), got.Holds(), n, got.Complete())
		}
		const head = 11
		for len(sent) > head && rng.IntN(20) > 0 {
			from := head + rng.IntN(len(sent)-head)
			to := from + 1 + rng.IntN(min(len(sent)-from, 10_000))
			if got, err := decode(slices.Concat(sent[:from], sent[to:]), clients, 1<<30); err == nil {
				t.Errorf("of %d bytes those from %d to %d may be missing: %d holds of %d", len(sent), from, to, got.Holds(), n)
			}
		}
		if _, err := decode(append(sent[:len(sent):len(sent)], 0), clients, 1<<30); err == nil {
			t.Error("more may follow")
		}
		if _, err := decode(sent, clients+1, 1<<30); err == nil {
			t.Error("the number of clients may differ")
		}
		if _, err := decode(sent, clients, int64(n)); err == nil && n > 0 {
			t.Error("the limit may be passed")
		}
	}
}

// TestLimit reaches the limit of the logs: what came before is complete.
func TestLimit(t *testing.T) {
	const clients = 7
	for _, limit := range []int64{0, 300, 5_000, 100_000} {
		l := NewLogs(clients, limit)
		want := fill(rand.New(rand.NewPCG(3, uint64(limit))), l, clients, 50_000)
		got, err := decode(encode(t, l), clients, limit)
		if err != nil {
			t.Fatal(err)
		}
		complete := l.Complete()
		if complete == math.MaxInt64 || got.Complete() != complete {
			t.Errorf("limit %d: complete to %v, decoded %v", limit, complete, got.Complete())
		}
		size, first := 0, time.Duration(math.MaxInt64)
		for c := range clients {
			log := l.Of(c).read(t)
			if !slices.Equal(log, want[c][:len(log)]) {
				t.Errorf("limit %d: the log of client %d is not the beginning", limit, c)
			}
			if len(log) < len(want[c]) {
				first = min(first, want[c][len(log)].From)
			}
			for _, b := range l.Of(c).all() {
				size += cap(b)
			}
		}
		if first != complete || int64(size) > limit {
			t.Errorf("limit %d: complete to %v, want %v; %d bytes", limit, complete, first, size)
		}
		// The sweep leaves out what came later.
		swept, err := Sweep([]Ranked{{Logs: l}}, 1<<20, 0, 1<<50, func(results.MetricIndex, time.Duration) {})
		n := int64(0)
		for _, holds := range want {
			for _, h := range holds {
				if h.From < complete {
					n++
				}
			}
		}
		if err != nil || swept.Until != complete || swept.Holds != n {
			t.Errorf("limit %d: swept %d holds until %v, %v; want %d until %v", limit, swept.Holds, swept.Until, err, n, complete)
		}
	}
}

// TestFullLogs: rank 0 takes what a rank had room for.
func TestFullLogs(t *testing.T) {
	for limit := range int64(2000) {
		l, now := NewLogs(1, limit), time.Duration(0)
		for range 60 {
			now += maxTime / 100
			l.Of(0).Add(&Hold{
				Key: 1 << 19, Start: now, From: now + maxTime/300, To: now + maxTime/200, Fence: uint64(now) << 5, Crashed: true,
			})
		}
		if _, err := decode(encode(t, l), 1, limit); err != nil {
			t.Fatalf("limit %d, %d holds: %v", limit, l.Holds(), err)
		}
	}
}

// TestAddAllocates nothing but blocks.
func TestAddAllocates(t *testing.T) {
	l := NewLogs(1, 1<<30)
	h := Hold{Key: 3}
	add := func() {
		h.Start, h.From = h.To+20*us, h.To+70*us
		h.To = h.From
		l.Of(0).Add(&h)
	}
	for range 10_000 {
		add()
	}
	if n := testing.AllocsPerRun(400, add); n != 0 { // far fewer than a block holds
		t.Errorf("%v allocations", n)
	}
	bytes := 0
	for _, b := range l.Of(0).all() {
		bytes += cap(b)
	}
	if per := float64(bytes) / float64(l.Holds()); per > 8 {
		t.Errorf("%.2f bytes a hold", per)
	}
}

// TestManySmallBlocks take more memory than their bytes, which the limit is for.
func TestManySmallBlocks(t *testing.T) {
	block := []byte{0, 0, 3, 0, 0, 0} // client 0 with id 0, and three bytes: a hold at 0
	many := slices.Concat([]byte{1, 0, 100}, bytes.Repeat(block, 100))
	if l, err := decode(many, 1, 3500); err != nil || l.Holds() != 100 {
		t.Error(err)
	}
	if _, err := decode(many, 1, 3400); err == nil {
		t.Error("the limit may be passed")
	}
}

func FuzzDecodeLogs(f *testing.F) {
	l := NewLogs(3, 1<<20)
	fill(rand.New(rand.NewPCG(5, 5)), l, 3, 50)
	f.Add(encode(f, l))
	f.Add([]byte{3, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decode(b, 3, 1<<16)
		if err != nil {
			return
		}
		for c := range 3 {
			l.Of(c).read(t)
		}
		again, err := decode(encode(t, l), 3, 1<<16)
		if err != nil || again.Holds() != l.Holds() || again.Complete() != l.Complete() {
			t.Errorf("not the same: %v", err)
		}
		if _, err := Sweep([]Ranked{{Logs: l}}, 1<<10, 0, 1<<50, func(results.MetricIndex, time.Duration) {}); err != nil {
			t.Log(err)
		}
	})
}

// sound returns the logs of ranks whose clients hand sound holds of a few keys on, 50 µs each and the next 20 µs later, and how
// many there are. Now and then, of 1,000 in all, the next one is granted while the last one is held: by another rank's client.
func sound(ranks, clients, keys, holds, planted int) []Ranked {
	all := make([]Ranked, ranks)
	for r := range all {
		all[r] = Ranked{Logs: NewLogs(clients, 1<<30)}
	}
	rng := rand.New(rand.NewPCG(uint64(holds), 9))
	last := make([]time.Duration, ranks*clients) // when each client was ready
	ends := make([]time.Duration, keys)
	owner := make([]int, keys)
	for i := range holds {
		// Clients have keys of their own in turn, so that each has one hold at a time.
		key := i % keys
		turn := i / keys
		who := (key*7 + turn) % (ranks * clients)
		from := max(ends[key], last[who]) + 20*us + time.Duration(rng.IntN(5000))
		overlaps := planted > 0 && i%(holds/planted) == holds/planted/2
		if overlaps {
			from = ends[key] - 1 - time.Duration(rng.IntN(1000))
			for who%ranks == owner[key]%ranks || last[who] >= from {
				who = (who + 1) % (ranks * clients)
			}
		}
		h := Hold{Key: key, Client: who, Start: last[who], From: from, To: from + 45*us + time.Duration(rng.IntN(10_000))}
		all[who%ranks].Logs.Of(who / ranks).Add(&h)
		last[who], ends[key], owner[key] = h.To, h.To, who
	}
	return all
}

// TestPlantedAcrossRanks sees each of a thousand overlaps among sound holds, and none besides.
func TestPlantedAcrossRanks(t *testing.T) {
	holds := 10_000_000
	if testing.Short() {
		holds = 200_000
	}
	const planted = 1000
	ranks := sound(4, 16, 4, holds, planted)
	began := time.Now()
	s, err := Sweep(ranks, 4, 0, 1<<50, func(results.MetricIndex, time.Duration) {})
	if err != nil || s.Violations != planted || s.Possible != 0 || s.Holds != int64(holds) || s.Longest > us+1 || len(s.Events) != MaxEvents {
		t.Errorf("%v: planted %d: %+v", err, planted, s)
	}
	t.Logf("%d holds in %v", holds, time.Since(began))
	for i := range ranks { // each on a host of its own: they are too short to be certain
		ranks[i].Host = i
		if i > 0 {
			for at := time.Duration(0); at < 3*time.Hour; at += 100 * ms {
				ranks[i].Offsets = append(ranks[i].Offsets, Offset{at, -2 * us, 3 * us})
			}
		}
	}
	s, err = Sweep(ranks, 4, 0, 1<<50, func(results.MetricIndex, time.Duration) {})
	if err != nil || s.Violations != 0 || s.Possible < planted || s.Possible > 2*planted {
		t.Errorf("%v: planted %d: %+v", err, planted, s)
	}
}
