package rueidis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// BenchmarkFlushDelay compares -flush-delay auto with the better of 0 and 100 µs at each number of clients: pairs of
// acquire and release a second through the driver on uncontended keys, and the median over the rounds of the ratio within
// a round. An iteration is a round, which runs each of the delays once:
//
//	go test -run '^$' -bench FlushDelay -benchtime 9x ./drivers/redis/rueidis
func BenchmarkFlushDelay(b *testing.B) {
	for _, clients := range []int{1, 8, 64, 512, 4096} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { compareDelays(b, clients) })
	}
}

func compareDelays(b *testing.B, clients int) {
	const slice = 300 * time.Millisecond
	url := servertest.Redis(b, servers.RedisOptions{}).URL()
	delays := []time.Duration{0, 100 * time.Microsecond, drivers.FlushAuto}
	rates := make([][]float64, len(delays))
	services := make([]drivers.Service, len(delays))
	for i, delay := range delays {
		service, err := Driver.Open(b.Context(), drivers.Config{Lock: "set-nx", Addrs: []string{url}, Clients: clients,
			FlushDelay: delay})
		if err != nil {
			b.Fatal(err)
		}
		defer service.Close()
		services[i] = service
	}
	for round := 0; b.Loop(); round++ {
		for n := range delays {
			i := (n + round) % len(delays)
			rates[i] = append(rates[i], pairsPerSecond(b, services[i], clients, slice))
		}
	}
	for i, name := range []string{"0s", "100us", "auto"} {
		b.ReportMetric(median(rates[i]), name+"-pairs/s")
	}
	best := 0
	if median(rates[1]) > median(rates[0]) {
		best = 1
	}
	ratios := make([]float64, len(rates[2]))
	for i, rate := range rates[2] {
		ratios[i] = rate / rates[best][i]
	}
	b.ReportMetric(median(ratios), "auto/better")
	b.ReportMetric(0, "ns/op") // the length of a round
}

func pairsPerSecond(b *testing.B, service drivers.Service, clients int, length time.Duration) float64 {
	var stop atomic.Bool
	var total atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for id := range clients {
		session, err := service.Session(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		running.Go(func() {
			pairs := int64(0)
			lease := drivers.Lease{Key: "flush:" + strconv.Itoa(id), TTL: time.Minute}
			for ; !stop.Load(); pairs++ {
				held, err := session.Try(context.Background(), &lease)
				if err == nil && held {
					_, err = session.Release(context.Background(), &lease)
				}
				if err != nil || !held {
					b.Errorf("held %v, error %v", held, err)
					return
				}
			}
			total.Add(pairs)
		})
	}
	time.Sleep(length)
	stop.Store(true)
	running.Wait()
	return float64(total.Load()) / time.Since(began).Seconds()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
