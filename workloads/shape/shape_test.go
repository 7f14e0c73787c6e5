package shape

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lockbench/lockbench/results/spec"
)

// No random number becomes 0 or 1, of which the logarithms are infinite, and none is nearer to the one than to the other.
func TestUnitIsOpenAndEven(t *testing.T) {
	for bits, want := range map[uint64]float64{
		0:              0x1p-53,
		math.MaxUint64: 1 - 0x1p-53,
		1 << 63:        0.5 + 0x1p-53,
		1<<63 - 1:      0.5 - 0x1p-53,
	} {
		if got := centre(bits); got != want {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
}

// The same generator and the same client make the same draws: that is what a seed promises.
func TestDrawsRepeat(t *testing.T) {
	for _, text := range benchKeys {
		a, b := &KeySamplers(spec.Must(spec.ParseKeys(text)), 1000, 10)[3], &KeySamplers(spec.Must(spec.ParseKeys(text)), 1000, 10)[3]
		one, two, other := rand.NewPCG(1, 2), rand.NewPCG(1, 2), rand.NewPCG(1, 3)
		differ := text == "own" || text == "sequential" // which draw no lots
		for range 200 {
			key := a.Next(one)
			if key != b.Next(two) {
				t.Fatalf("%s: the same seed draws otherwise", text)
			}
			differ = differ || key != b.Next(other)
		}
		if !differ {
			t.Errorf("%s: another seed draws the same", text)
		}
	}
}
