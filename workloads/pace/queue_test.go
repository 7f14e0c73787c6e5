package pace_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
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

// A backlog is served late, and says so. However it grows and shrinks, what comes out is what went in.
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
			if at, waited, ok := q.Take(); at != out || !waited || !ok {
				t.Fatalf("got %d, waited %t, ok %t; want %d", at, waited, ok, out)
			}
			out++
		}
		if q.Len() != int(in-out) || q.Offered() != int64(in) {
			t.Fatalf("%d arrivals wait of %d, want %d of %d", q.Len(), q.Offered(), in-out, in)
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
