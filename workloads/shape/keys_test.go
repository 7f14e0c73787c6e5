package shape

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func mustKeys(t testing.TB, text string) Keys {
	t.Helper()
	k, err := ParseKeys(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return k
}

func TestParseKeys(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"uniform":                         "",
		"100%*uniform":                    "",
		"uniform@0-9":                     "uniform@0-9",
		"zipf:1.10":                       "zipf:1.1",
		"zipf:1":                          "zipf:1",
		"zipf:.5@1_0-1k":                  "zipf:0.5@10-1000",
		"hot:0.8:10":                      "hot:80%:10",
		"hot:80%:1k@5-9999":               "hot:80%:1000@5-9999",
		"sequential":                      "sequential",
		"own@64-127":                      "own@64-127",
		"30%*own+70%*zipf:1.1":            "70%*zipf:1.1+30%*own",
		" 50% * own + 50% * hot:80%:1 ":   "50%*hot:80%:1+50%*own",
		"0.1*own+.2*uniform+0.7*zipf:2":   "70%*zipf:2+20%*uniform+10%*own",
		"33.3%*own@0-9+66.7%*own@10-19":   "66.7%*own@10-19+33.3%*own@0-9",
		"50%*sequential@0-4+50%*uniform":  "50%*sequential@0-4+50%*uniform",
		"12.5%*zipf:0.99+87.5%*zipf:0.98": "87.5%*zipf:0.98+12.5%*zipf:0.99",
	} {
		if got, err := ParseKeys(in); err != nil || got.String() != want {
			t.Errorf("%q is %q, %v; want %q", in, got.String(), err, want)
		} else if got.Uniform() != (want == "") {
			t.Errorf("%q: Uniform is %t", in, got.Uniform())
		}
	}
}

const (
	wantKeys     = "must be uniform, zipf:1.1, hot:80%:10, sequential, own, or a mix such as 70%*zipf:1.1+30%*own"
	wantExponent = "must be an exponent from 0.001 to 20, as in zipf:0.99 (the greater, the more on the first keys)"
	wantRange    = "must be the first and the last key, as in uniform@10-19"
	wantSecond   = "must not be a second own: write it once, with the sum of the weights"
	wantPercent  = "must have a percent sign or be below 1, as in "
)

func TestParseKeysErrors(t *testing.T) {
	for in, want := range map[string]string{
		" ":                                      wantKeys,
		"pareto":                                 wantKeys,
		"zipfian":                                "must be written zipf:0.99 here",
		"Zipf:1.1":                               "must be written zipf:0.99 here",
		"20%*hotspot+80%*x":                      `"hotspot" at character 5: must be written hot:80%:10 here`,
		"zipf":                                   "must be written with its figures, as in zipf:0.99",
		"hot":                                    "must be written with its figures, as in hot:80%:10",
		"zipf:":                                  "nothing at character 6: " + wantExponent,
		"zipf:0":                                 `"0" at character 6: ` + wantExponent,
		"zipf:-1":                                `"-1" at character 6: ` + wantExponent,
		"zipf:nan":                               `"nan" at character 6: ` + wantExponent,
		"zipf:21":                                `"21" at character 6: ` + wantExponent,
		"70%*zipf:x+30%*own":                     `"x" at character 10: ` + wantExponent,
		"hot:":                                   "nothing at character 5: must be the hot keys' share of the traffic and their number, as in hot:80%:10",
		"hot:80%":                                "nothing at character 8: must be the number of hot keys, as in hot:80%:10",
		"hot:80%:0":                              `"0" at character 9: must be the number of hot keys, as in hot:80%:10`,
		"hot:80%:ten":                            `"ten" at character 9: must be the number of hot keys, as in hot:80%:10`,
		"hot:80%:9999999999":                     `"9999999999" at character 9: must be the number of hot keys, as in hot:80%:10`,
		"hot:80:10":                              `"80" at character 5: ` + wantPercent + "80% or 0.8",
		"hot:100%:10":                            `"100%" at character 5: must be more than 0% and less than 100%; for a part of the keys alone write uniform@0-9`,
		"hot:80%:10@0-9":                         `"hot:80%:10" at character 1: must have fewer hot keys than there are in 0-9, which are 10`,
		"own:3":                                  "must be own alone: there is nothing to set",
		"uniform:1-9":                            "must be uniform alone: there is nothing to set",
		"uniform@":                               "nothing at character 9: " + wantRange,
		"uniform@3":                              `"3" at character 9: ` + wantRange,
		"uniform@9-3":                            `"9-3" at character 9: must name the lower key first, as in uniform@3-9`,
		"uniform@-3-9":                           `"-3-9" at character 9: ` + wantRange,
		"own+50%*uniform":                        `"own" at character 1: must have its weight before it, as in 30%*own`,
		"own+":                                   `"own" at character 1: must have its weight before it, as in 30%*own`,
		"50%*own+":                               `nothing at character 9: must be one of uniform, zipf, hot, sequential, own`,
		"50%*own+40%*zipf:1":                     "must have weights that add up to 100%, and they are 90%",
		"90%*own":                                "must have weights that add up to 100%, and they are 90%",
		"60%*own+50%*zipf:1":                     "must have weights that add up to 100%, and they are 110%",
		"0%*own+100%*zipf:1":                     `"0%" at character 1: must be more than 0%`,
		"7*own+93%*zipf:1":                       `"7" at character 1: ` + wantPercent + "7% or 0.07",
		"x*own":                                  `"x" at character 1: must be a share such as 10% or 0.1`,
		"50%*own+50%*own":                        `"50%*own" at character 9: ` + wantSecond,
		"  50% * own +  5 % * zipf:x":            `"x" at character 27: ` + wantExponent,
		"äöü*own":                                `"äöü" at character 1: must be a share such as 10% or 0.1`,
		"50%*own+50%*äöü:zz":                     `"äöü" at character 13: must be one of uniform, zipf, hot, sequential, own`,
		strings.Repeat("5%*own+", 20) + "5%*own": "must have no more than 16 parts, and there are 21",
	} {
		if got, err := ParseKeys(in); err == nil || err.Error() != want {
			t.Errorf("%q is %q, %v\nwant %s", in, got.String(), err, want)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	for _, seed := range []string{
		"", "uniform", "zipf:1.1", "hot:80%:10", "sequential", "own@5-9", "70%*zipf:1.1+30%*own", "zipf:0.5@1_0-2k",
		"0.1*own + .2*uniform+0.7*zipf:2", "+", "*", "@", ":", "hot:99.9999999%:1@0-1", "\xff%*own",
	} {
		f.Add(seed, uint64(1), uint16(64), uint16(8))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, keys, clients uint16) {
		k, err := ParseKeys(text)
		if err != nil {
			if !strings.Contains(err.Error(), "must ") || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("%q: %q does not say what it must be in one line", text, err)
			}
			return
		}
		again, err := ParseKeys(k.String())
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
		samplers := k.Samplers(int(keys), int(clients))
		for i := range samplers {
			for range 10 {
				if key := samplers[i].Next(rng); key < 0 || key >= int(keys) {
					t.Fatalf("%q draws key %d of %d", k.String(), key, keys)
				}
			}
		}
	})
}

