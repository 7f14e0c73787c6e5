package fleet

import (
	"context"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/testwait"
	"github.com/lockbench/lockbench/workloads/oracle"
)

var clocks = Identity{Ranks: 5, Version: "v", Plans: "p"}

// TestClockDrifts pings a rank whose clock is fast by 80 ppm: no namespace has one.
func TestClockDrifts(t *testing.T) {
	if testing.Short() {
		t.Skip("pings for some seconds")
	}
	const fast, ahead = 80e-6, 5 * time.Second
	l := NewLeader(clocks, "")
	near, far := net.Pipe()
	r := l.newRank("rank", near, "", nil, near.Close)
	defer near.Close()
	go func() {
		h := hello{Identity: clocks, Rank: 1}
		for from := json.NewDecoder(far); ; {
			var asked lines.RequestHeader
			if from.Decode(&asked) != nil {
				return
			}
			now := l.clock.Now()
			_ = json.NewEncoder(far).Encode(map[string]any{
				"id": asked.ID, "rank": 1, "proof": proof("", "", 1), "hello": h, "at_ns": ahead + now + time.Duration(fast*float64(now)),
			})
		}
	}()
	if err := l.greet(context.Background(), r, silence); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "twenty pings of the watch", func() bool { return len(r.bounds(l.self.Clock)) >= 21 })
	checkBounds(t, "a fast clock", r.bounds(l.self.Clock), func(o oracle.Offset) (low, high time.Duration) {
		truth := time.Duration(float64(o.At-ahead)/(1+fast)) - o.At
		return truth - 2, truth + 2 // for what is rounded
	})
}

// checkBounds holds bounds against the truth, whose own bounds are given, and says how wide they are.
func checkBounds(t *testing.T, who string, list oracle.Offsets, truth func(oracle.Offset) (low, high time.Duration)) {
	t.Helper()
	tight := list.Tight()
	for i := range list {
		for _, o := range []oracle.Offset{list[i], tight[i]} {
			if low, high := truth(o); o.Low > high || o.High < low {
				t.Errorf("%s, sample %d: the offset is from %v to %v, and not from %v to %v", who, i, low, high, o.Low, o.High)
			}
		}
	}
	first, last := tight[0], tight[len(tight)-1]
	t.Logf("%s: %d samples in %v, bound ±%v", who, len(list), last.At-first.At, tight.Widest(first.At, last.At)/2)
	if wide := tight.Widest(first.At, last.At) / 2; wide > 50*time.Millisecond {
		t.Errorf("%s: a bound of ±%v", who, wide)
	}
}
