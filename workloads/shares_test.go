package workloads_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// sampler asks a Redis server again and again how many keys exist. It shares no code with drivers, and sleeps and reads
// in a thread of its own: where the Go runtime wakes it, that is when it wakes a client whose hold is over.
type sampler struct {
	stop    atomic.Bool
	ended   sync.WaitGroup
	samples []sample
	err     error
}

type sample struct {
	at     time.Time
	locked int
}

func startSampler(t *testing.T, socket string, keys []string) *sampler {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket})
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &sampler{}
	ask, reply := []byte("EXISTS "+strings.Join(keys, " ")+"\r\n"), make([]byte, 64)
	s.ended.Go(func() {
		defer syscall.Close(fd)
		for !s.stop.Load() && s.err == nil {
			pause := syscall.NsecToTimespec(int64(200*time.Microsecond) + rand.Int64N(int64(800*time.Microsecond)))
			syscall.Nanosleep(&pause, nil)
			of, n := sample{at: time.Now()}, 0
			if _, s.err = syscall.Write(fd, ask); s.err == nil {
				n, s.err = syscall.Read(fd, reply)
			}
			if s.err == nil {
				_, s.err = fmt.Sscanf(string(reply[:n]), ":%d\r\n", &of.locked)
				s.samples = append(s.samples, of)
			}
		}
	})
	return s
}

// locked ends the sampling, and returns the mean share of so many keys that existed between two times.
func (s *sampler) locked(t *testing.T, keys int, from, to time.Time) float64 {
	t.Helper()
	s.stop.Store(true)
	s.ended.Wait()
	sum, n := 0, 0
	for _, of := range s.samples {
		if of.at.After(from) && of.at.Before(to) {
			sum, n = sum+of.locked, n+1
		}
	}
	if s.err != nil || n < 100 {
		t.Fatalf("%d samples: %v", n, s.err)
	}
	return float64(sum) / float64(n) / float64(keys)
}

// TestShares holds for how much of the time keys are locked, by the record, against what a sampler sees, in all ways of
// waiting. A request takes 4 ms each way, which is long beside what a busy machine adds.
func TestShares(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	proxy, err := fault.NewProxy(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	proxy.Delay(fault.Requests, 4*ms)
	proxy.Delay(fault.Replies, 4*ms)
	for _, way := range []struct{ lock, wait, handover string }{
		{"set-nx", "poll", ""}, {"set-nx", "backoff", ""}, {"set-nx", "pubsub", ""}, {"set-nx", "queue", "release"},
		{"set-nx", "queue", "swap"}, {"set-nx", "block", ""}, {"fair", "native", ""}, {"fair", "poll", ""},
	} {
		for _, load := range []struct {
			keys int
			hold time.Duration
		}{{1, 0}, {4, 10 * ms}} {
			if testing.Short() && load.keys > 1 {
				continue
			}
			p := spec.Plan{
				Driver: "rueidis", Server: "external", Lock: way.lock, Wait: way.wait, Handover: way.handover, Keys: load.keys, Seed: 1,
				Warmup: 100 * ms, Duration: 1200 * ms, Oracle: true, IOTimeout: 10 * time.Second,
				Poll: 5 * ms, BackoffMin: ms, BackoffMax: 20 * ms,
				Load: spec.Load{Clients: 8 * load.keys, TTL: time.Minute, Hold: load.hold},
			}
			t.Run(fmt.Sprintf("%s by %s%s, %d keys", way.lock, way.wait, way.handover, load.keys), func(t *testing.T) {
				prefix := fmt.Sprintf("shares:%s:%s:%s:%d:", way.lock, way.wait, way.handover, load.keys)
				driver, err := drivers.Lookup(p.Driver)
				if err != nil {
					t.Fatal(err)
				}
				svc, err := driver.Open(t.Context(), drivers.Config{
					Lock: p.Lock, Addrs: []string{"redis://" + proxy.Addr()}, Prefix: prefix, Pipelining: "auto", Clients: p.Clients,
					IOTimeout: p.IOTimeout, Params: p.ParamMap(), TTL: p.TTL,
					Wakes: way.wait == "pubsub" || way.wait == "queue", Blocks: way.wait == "block", Polls: way.wait == "poll",
				})
				if err != nil {
					t.Fatal(err)
				}
				defer svc.Close()
				sampled := startSampler(t, strings.TrimPrefix(server.URL(), "unix://"), workloads.KeyNames(prefix, load.keys))
				r, err := (&workloads.Run{Plan: p, Service: svc, Prefix: prefix}).Do(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				from := r.Started.Add(p.Warmup)
				want := sampled.locked(t, load.keys, from, from.Add(r.Elapsed))
				l := r.Limit()
				t.Logf("%d: held %.3f, moving %.3f, wanted %.3f, idle %.3f; sampled %.3f", r.Counts.Acquired, l.Held, l.Moving, l.Waited, l.Idle, want)
				if got := l.Held + l.Moving; math.Abs(got-want) > 0.05 {
					t.Errorf("locked for %.3f of the time, sampled %.3f", got, want)
				}
			})
		}
	}
}
