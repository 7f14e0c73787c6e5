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
	"github.com/lockbench/lockbench/results"
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
			n, of := 0, sample{}
			if _, s.err = syscall.Write(fd, ask); s.err == nil {
				n, s.err = syscall.Read(fd, reply)
			}
			if s.err == nil {
				of.at = time.Now()
				_, s.err = fmt.Sscanf(string(reply[:n]), ":%d\r\n", &of.locked)
				s.samples = append(s.samples, of)
			}
		}
	})
	return s
}

// locked ends the sampling, and returns the mean share of so many keys that existed between two times; NaN if there are
// few samples. There are fewer while the sampler or the server waits for a core, so each counts for the time since the
// one before.
func (s *sampler) locked(t *testing.T, keys int, from, to time.Time) float64 {
	t.Helper()
	s.stop.Store(true)
	s.ended.Wait()
	if s.err != nil {
		t.Fatal(s.err)
	}
	var locked, looked time.Duration
	n := 0
	for i, of := range s.samples[min(1, len(s.samples)):] {
		if before := s.samples[i]; before.at.After(from) && of.at.Before(to) {
			since := of.at.Sub(before.at)
			locked, looked, n = locked+since*time.Duration(before.locked+of.locked)/2, looked+since, n+1
		}
	}
	if n < 100 {
		return math.NaN()
	}
	return locked.Seconds() / looked.Seconds() / float64(keys)
}

// TestShares holds for how much of the time keys are locked, by the record, against what a sampler sees, in all ways
// of waiting. A request takes 4 ms each way, which is long beside what a machine adds. One whose threads wait for
// cores may add more, and not as much to requests as to replies, half of which Bound.Transit is: then all times are
// made longer, up to 16 times.
func TestShares(t *testing.T) {
	server := servertest.Redis(t, servers.Options{})
	proxy, err := fault.NewProxy(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	for _, way := range []struct{ lock, wait, handover string }{
		{"set-nx", "poll", ""}, {"set-nx", "backoff", ""}, {"set-nx", "pubsub", ""}, {"set-nx", "queue", "release"},
		{"set-nx", "queue", "swap"}, {"set-nx", "block", ""}, {"fair", "native", ""}, {"fair", "poll", ""},
		{"redisson", "pubsub", ""},
	} {
		for _, load := range []struct {
			keys int
			hold time.Duration
		}{{1, 0}, {4, 10 * ms}} {
			if testing.Short() && load.keys > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s by %s%s, %d keys", way.lock, way.wait, way.handover, load.keys), func(t *testing.T) {
				for times := time.Duration(1); ; times *= 4 {
					proxy.Delay(fault.Requests, times*4*ms)
					proxy.Delay(fault.Replies, times*4*ms)
					p := spec.Plan{
						Driver: "rueidis", Server: "external", Lock: way.lock, Wait: way.wait, Handover: way.handover, Keys: load.keys,
						Seed: 1, Warmup: times * 100 * ms, Duration: times * 1200 * ms, Oracle: true, IOTimeout: 10 * time.Second,
						Poll: 5 * ms, BackoffMin: ms, BackoffMax: 20 * ms,
						Load: spec.Load{Clients: 8 * load.keys, TTL: time.Minute, Hold: times * load.hold},
					}
					r, want := sharesOf(t, &p, server.URL(), proxy.Addr())
					l := r.Limit()
					got := l.Held + l.Moving
					t.Logf("%d: held %.3f, moving %.3f, wanted %.3f, idle %.3f; sampled %.3f; waited %v for cores",
						r.Counts.Acquired, l.Held, l.Moving, l.Waited, l.Idle, want, r.Generator.CoreWait)
					if math.Abs(got-want) <= 0.05 {
						return
					}
					if times == 16 || r.Generator.CoreWait < r.Elapsed/20 {
						t.Fatalf("locked for %.3f of the time, sampled %.3f", got, want)
					}
				}
			})
		}
	}
}

// sharesOf makes a load through a proxy before a server, and returns its record, and for how much of the window a
// sampler saw its keys.
func sharesOf(t *testing.T, p *spec.Plan, url, proxy string) (*results.Record, float64) {
	t.Helper()
	prefix := fmt.Sprintf("shares:%d:", time.Now().UnixNano())
	driver, err := drivers.Lookup(p.Driver)
	if err != nil {
		t.Fatal(err)
	}
	svc, err := driver.Open(t.Context(), drivers.Config{
		Lock: p.Lock, Addrs: []string{"redis://" + proxy}, Prefix: prefix, Pipelining: "auto", Clients: p.Clients,
		IOTimeout: p.IOTimeout, Params: p.ParamMap(), TTL: p.TTL,
		Wakes: p.Wait == "pubsub" || p.Wait == "queue", Blocks: p.Wait == "block", Polls: p.Wait == "poll",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	sampled := startSampler(t, strings.TrimPrefix(url, "unix://"), workloads.KeyNames(prefix, p.Keys))
	r, err := (&workloads.Run{Plan: *p, Service: svc, Prefix: prefix}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from := r.Started.Add(p.Warmup)
	return r, sampled.locked(t, p.Keys, from, from.Add(r.Elapsed))
}
