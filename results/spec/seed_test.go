package spec

import "testing"

// TestSeeds: no two trials of neighbouring seeds are the same.
func TestSeeds(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(100) {
		for n := range 100 {
			seen[SeedOf(seed, n)] = true
		}
		if SeedOf(seed, 0) != seed {
			t.Errorf("the first trial of seed %d has %d", seed, SeedOf(seed, 0))
		}
	}
	if len(seen) != 100*100 {
		t.Errorf("%d seeds of %d trials", len(seen), 100*100)
	}
}
