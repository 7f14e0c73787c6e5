package pace_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/workloads/pace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// taken is what one Take answered, and whose it was.
type taken struct {
	client     int
	at         time.Duration
	waited, ok bool
}

// park parks n clients one after the other, each for one arrival, inside a bubble.
func park(q *pace.Queue, n int) (answers func() []taken) {
	var mu sync.Mutex
	var all []taken
	for client := range n {
		go func() {
			at, waited, ok := q.Take()
			mu.Lock()
			defer mu.Unlock()
			all = append(all, taken{client, at, waited, ok})
		}()
		synctest.Wait()
	}
	return func() []taken {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// Arrivals go to the clients in the order in which these were parked, at once.
func TestQueueServesTheLongestParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := new(pace.Queue)
		answers := park(q, 5)
		var want []taken
		for i := range 5 {
			q.Put(time.Duration(i) * time.Second)
			want = append(want, taken{i, time.Duration(i) * time.Second, false, true})
			if got := answers(); !slices.Equal(got, want) {
				t.Fatalf("after %d arrivals:\n%v, want\n%v", i+1, got, want)
			}
		}
		if q.Len() != 0 || q.Offered() != 5 {
			t.Errorf("len %d, offered %d, want 0, 5", q.Len(), q.Offered())
		}
	})
}

// Clients that come back are parked behind those that have not had an arrival yet: all get the same share.
func TestQueueSpreadsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, rounds = 7, 20
		q := new(pace.Queue)
		var served [clients]int
		for client := range clients {
			go func() {
				for _, _, ok := q.Take(); ok; _, _, ok = q.Take() {
					served[client]++
				}
			}()
		}
		for range clients * rounds {
			synctest.Wait()
			q.Put(0)
		}
		synctest.Wait()
		for client, n := range served {
			if n != rounds {
				t.Errorf("client %d got %d arrivals, want %d", client, n, rounds)
			}
		}
		q.Close()
	})
}

// taker is a client that is told of its arrivals.
type taker struct {
	queue  *pace.Queue
	served []time.Duration
	over   int
}

func (c *taker) Arrive(at time.Duration, ok bool) {
	if !ok {
		c.over++
		return
	}
	c.served = append(c.served, at)
	c.queue.Park(c)
}

// Clients without a goroutine get arrivals in the order in which they were parked, and are told once that none will come.
func TestQueueTellsTakers(t *testing.T) {
	q := new(pace.Queue)
	q.Put(7)
	takers := make([]taker, 5)
	for i := range takers {
		takers[i].queue = q
		for at, come := q.Park(&takers[i]); come; at, come = q.Park(&takers[i]) {
			takers[i].served = append(takers[i].served, at)
		}
	}
	for at := range time.Duration(11) {
		q.Put(100 + at)
	}
	q.Close()
	if at, come := q.Park(&takers[0]); come {
		t.Errorf("after Close came %v", at)
	}
	for i, want := range [][]time.Duration{{7, 100, 105, 110}, {101, 106}, {102, 107}, {103, 108}, {104, 109}} {
		if c := &takers[i]; !slices.Equal(c.served, want) || (c.over != 1 && i > 0) || (c.over != 2 && i == 0) {
			t.Errorf("client %d served %v, want %v, and was told %d times that it is over", i, c.served, want, c.over)
		}
	}
}

// A backlog is served late, in its order, and says so.
func TestQueueKeepsABacklog(t *testing.T) {
	q := new(pace.Queue)
	const n = 5000 // several blocks of memory
	for i := range n {
		q.Put(time.Duration(i))
	}
	if q.Len() != n {
		t.Errorf("%d arrivals wait, want %d", q.Len(), n)
	}
	for i := range n {
		if at, waited, ok := q.Take(); at != time.Duration(i) || !waited || !ok {
			t.Fatalf("arrival %d: %d, waited %t, ok %t", i, at, waited, ok)
		}
	}
	if q.Len() != 0 || q.Offered() != n {
		t.Errorf("%d arrivals wait of %d, want 0 of %d", q.Len(), q.Offered(), n)
	}
}

// However the line grows and shrinks, what comes out is what went in.
func TestQueueKeepsTheOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	q := new(pace.Queue)
	var in, out time.Duration
	for range 200 {
		for range rng.IntN(2500) {
			q.Put(in)
			in++
		}
		for range rng.IntN(2600) {
			if out == in {
				break
			}
			if at, _, ok := q.Take(); at != out || !ok {
				t.Fatalf("got %d, %t, want %d", at, ok, out)
			}
			out++
		}
		if q.Len() != int(in-out) {
			t.Fatalf("%d arrivals wait, want %d", q.Len(), in-out)
		}
	}
	for i, at := range q.Close() {
		if at != out+time.Duration(i) {
			t.Fatalf("left over in place %d: %d, want %d", i, at, out+time.Duration(i))
		}
	}
}