func TestKeysCheck(t *testing.T) {
	for _, tt := range []struct {
		text          string
		keys, clients int
		want          string // of the error
	}{
		{"", 1, 1, ""},
		{"", 0, 1, "there must be a key and a client"},
		{"zipf:1", 1, 100, ""},
		{"hot:80%:10", 11, 1, ""},
		{"hot:80%:10", 10, 1, "hot:80%:10: there must be more keys than hot ones, and there are 10"},
		{"own", 64, 64, ""},
		{"own", 63, 64, "own: there must be a key for each client, and there are 63 keys for 64 clients"},
		{"own", 1, 2, "own: there must be a key for each client, and there are 1 key for 2 clients"},
		{"own@10-19", 20, 10, ""},
		{"own@10-19", 20, 11, "own@10-19: there must be a key for each client, and there are 10 keys for 11 clients"},
		{"uniform@10-19", 20, 1, ""},
		{"uniform@10-19", 19, 1, "uniform@10-19: the last of 19 keys is 18"},
		{"70%*uniform@0-9+30%*own@10-19", 15, 1, "own@10-19: the last of 15 keys is 14"},
	} {
		got := ""
		if err := mustKeys(t, tt.text).Check(tt.keys, tt.clients); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, %d keys, %d clients: %q, want %q", tt.text, tt.keys, tt.clients, got, tt.want)
		}
	}
}

// drawKeys counts the keys that all clients draw, so many each.
func drawKeys(t testing.TB, text string, keys, clients, draws int) []int {
	t.Helper()
	k := mustKeys(t, text)
	if err := k.Check(keys, clients); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, keys)
	samplers := k.Samplers(keys, clients)
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

// hottest is the share of the key that is wanted most.
func hottest(k Keys, keys, clients int) (most float64) {
	for _, key := range k.Peaks(keys) {
		most = max(most, k.Share(key, keys, clients))
	}
	return most
}

// The shares that are told are those that the draws are held to.
func TestSharesOfEachKey(t *testing.T) {
	for _, tt := range keyFits {
		for key, want := range tt.want {
			if got := mustKeys(t, tt.text).Share(key, tt.keys, tt.clients); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s over %d keys: key %d has %v, want %v", tt.text, tt.keys, key, got, want)
			}
		}
	}
}

// The share of the hottest key is the greatest of all the shares, which here are reckoned one by one.
func TestHottest(t *testing.T) {
	for _, tt := range keyFits {
		want := slices.Max(tt.want)
		if got := hottest(mustKeys(t, tt.text), tt.keys, tt.clients); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s over %d keys: %v, want %v", tt.text, tt.keys, got, want)
		}
	}
	for _, s := range exponents {
		for _, n := range []int{1, 999, 1000, 1001, 50_000} {
			want := zipfTable(s, n)[0]
			if got := hottest(mustKeys(t, fmt.Sprintf("zipf:%v", s)), n, 1); math.Abs(got-want) > 1e-11*want {
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
		s := mustKeys(t, tt.text).Samplers(tt.keys, tt.clients)[tt.client]
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
	s := mustKeys(t, "50%*sequential@0-99+30%*sequential@100-149+20%*uniform@150-199").Samplers(200, 2)[1]
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
	k := mustKeys(t, "40%*sequential+40%*own+20%*zipf:1")
	together := k.Samplers(clients, clients)
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
		alone, rng := &k.Samplers(clients, clients)[i], rand.NewPCG(1, uint64(i))
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
		s, rng := &mustKeys(t, text).Samplers(1000, 10)[3], rand.NewPCG(1, 2)
		if n := testing.AllocsPerRun(100, func() { s.Next(rng) }); n != 0 {
			t.Errorf("%s: %v allocations a draw", text, n)
		}
	}
}

func BenchmarkKeys(b *testing.B) {
	for _, text := range benchKeys {
		b.Run(text, func(b *testing.B) {
			s, rng := &mustKeys(b, text).Samplers(1_000_000, 64)[5], rand.NewPCG(1, 2)
			b.ReportAllocs()
			for b.Loop() {
				s.Next(rng)
			}
		})
	}
}
