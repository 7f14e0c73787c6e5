// Classes of clients, and the shapes of what they do.

package workloads

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// TestClasses lets two classes run beside each other on keys of their own: each has its own cycle, and the record says
// so for each and for both together.
func TestClasses(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Keys, p.Warmup, p.Duration = 5, 100, 300*ms, 3*time.Second
	quick, slow := p.Load, p.Load
	quick.Clients, quick.Hold, quick.Think, quick.KeyDist = 3, 10*ms, 5*ms, spec.Must(spec.ParseKeys("own"))
	slow.Clients, slow.Hold, slow.Think, slow.KeyDist = 2, 50*ms, 50*ms, spec.Must(spec.ParseKeys("own"))
	p.Classes = []spec.Class{{Name: "quick", Load: quick}, {Name: "slow", Load: slow}}
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if len(r.Classes) != 2 {
			t.Fatalf("classes %+v", r.Classes)
		}
		q, s := r.Classes[0], r.Classes[1]
		if q.Name != "quick" || q.Counts.Acquired != 600 || s.Name != "slow" || s.Counts.Acquired != 60 {
			t.Errorf("%s %+v, %s %+v: want 600 locks and 60", q.Name, q.Counts, s.Name, s.Counts)
		}
		if q.Jain != 1 || s.Jain != 1 || r.Fairness.MinClient != 30 || r.Fairness.MaxClient != 200 {
			t.Errorf("Jain %v and %v, %+v", q.Jain, s.Jain, r.Fairness)
		}
		near(t, "quick holds", float64(q.Latency[results.Hold].Mean), float64(10*ms), 0.001)
		near(t, "slow holds", float64(s.Latency[results.Hold].Mean), float64(50*ms), 0.001)
		if _, ok := q.Latency[results.Release]; ok {
			t.Error("a class has release times of its own")
		}
		if n := r.Counts; n.Acquired != 660 || n.Released != 660 || r.Latency[results.Hold].Count != 660 || r.Latency[results.Release].Count != 660 {
			t.Errorf("together %+v", n)
		}
		if r.Safety.Grants < 720 {
			t.Errorf("%d grants, want those of the warm-up too", r.Safety.Grants)
		}
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
}

// keyCounter is a service that counts the tries of each client for each key.
type keyCounter struct {
	drivers.Service
	tries map[int]map[string]int
}

type keyCounterSession struct {
	drivers.Session
	tries map[string]int
}

func (k *keyCounter) Unwrap() drivers.Service { return k.Service }

func (s keyCounterSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.tries[l.Key]++
	return s.Session.Try(ctx, l)
}

func (k *keyCounter) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := k.Service.Session(ctx, id)
	k.tries[id] = map[string]int{}
	return keyCounterSession{s, k.tries[id]}, err
}

// TestKeyDistribution: client i of a class has the sampler of client i of that class, and no other.
func TestKeyDistribution(t *testing.T) {
	p := plan("null", "none")
	p.Clients, p.Keys, p.Duration = 4, 10, time.Second
	own, hot := p.Load, p.Load
	own.Clients, own.Hold, own.KeyDist = 2, 10*ms, spec.Must(spec.ParseKeys("own"))
	hot.Clients, hot.Hold, hot.KeyDist = 2, ms, spec.Must(spec.ParseKeys("hot:80%:1"))
	p.Classes = []spec.Class{{Name: "hot", Load: hot}, {Name: "own", Load: own}}
	var k *keyCounter
	bubble(t, p, func(s drivers.Service) drivers.Service {
		k = &keyCounter{s, map[int]map[string]int{}}
		return k
	}, func(t *testing.T, r *results.Record) {
		for _, id := range []int{0, 1} {
			first, all := k.tries[id]["test:0"], 0
			for _, n := range k.tries[id] {
				all += n
			}
			near(t, "share of the hot key", float64(first)/float64(all), 0.8, 0.05)
		}
		if a, b := k.tries[2], k.tries[3]; len(a) != 1 || a["test:0"] != 100 || len(b) != 1 || b["test:1"] != 100 {
			t.Errorf("own keys: %v and %v", a, b)
		}
	})
}