// Close lets all parked clients go, leaves the line as it was, and nothing happens afterwards.
func TestQueueCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := new(pace.Queue)
		answers := park(q, 3)
		q.Put(time.Second)
		q.Close()
		for _, got := range answers() {
			if want := got.client == 0; got.ok != want {
				t.Errorf("client %d: ok %t, want %t", got.client, got.ok, want)
			}
		}
		if len(answers()) != 3 {
			t.Errorf("%d of 3 clients are awake", len(answers()))
		}
	})

	q := new(pace.Queue)
	q.Put(1)
	q.Put(2)
	for range 2 {
		if left := q.Close(); !slices.Equal(left, []time.Duration{1, 2}) {
			t.Errorf("left %v, want 1 and 2", left)
		}
	}
	if at, waited, ok := q.Take(); at != 0 || waited || ok {
		t.Errorf("took %d, %t, %t of a closed queue", at, waited, ok)
	}
	if q.Put(3); q.Offered() != 2 || q.Len() != 0 {
		t.Errorf("a closed queue took an arrival: offered %d, len %d", q.Offered(), q.Len())
	}
}

// With all at it at once nothing is lost or served twice, whether it is taken or left.
func TestQueueLosesNothing(t *testing.T) {
	const clients, n = 50, 20000
	q := new(pace.Queue)
	counts := make([][]time.Duration, clients)
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			for at, _, ok := q.Take(); ok; at, _, ok = q.Take() {
				counts[client] = append(counts[client], at)
			}
		})
	}
	for i := range n {
		q.Put(time.Duration(i))
		if i%7 == 0 {
			runtime.Gosched() // so that clients are parked now and then
		}
	}
	left := q.Close()
	working.Wait()
	all := left
	for _, c := range counts {
		if !slices.IsSorted(c) {
			t.Error("a client got arrivals out of order")
		}
		all = append(all, c...)
	}
	slices.Sort(all)
	if len(all) != n || slices.Compact(all)[n-1] != n-1 {
		t.Errorf("%d arrivals came out, want %d different ones", len(all), n)
	}
}

// With 100,000 parked clients each arrival wakes one of them, and Close the others.
func TestQueueWithManyParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 100_000
		q := new(pace.Queue)
		var served, closed atomic.Int64
		for range clients {
			go func() {
				if _, _, ok := q.Take(); ok {
					served.Add(1)
				} else {
					closed.Add(1)
				}
			}()
		}
		synctest.Wait()
		for range clients / 2 {
			q.Put(0)
		}
		synctest.Wait()
		if served.Load() != clients/2 || q.Len() != 0 {
			t.Errorf("%d clients were served, and %d arrivals wait, want %d and 0", served.Load(), q.Len(), clients/2)
		}
		q.Close()
		synctest.Wait()
		if closed.Load() != clients/2 {
			t.Errorf("%d clients were let go, want %d", closed.Load(), clients/2)
		}
	})
}

func TestQueueAllocatesNothing(t *testing.T) {
	const clients = 3
	there, back, again := new(pace.Queue), new(pace.Queue), new(pace.Queue)
	var working sync.WaitGroup
	for range clients {
		working.Go(func() {
			for at, _, ok := there.Take(); ok; at, _, ok = there.Take() {
				back.Put(at)
				again.Take() // so that all are awake before one is parked again
			}
		})
	}
	if n := testing.AllocsPerRun(1000, func() {
		for range clients {
			there.Put(1)
		}
		for range clients {
			back.Take()
		}
		for range clients {
			again.Put(1)
		}
	}); n != 0 {
		t.Errorf("handing over to parked clients allocates %v times", n)
	}
	there.Close()
	working.Wait()

	q := new(pace.Queue)
	if n := testing.AllocsPerRun(100, func() {
		for range 1500 { // more than a block
			q.Put(1)
		}
		for range 1500 {
			q.Take()
		}
	}); n != 0 {
		t.Errorf("a backlog of the same length each time allocates %v times", n)
	}
}

func BenchmarkQueue(b *testing.B) {
	b.Run("backlog", func(b *testing.B) {
		q := new(pace.Queue)
		for b.Loop() {
			q.Put(1)
			q.Take()
		}
	})
	b.Run("hand-over", func(b *testing.B) {
		there, back := new(pace.Queue), new(pace.Queue)
		defer there.Close()
		go func() {
			for at, _, ok := there.Take(); ok; at, _, ok = there.Take() {
				back.Put(at)
			}
		}()
		for b.Loop() {
			there.Put(1)
			back.Take()
		}
	})
}
