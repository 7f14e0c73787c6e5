package exec

// What another process costs.

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/spawn"
)

func sessionsOf(t testing.TB, d drivers.Driver, n int) (list []drivers.Session) {
	t.Helper()
	svc, err := d.Open(t.Context(), drivers.Config{Clients: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	for id := range n {
		s, err := svc.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// An Ask costs the line of its answer and, now and then, room for more.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("a sync.Pool drops what it likes under the race detector, whose tests are short")
	}
	s := sessionsOf(t, adapterOf(t, "null"), 1)[0]
	l := &drivers.Lease{Key: "k", TTL: time.Minute}
	if n := testing.AllocsPerRun(1000, func() {
		if held, err := s.Try(t.Context(), l); !held || err != nil {
			t.Fatal(held, err)
		}
	}); n > 2 {
		t.Errorf("a Try costs %v allocations", n)
	}
}

// BenchmarkFloor measures a byte that goes to another process and back over pipes: no answer comes sooner.
func BenchmarkFloor(b *testing.B) {
	p, in, out, err := spawn.StartPiped(exec.Command(os.Args[0], "echo"))
	if err != nil {
		b.Fatal(err)
	}
	defer p.Kill()
	times, one := make([]time.Duration, b.N), make([]byte, 1)
	b.ResetTimer()
	for i := range times {
		began := time.Now()
		_, err := in.Write(one)
		if _, err2 := out.Read(one); err != nil || err2 != nil {
			b.Fatal(err, err2)
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2])/1e3, "µs/try")
}

// BenchmarkPairs measures one acquisition and release through the protocol, and the median of a client's Try.
func BenchmarkPairs(b *testing.B) {
	for _, name := range []string{"go-null", "node-null", "python-null", "java-null"} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) {
				d := shippedDriver(b, name)
				sessions := sessionsOf(b, d, clients)
				times := make([]time.Duration, b.N)
				ctx := b.Context()
				b.ReportAllocs()
				b.ResetTimer()
				var all sync.WaitGroup
				for id, s := range sessions {
					all.Go(func() {
						l := &drivers.Lease{Key: fmt.Sprint("key:", id), TTL: time.Minute}
						for i := id; i < b.N; i += clients {
							began := time.Now()
							held, err := s.Try(ctx, l)
							times[i] = time.Since(began)
							if owned, err2 := s.Release(ctx, l); !held || !owned || err != nil || err2 != nil {
								b.Error(held, owned, err, err2)
								return
							}
						}
					})
				}
				all.Wait()
				b.StopTimer()
				slices.Sort(times)
				b.ReportMetric(float64(times[len(times)/2])/1e3, "µs/try")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}
