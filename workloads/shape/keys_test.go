package shape

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lockbench/lockbench/results/spec"
)

func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{
		"", "uniform", "zipf:1.1", "hot:80%:10", "sequential", "own", "+", "*", "@", ":", "hot:99.9999999%:1", "zipf:0x1p3",
	} {
		f.Add(seed, uint64(1), uint16(64), uint16(8))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, keys, clients uint16) {
		k, err := spec.ParseKeys(text)
		if err != nil {
			return
		}
		if again, err := spec.ParseKeys(k.String()); err != nil || again != k {
			t.Fatalf("%q is %q, which is %q, %v", text, k, again, err)
		}
		if int(keys) < k.Needs(int(clients)) {
			return
		}
		rng := rand.NewPCG(seed, 0)
		samplers := KeySamplers(k, int(keys), int(clients))
		for i := range samplers {
			for range 10 {
				if key := samplers[i].Next(rng); key < 0 || key >= int(keys) {
					t.Fatalf("%q draws key %d of %d", k, key, keys)
				}
			}
		}
	})
}

// flat gives keys from to to, exclusive, equal parts of share, among n.
func flat(n, from, to int, share float64) []float64 {
	table := make([]float64, n)
	for k := from; k < to; k++ {
		table[k] = share / float64(to-from)
	}
	return table
}

func sum(a, b []float64) []float64 {
	for k := range b {
		a[k] += b[k]
	}
	return a
}

// zipf gives key k a share in proportion to 1/(k+1)^s.
func zipf(s float64, n int) []float64 {
	table, total := make([]float64, n), 0.0
	for k := n; k > 0; k-- {
		table[k-1] = math.Pow(float64(k), -s)
		total += table[k-1]
	}
	for k := range table {
		table[k] /= total
	}
	return table
}

// TestKeys: keys are drawn as often as the formulas say, and so do the shares. Each case has a control that is near it.
func TestKeys(t *testing.T) {
	const clients, draws = 4, 200_000
	hot := sum(flat(100, 0, 10, 0.8), flat(100, 10, 100, 0.2))
	for _, tt := range []struct {
		text        string
		want, wrong []float64
	}{
		{"uniform", flat(10, 0, 10, 1), sum(flat(10, 0, 5, 0.52), flat(10, 5, 10, 0.48))},
		{"uniform", flat(1, 0, 1, 1), nil},
		{"hot:80%:10", hot, sum(flat(100, 0, 10, 0.78), flat(100, 10, 100, 0.22))},
		{"hot:80%:10", hot, sum(flat(100, 0, 100, 0.2), flat(100, 0, 10, 0.8))},
		{"hot:1%:1", sum(flat(5, 0, 1, 0.01), flat(5, 1, 5, 0.99)), sum(flat(5, 0, 1, 0.02), flat(5, 1, 5, 0.98))},
		{"zipf:0.001", zipf(0.001, 1000), zipf(0.1, 1000)},
		{"zipf:0.99", zipf(0.99, 1000), append(zipf(0.99, 900), make([]float64, 100)...)},
		{"zipf:1", zipf(1, 10_000), zipf(1.1, 10_000)},
		{"zipf:1.1", zipf(1.1, 10), zipf(1.15, 10)},
		{"zipf:20", zipf(20, 1000), nil},
		{"own", flat(10, 0, 4, 1), flat(10, 0, 5, 1)},
		{"sequential", flat(8, 0, 8, 1), flat(8, 0, 7, 1)},
	} {
		keys := len(tt.want)
		k := spec.Must(spec.ParseKeys(tt.text))
		for key, share := range Shares(k, keys, clients) {
			if math.Abs(share-tt.want[key]) > 1e-12 {
				t.Errorf("%s over %d keys: key %d has %v, want %v", k, keys, key, share, tt.want[key])
			}
		}
		counts := make([]int, keys)
		for i, s := range KeySamplers(k, keys, clients) {
			rng := rand.NewPCG(7, uint64(i))
			for range draws / clients {
				counts[s.Next(rng)]++
			}
		}
		// What own and sequential draw is even by more than chance. That makes the score smaller, and no test weaker.
		if score := chiSquare(counts, tt.want); score > good {
			t.Errorf("%s over %d keys: %.2g", tt.text, keys, score)
		}
		if tt.wrong == nil {
			continue
		}
		if score := chiSquare(counts, tt.wrong); score < bad {
			t.Errorf("%s over %d keys passes for another distribution: %.2g", tt.text, keys, score)
		}
	}
}

func TestKeysKnownSequences(t *testing.T) {
	for _, tt := range []struct {
		text                  string
		keys, client, clients int
		want                  []int
	}{
		{"sequential", 4, 0, 1, []int{0, 1, 2, 3, 0, 1}},
		{"sequential", 10, 1, 4, []int{2, 3, 4}},
		{"sequential", 10, 3, 4, []int{7, 8, 9, 0, 1}},
		{"sequential", 2, 4, 8, []int{1, 0, 1}},
		{"sequential", 1, 3, 4, []int{0, 0}},
		{"own", 10, 7, 8, []int{7, 7, 7}},
	} {
		samplers := KeySamplers(spec.Must(spec.ParseKeys(tt.text)), tt.keys, tt.clients)
		rng := rand.NewPCG(1, 1)
		for i, want := range tt.want {
			if other := (tt.client + 1) % tt.clients; other != tt.client {
				samplers[other].Next(rng) // which has a place of its own
			}
			if got := samplers[tt.client].Next(rng); got != want {
				t.Errorf("%s, %d keys, client %d of %d: draw %d is %d, want %d",
					tt.text, tt.keys, tt.client, tt.clients, i, got, want)
			}
		}
	}
}