// TestTimes draws holds and pauses from distributions.
func TestTimes(t *testing.T) {
	p := plan("null", "none")
	p.Hold, p.HoldDist, p.Think, p.ThinkDist, p.Duration = 10*ms, spec.Must(spec.ParseTimes("exp:10ms")), 3*ms, spec.Must(spec.ParseTimes("uniform:2ms:4ms")), 200*time.Second
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		hold := r.Latency[results.Hold]
		near(t, "mean hold", float64(hold.Mean), float64(10*ms), 0.02)
		near(t, "median hold", float64(hold.P50), 0.6931*float64(10*ms), 0.03)
		near(t, "99th percentile", float64(hold.P99), 4.605*float64(10*ms), 0.05)
		near(t, "locks", float64(r.Counts.Acquired), 200e3/13, 0.02)
		near(t, "Little's sum", r.Bound.Little, 1, 0.001)
	})
}

// TestHoldsOfAFile takes holds from a file, which has to be there.
func TestHoldsOfAFile(t *testing.T) {
	p := plan("null", "none")
	p.Duration = time.Second
	path := filepath.Join(t.TempDir(), "holds.txt")
	if err := os.WriteFile(path, []byte("10\n20\n30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.HoldDist = spec.Times{Kind: spec.TimesFile, Path: path}
	bubble(t, p, nil, func(t *testing.T, r *results.Record) {
		if h := r.Latency[results.Hold]; h.Count < 30 || h.Min < 9*ms || h.Max > 31*ms || h.Max < 29*ms {
			t.Errorf("holds %+v, want 10, 20 and 30 ms", h)
		}
	})
	p.HoldDist.Path += ".gone"
	_, err := (&Run{Plan: p, Service: open(t, p), Prefix: "test:"}).Do(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without the file: %v", err)
	}
}

// TestTryOnly: a fifth of the clients never waits.
func TestTryOnly(t *testing.T) {
	p := plan("memory", "mutex")
	p.Clients, p.TryOnly, p.Hold, p.Think, p.Duration = 10, 0.2, 10*ms, 3*ms, time.Second
	for _, way := range []string{"poll", "queue"} {
		p.Wait, p.Handover = way, "release"
		bubble(t, p, nil, func(t *testing.T, r *results.Record) {
			n := r.Counts
			// Each comes back every 3 ms, but for the time in which it holds the lock itself.
			if n.Contended < 400 || n.Contended > 2*334 || n.TimedOut != 0 {
				t.Errorf("%s: counts %+v: want two clients that are refused every 3 ms", way, n)
			}
			if n.Acquired < 75 || n.Unfinished > 8 || r.Safety.Violations != 0 {
				t.Errorf("%s: %+v, %+v: the others have to wait in turn", way, n, r.Safety)
			}
		})
	}
	p.Wait, p.Rate, p.Arrival, p.Clients, p.Hold, p.Think = "poll", spec.Must(spec.ParseRate("2000")), "constant", 1000, time.Hour, 0
	p.Poll = 20 * ms
	bubble(t, p, nil, func(t *testing.T, r *results.Record) { // in the end all clients wait for the one that has the lock
		near(t, "share of the arrivals in a hurry", float64(r.Counts.Contended)/float64(r.Counts.Contended+1000), 0.2, 0.15)
	})
	for share, want := range map[float64]int{0: 0, 0.1: 3, 0.101: 4, 1: 30} {
		cl, err := newClass(&Run{}, spec.Load{Clients: 30, TryOnly: share})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		cl.first = 7
		for id := 7; id < 37; id++ {
			if cl.tries(id) {
				n++
			}
		}
		if n != want {
			t.Errorf("%v of 30 clients are %d, want %d", share, n, want)
		}
	}
}
