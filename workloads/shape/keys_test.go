package shape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/spec"
)

func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{
		"", "uniform", "zipf:1.1", "hot:80%:10", "sequential", "own@5-9", "70%*zipf:1.1+30%*own", "zipf:0.5@1_0-2k",
		"0.1*own + .2*uniform+0.7*zipf:2", "+", "*", "@", ":", "hot:99.9999999%:1@0-1", "\xff%*own",
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
		if h := hottest(k, int(keys), int(clients)); !(h >= 1/float64(keys)-1e-12 && h <= 1+1e-12) {
			t.Errorf("%q: the hottest of %d keys has %v", k.String(), keys, h)
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

// at moves a table to the keys from first on, among n, and gives it a weight.
func at(n, first int, weight float64, table []float64) []float64 {
	moved := make([]float64, n)
	for k, p := range table {
		moved[first+k] = weight * p
	}
	return moved
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
	{"uniform@3-5", 10, 4, flat(10, 3, 6, 1), flat(10, 3, 5, 1)},
	{"uniform@3-5", 10, 4, flat(10, 3, 6, 1), flat(10, 2, 6, 1)},
	{"hot:80%:10", 100, 4, sum(flat(100, 0, 10, 0.8), flat(100, 10, 100, 0.2)),
		sum(flat(100, 0, 10, 0.78), flat(100, 10, 100, 0.22))},
	{"hot:80%:10", 100, 4, sum(flat(100, 0, 10, 0.8), flat(100, 10, 100, 0.2)),
		sum(flat(100, 0, 100, 0.2), flat(100, 0, 10, 0.8))},
	{"hot:80%:1@2-3", 5, 4, sum(flat(5, 2, 3, 0.8), flat(5, 3, 4, 0.2)), sum(flat(5, 2, 3, 0.79), flat(5, 3, 4, 0.21))},
	{"hot:1%:1", 5, 4, sum(flat(5, 0, 1, 0.01), flat(5, 1, 5, 0.99)), sum(flat(5, 0, 1, 0.02), flat(5, 1, 5, 0.98))},
	{"zipf:1.1@10-19", 20, 4, at(20, 10, 1, zipfTable(1.1, 10)), at(20, 10, 1, zipfTable(1.15, 10))},
	{"70%*zipf:1.1+30%*own", 100, 40, sum(at(100, 0, 0.7, zipfTable(1.1, 100)), flat(100, 0, 40, 0.3)),
		sum(at(100, 0, 0.66, zipfTable(1.1, 100)), flat(100, 0, 40, 0.34))},
	{"50%*own@10-13+40%*uniform@0-4+10%*hot:90%:1@5-9", 14, 4,
		sum(flat(14, 10, 14, 0.5), flat(14, 0, 5, 0.4), flat(14, 5, 6, 0.09), flat(14, 6, 10, 0.01)),
		sum(flat(14, 10, 14, 0.5), flat(14, 0, 5, 0.41), flat(14, 5, 6, 0.08), flat(14, 6, 10, 0.01))},
	{"50%*sequential+50%*zipf:2", 8, 4, sum(flat(8, 0, 8, 0.5), at(8, 0, 0.5, zipfTable(2, 8))), zipfTable(2, 8)},
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

// hottest returns the share of the key that is wanted most.
func hottest(k spec.Keys, keys, clients int) (most float64) {
	for _, key := range Peaks(k.Parts(), keys) {
		most = max(most, Share(k.Parts(), key, keys, clients))
	}
	return most
}

// The shares that are told are those that the draws are held to.
func TestSharesOfEachKey(t *testing.T) {
	for _, tt := range keyFits {
		for key, want := range tt.want {
			if got := Share(spec.Must(spec.ParseKeys(tt.text)).Parts(), key, tt.keys, tt.clients); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s over %d keys: key %d has %v, want %v", tt.text, tt.keys, key, got, want)
			}
		}
	}
}

// The share of the hottest key is the greatest of all the shares, which here are reckoned one by one.
func TestHottest(t *testing.T) {
	for _, tt := range keyFits {
		want := slices.Max(tt.want)
		if got := hottest(spec.Must(spec.ParseKeys(tt.text)), tt.keys, tt.clients); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s over %d keys: %v, want %v", tt.text, tt.keys, got, want)
		}
	}
	for _, s := range exponents {
		for _, n := range []int{1, 999, 1000, 1001, 50_000} {
			want := zipfTable(s, n)[0]
			if got := hottest(spec.Must(spec.ParseKeys(fmt.Sprintf("zipf:%v", s))), n, 1); math.Abs(got-want) > 1e-11*want {
				t.Errorf("zipf:%v over %d keys: %v, want %v", s, n, got, want)
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
		{"sequential@10-13", 20, 1, 2, []int{12, 13, 10, 11}},
		{"sequential", 1, 3, 4, []int{0, 0}},
		{"own", 10, 7, 8, []int{7, 7, 7}},
		{"own@10-19", 20, 7, 8, []int{17, 17}},
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

// A part of a mix that goes on from where it was does so whatever the other parts draw in between.
func TestKeysMixStepsByOne(t *testing.T) {
	s := KeySamplers(spec.Must(spec.ParseKeys("50%*sequential@0-99+30%*sequential@100-149+20%*uniform@150-199")), 200, 2)[1]
	rng := rand.NewPCG(5, 6)
	next := []int{50, 125} // half-way round, for the second client of two
	for range 10_000 {
		switch key := s.Next(rng); {
		case key < 100:
			if key != next[0] {
				t.Fatalf("draws %d, want %d", key, next[0])
			}
			next[0] = (key + 1) % 100
		case key < 150:
			if key != next[1] {
				t.Fatalf("draws %d, want %d", key, next[1])
			}
			next[1] = 100 + (key-99)%50
		}
	}
}

// Each client's place is its own: it draws the same whether others draw meanwhile or not.
func TestKeySamplersAreApart(t *testing.T) {
	const clients, draws = 100, 50
	k := spec.Must(spec.ParseKeys("40%*sequential+40%*own+20%*zipf:1"))
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
	"70%*zipf:1.1+30%*own",
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
