package shape

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
			if !strings.Contains(err.Error(), "must ") || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: %q does not say what it must be in one line", text, err)
			}
			return
		}
		again, err := spec.ParseKeys(k.String())
		if err != nil || again.String() != k.String() {
			t.Fatalf("%q is %q, which is %q, %v", text, k.String(), again.String(), err)
		}
		if k.Check(int(keys), int(clients)) != nil {
			return
		}
		rng := rand.NewPCG(seed, 0)
		samplers := KeySamplers(k, int(keys), int(clients))
		for i := range samplers {
			for range 10 {
				if key := samplers[i].Next(rng); key < 0 || key >= int(keys) {
					t.Fatalf("%q draws key %d of %d", k.String(), key, keys)
				}
			}
		}
	})
}

// drawKeys counts the keys that all clients draw, so many each.
func drawKeys(t testing.TB, text string, keys, clients, draws int) []int {
	t.Helper()
	k := spec.Must(spec.ParseKeys(text))
	if err := k.Check(keys, clients); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, keys)
	samplers := KeySamplers(k, keys, clients)
	for i := range samplers {
		rng := rand.NewPCG(7, uint64(i))
		for range draws {
			counts[samplers[i].Next(rng)]++
		}
	}
	return counts
}

// flat gives keys from to to, exclusive, equal parts of share, among n.
func flat(n, from, to int, share float64) []float64 {
	table := make([]float64, n)
	for k := from; k < to; k++ {
		table[k] = share / float64(to-from)
	}
	return table
}

func sum(tables ...[]float64) []float64 {
	total := slices.Clone(tables[0])
	for _, table := range tables[1:] {
		for k := range table {
			total[k] += table[k]
		}
	}
	return total
}

var keyFits = []struct {
	text    string
	keys    int
	clients int
	want    []float64
	wrong   []float64 // a control that is near it
}{
	{"uniform", 10, 4, flat(10, 0, 10, 1), sum(flat(10, 0, 5, 0.51), flat(10, 5, 10, 0.49))},
	{"uniform", 1, 4, flat(1, 0, 1, 1), nil},
	{"hot:80%:10", 100, 4, sum(flat(100, 0, 10, 0.8), flat(100, 10, 100, 0.2)),
		sum(flat(100, 0, 10, 0.78), flat(100, 10, 100, 0.22))},
	{"hot:80%:10", 100, 4, sum(flat(100, 0, 10, 0.8), flat(100, 10, 100, 0.2)),
		sum(flat(100, 0, 100, 0.2), flat(100, 0, 10, 0.8))},
	{"hot:1%:1", 5, 4, sum(flat(5, 0, 1, 0.01), flat(5, 1, 5, 0.99)), sum(flat(5, 0, 1, 0.02), flat(5, 1, 5, 0.98))},
	{"zipf:1.1", 10, 4, zipfTable(1.1, 10), zipfTable(1.15, 10)},
	{"own", 10, 4, flat(10, 0, 4, 1), flat(10, 0, 5, 1)},
	{"sequential", 8, 4, flat(8, 0, 8, 1), flat(8, 0, 7, 1)},
}

func TestKeysFit(t *testing.T) {
	const draws = 200_000
	for _, tt := range keyFits {
		counts := drawKeys(t, tt.text, tt.keys, tt.clients, draws/tt.clients)
		// What own and sequential draw is even by more than chance. That makes p greater, and no test weaker.
		if p := chiSquare(counts, tt.want); p < good {
			t.Errorf("%s: p = %.2g", tt.text, p)
		}
		if tt.wrong == nil {
			continue
		}
		if p := chiSquare(counts, tt.wrong); p > bad {
			t.Errorf("%s passes for another distribution: p = %.2g", tt.text, p)
		}
	}
}

// The shares that are told are those that the draws are held to.
func TestShares(t *testing.T) {
	for _, tt := range keyFits {
		got := make([]float64, tt.keys)
		Shares(got, spec.Must(spec.ParseKeys(tt.text)), tt.clients, 0.25)
		Shares(got, spec.Must(spec.ParseKeys(tt.text)), tt.clients, 0.75)
		for key, want := range tt.want {
			if math.Abs(got[key]-want) > 1e-12 {
				t.Errorf("%s over %d keys: key %d has %v, want %v", tt.text, tt.keys, key, got[key], want)
			}
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
		{"sequential", 10, 2, 4, []int{5, 6, 7}},
		{"sequential", 10, 3, 4, []int{7, 8, 9, 0, 1}},
		{"sequential", 2, 3, 8, []int{0, 1, 0}},
		{"sequential", 2, 4, 8, []int{1, 0, 1}},
		{"sequential", 1, 3, 4, []int{0, 0}},
		{"own", 10, 7, 8, []int{7, 7, 7}},
	} {
		s := KeySamplers(spec.Must(spec.ParseKeys(tt.text)), tt.keys, tt.clients)[tt.client]
		rng := rand.NewPCG(1, 1)
		for i, want := range tt.want {
			if got := s.Next(rng); got != want {
				t.Errorf("%s, %d keys, client %d of %d: draw %d is %d, want %d",
					tt.text, tt.keys, tt.client, tt.clients, i, got, want)
			}
		}
	}
}

// Each client's place is its own: it draws the same whether others draw meanwhile or not.
func TestKeySamplersAreApart(t *testing.T) {
	const clients, draws = 100, 50
	k := spec.Must(spec.ParseKeys("sequential"))
	together := KeySamplers(k, clients, clients)
	got := make([][]int, clients)
	generators := make([]*rand.PCG, clients)
	for i := range generators {
		generators[i] = rand.NewPCG(1, uint64(i))
	}
	for range draws {
		for i := range together {
			got[i] = append(got[i], together[i].Next(generators[i]))
		}
	}
	for i := range clients {
		alone, rng := &KeySamplers(k, clients, clients)[i], rand.NewPCG(1, uint64(i))
		var want []int
		for range draws {
			want = append(want, alone.Next(rng))
		}
		if !slices.Equal(got[i], want) {
			t.Fatalf("client %d draws %v, and %v while others draw", i, want, got[i])
		}
	}
}

var benchKeys = []string{
	"uniform", "zipf:0.5", "zipf:0.99", "zipf:1", "zipf:1.1", "zipf:2.5", "hot:80%:10", "sequential", "own",
}

func TestKeysAllocateNothing(t *testing.T) {
	for _, text := range benchKeys {
		s, rng := &KeySamplers(spec.Must(spec.ParseKeys(text)), 1000, 10)[3], rand.NewPCG(1, 2)
		if n := testing.AllocsPerRun(100, func() { s.Next(rng) }); n != 0 {
			t.Errorf("%s: %v allocations a draw", text, n)
		}
	}
}

func BenchmarkKeys(b *testing.B) {
	for _, text := range benchKeys {
		b.Run(text, func(b *testing.B) {
			s, rng := &KeySamplers(spec.Must(spec.ParseKeys(text)), 1_000_000, 64)[5], rand.NewPCG(1, 2)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(rng)
			}
		})
	}
}
