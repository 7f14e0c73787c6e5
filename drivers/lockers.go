package drivers

import (
	"math/rand/v2"
	"runtime"
)

// Shuffle yields the processor a random number of times, fewer than 4 for each locker of this process beyond the first.
// A locker calls it before it takes part in the race for a lock that was released. The lockers of one process hear of a
// release in the same order each time, and without it the first of them win nearly all races: Jain's index of 64 clients
// of rueidislock was 0.6 with 4 lockers and 0.4 with 8. It is 0.94 and 0.9 with it; 4 processes have 0.96.
//
// What did not help: to yield when the release is heard of, not before each attempt. The client that released then tries
// again before any other, up to 20 times in a row.
func Shuffle(lockers int) {
	for range rand.N(1 + 4*max(0, lockers-1)) {
		runtime.Gosched()
	}
}
