package shape

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lockbench/lockbench/results/spec"
)

func TestZipfSum(t *testing.T) {
	for _, s := range []float64{0.5, 0.99, 1, 1.1, 2.5, 20} {
		for _, n := range []int{1, 2, 999, 1000, 1001, 100_000} {
			want := 0.0
			for k := n; k >= 1; k-- {
				want += math.Pow(float64(k), -s)
			}
			z := newZipf(s, n)
			if got := z.sum(); math.Abs(got-want) > 1e-7*want {
				t.Errorf("%d weights of exponent %v add up to %v, want %v", n, s, got, want)
			}
		}
	}
}

// TestShares adds the shares of all keys up, holds each to what is really drawn, and looks for the greatest of them among
// the peaks.
func TestShares(t *testing.T) {
	const keys, clients, draws = 60, 20, 400_000
	for _, text := range []string{
		"", "zipf:1.1", "zipf:0.5", "hot:80%:10", "hot:10%:30", "sequential", "own", "uniform@10-19", "zipf:2@30-39",
		"70%*zipf:1.1+30%*own", "50%*hot:90%:2@20-59+50%*zipf:1", "60%*uniform@0-9+40%*uniform@5-14",
	} {
		k, err := spec.ParseKeys(text)
		if err != nil {
			t.Fatal(err)
		}
		drawn := make([]int, keys)
		samplers := KeySamplers(k, keys, clients)
		rng := rand.NewPCG(1, 2)
		for i := range draws {
			drawn[samplers[i%clients].Next(rng)]++
		}
		sum, greatest := 0.0, 0.0
		all := make([]float64, keys)
		Shares(all, k.Parts(), clients, 0.5)
		for key := range keys {
			share := Share(k.Parts(), key, keys, clients)
			if math.Abs(all[key]-share/2) > 1e-12 {
				t.Errorf("%q: key %d has the share %v, and %v with a weight of 0.5", text, key, share, all[key])
			}
			sum += share
			greatest = max(greatest, share)
			// Five standard deviations of a binomial count; sequential and own draws scatter less.
			if off := math.Abs(float64(drawn[key])/draws - share); off > 5*math.Sqrt(share/draws)+1e-4 {
				t.Errorf("%q: key %d was drawn %d times of %d, and its share is %v", text, key, drawn[key], draws, share)
			}
		}
		peak := 0.0
		for _, key := range Peaks(k.Parts(), keys) {
			peak = max(peak, Share(k.Parts(), key, keys, clients))
		}
		if math.Abs(sum-1) > 1e-9 || peak != greatest {
			t.Errorf("%q: shares add up to %v; the greatest is %v, and among the peaks %v", text, sum, greatest, peak)
		}
		if Share(k.Parts(), keys, keys, clients) != 0 || Share(k.Parts(), -1, keys, clients) != 0 {
			t.Errorf("%q: a key that does not exist has a share", text)
		}
	}
}
