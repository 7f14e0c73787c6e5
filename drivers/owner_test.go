package drivers_test

import (
	"encoding/base64"
	"math/bits"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

// TestOwners draws from several sources, which must have no token in common.
func TestOwners(t *testing.T) {
	const sources, draws = 20, 1000
	seen := make(map[string]bool, sources*draws)
	var ones [128]int
	for range sources {
		var owners drivers.Owners
		for range draws {
			token := owners.Next()
			if seen[token] {
				t.Fatalf("the owner %s was drawn twice", token)
			}
			seen[token] = true
			raw, err := base64.RawURLEncoding.DecodeString(token)
			if err != nil || len(raw) != 16 {
				t.Fatalf("the owner %q is %d bytes (%v), want 128 bits in base64", token, len(raw), err)
			}
			for i := range ones {
				ones[i] += int(raw[i/8] >> (i % 8) & 1)
			}
		}
	}
	// Each bit is set in about half of the tokens: 10,000 ± 71 of 20,000, so that 1,000 off is 14 deviations.
	for i, n := range ones {
		if off := n - sources*draws/2; off > 1000 || off < -1000 {
			t.Errorf("bit %d is set in %d of %d owners: fewer than 128 bits are random", i, n, sources*draws)
		}
	}
	// Neighbours in a batch must not be similar either.
	var owners drivers.Owners
	last, same := owners.Next(), 0
	for range draws {
		next := owners.Next()
		a, _ := base64.RawURLEncoding.DecodeString(last)
		b, _ := base64.RawURLEncoding.DecodeString(next)
		for i := range a {
			same += 8 - bits.OnesCount8(a[i]^b[i])
		}
		last = next
	}
	if mean := same / draws; mean < 54 || mean > 74 {
		t.Errorf("successive owners share %d of 128 bits on average, want about 64", mean)
	}
}

func TestOwnersAllocateForManyAtOnce(t *testing.T) {
	var owners drivers.Owners
	if n := testing.AllocsPerRun(100, func() {
		for range 16 {
			owners.Next()
		}
	}); n > 2 {
		t.Errorf("16 owners cost %v allocations, want 2 or fewer", n)
	}
}

func BenchmarkOwners(b *testing.B) {
	var owners drivers.Owners
	b.ReportAllocs()
	for b.Loop() {
		owners.Next()
	}
}

func TestAbsent(t *testing.T) {
	a, b := drivers.Absent("run:"), drivers.Absent("run:")
	if a == b || !strings.HasPrefix(a, "run:") {
		t.Errorf("%q and %q", a, b)
	}
}
